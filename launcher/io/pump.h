/* pump.h - between two rounds of callbacks: lets the machines of a loop take their steps.
 *
 * Callbacks only queue events. The pump then gives one step after the other to its members,
 * always to the first one that has an event, so that no step runs inside another and what an
 * event borrows is still there when it is read.
 */
#ifndef MUSTER_LAUNCHER_IO_PUMP_H
#define MUSTER_LAUNCHER_IO_PUMP_H

#include <stdbool.h>
#include <uv.h>

enum { PUMP_MEMBERS_MAX = 4 };

struct pump {
    uv_prepare_t prepare;
    uv_check_t check;
    struct {
        bool (*step)(void *ctx);   /* takes one event; false = there was none */
        void (*settle)(void *ctx); /* all queues are empty: re-arm timers */
        void *ctx;
    } members[PUMP_MEMBERS_MAX];
    int nmembers;
};

/* Caller's memory; must stay until the loop has ended. */
void pump_init(struct pump *p, uv_loop_t *loop);
/* Earlier members go first. */
void pump_add(struct pump *p, bool (*step)(void *ctx), void (*settle)(void *ctx), void *ctx);
void pump_close(struct pump *p);

#endif

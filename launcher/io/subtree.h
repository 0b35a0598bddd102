/* subtree.h - the agents that this agent starts over ssh, because its boot record names them.
 *
 * The same commands as the head's own (remotes.h), each tried once: a host that is not reached
 * from here the head tries itself, and again. Whatever becomes of them is said upward as status
 * lines, and so is what they say of those below them; what their musters say to people goes to
 * our standard error, and from there to the head. Decides nothing: who is started by whom is in
 * the record, and what a failure means decides the head.
 */
#ifndef MUSTER_LAUNCHER_IO_SUBTREE_H
#define MUSTER_LAUNCHER_IO_SUBTREE_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "launcher/core/boot_record.h"
#include "launcher/core/status_line.h"

struct subtree;
struct uv_loop_s;

struct subtree_events {
    void *ctx;
    void (*on_status)(void *ctx, const struct status_line *s);
    /* A process of ours begins, or has been reaped. */
    void (*on_process)(void *ctx, pid_t pid, bool is_running);
};

/* Starts them. record is borrowed. NULL if it names nobody. */
struct subtree *subtree_start(struct uv_loop_s *loop, const struct boot_record *record,
                              const struct rlimit *limits, const struct subtree_events *events);

/* The processes that run now. */
void subtree_each_process(const struct subtree *s, void (*fn)(void *ctx, pid_t pid), void *ctx);

/* Those that have their link live on without us, the others end. No event comes any more. Frees
 * itself once our processes are reaped. s may be NULL. */
void subtree_close(struct subtree *s);

#endif

/* turns.h - whose line stands unfinished on a sink, and which unfinished line may be shown
 * next.
 *
 * A prompt or a progress bar has no line end and must still be seen. It is shown after a short
 * quiet time; another worker's line that comes later first ends it with a newline, where one
 * may be added. Pure: holds no bytes, and the time is passed in.
 */
#ifndef MUSTER_LAUNCHER_CORE_TURNS_H
#define MUSTER_LAUNCHER_CORE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

enum {
    TURNS_QUIET_MS = 100, /* an unfinished line waits this long for its end */
    TURNS_YIELD_MS = 1000 /* a shown one that has not grown for so long gives way to another */
};

/* Where a newline may be added after a shown part when somebody else's line comes. */
enum turns_cut {
    TURNS_CUT_NEVER,  /* bytes pass as they are */
    TURNS_CUT_RANKS,  /* a terminal: between two workers */
    TURNS_CUT_STREAMS /* prefixed: also between the two streams of one worker */
};

/* One stream's place. */
struct turn {
    struct list link; /* in waiting */
    uint32_t rank;
    uint64_t since_ms; /* when the unfinished line began */
    bool is_due;       /* its time is over; one more look at its pipe is to come */
    bool is_block;     /* ends where a full buffer of stdio ended: its rest is on its way */
};

/* One sink. */
struct turns {
    struct list waiting; /* turns, the oldest first */
    enum turns_cut cut;
    bool is_shared;     /* several workers write: without a cut nothing unfinished is shown */
    bool is_open;       /* a line stands there unfinished, */
    struct turn *owner; /* of this stream; NULL: it has ended */
    uint32_t rank;      /* of this worker */
    uint64_t grown_ms;  /* when it last grew */
};

/* The caller's memory: a sink on which nothing stands; a stream of this worker that waits for
 * nothing. */
void turns_init(struct turns *t, enum turns_cut cut, bool is_shared);
void turn_init(struct turn *turn, uint32_t rank);

/* Bytes of a stream are about to be written; ends_line: they finish a line. Returns whether a
 * newline has to come first. Afterwards the stream is the owner of the line, if it is open. */
bool turns_take(struct turns *t, struct turn *turn, bool ends_line, uint64_t now_ms);

/* Whether the stream's next bytes go on with a line that is still at the end of the sink. */
bool turns_goes_on(const struct turns *t, const struct turn *turn);

/* Bytes came: is_left: an unfinished line is kept back; is_new: it began with them; n: how many
 * came. */
void turns_wait(struct turns *t, struct turn *turn, bool is_left, bool is_new, size_t n,
                uint64_t now_ms);

/* The stream has ended. */
void turns_leave(struct turns *t, struct turn *turn);

/* When the next unfinished line is to be shown; UINT64_MAX: nothing to do. */
uint64_t turns_deadline(const struct turns *t);

/* The stream whose unfinished line is to be shown now, NULL if none. Each is named only at the
 * second call after its time, so that a caller who was late has read in between. */
struct turn *turns_due(struct turns *t, uint64_t now_ms);

#endif

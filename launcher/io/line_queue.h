/* line_queue.h - whole lines to a descriptor whose reader may be slow, without ever waiting for
 * it.
 *
 * Owns the descriptor and what waits for the reader, up to a limit; beyond it lines are dropped
 * whole and counted. A line of up to PIPE_BUF bytes arrives in one piece. What the lines mean,
 * and how a loss is told, is the caller's business.
 */
#ifndef MUSTER_LAUNCHER_IO_LINE_QUEUE_H
#define MUSTER_LAUNCHER_IO_LINE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct line_queue;

/* fd is owned from here on; its flags are left as they are for who shares it. name: for the one
 * warning if it cannot be written any more; borrowed. */
struct line_queue *line_queue_new(uv_loop_t *loop, int fd, const char *name);

/* line ends with a newline. False: there was no room, and it counts as lost. */
bool line_queue_add(struct line_queue *q, const char *line, size_t n);

/* How many lines were lost since this was last asked, once there is room again; 0 = none, or
 * still no room. */
uint64_t line_queue_take_lost(struct line_queue *q);

/* Asynchronous: frees itself when all is written, or after wait_ms, or when the reader has
 * gone. */
void line_queue_close(struct line_queue *q, uint64_t wait_ms);

#endif

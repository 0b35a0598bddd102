/* agent_input.h - what the head's standard input says, as a pipe that workers of this node
 * read.
 *
 * Owns the pipe, for all generations, and asks the head for more whenever the last bytes are in
 * it. Which of the workers read decides streams.h.
 */
#ifndef MUSTER_LAUNCHER_IO_AGENT_INPUT_H
#define MUSTER_LAUNCHER_IO_AGENT_INPUT_H

#include "base/err.h"
#include "base/str.h"

struct agent_input;
struct uv_loop_s;

/* more: to be asked of the head. NULL with ERR_SYSTEM. */
struct agent_input *agent_input_new(struct uv_loop_s *loop, void *ctx, void (*more)(void *ctx),
                                    struct err *e);

/* The end to be read; the input's until it closes. */
int agent_input_fd(const struct agent_input *ai);

/* Some worker here reads: asks for the first bytes. May be called again. */
void agent_input_begin(struct agent_input *ai);

/* What the head has sent; none = the end. */
void agent_input_take(struct agent_input *ai, struct str bytes);

/* Frees itself once its handle is closed. NULL is fine. */
void agent_input_close(struct agent_input *ai);

#endif

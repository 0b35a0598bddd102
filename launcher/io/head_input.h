/* head_input.h - muster's standard input, for the nodes whose workers read it.
 *
 * A node asks for more when it has room; all who read have to have asked before the next bytes
 * are read, so the slowest sets the pace and what waits is one chunk a node. Which ranks read
 * decides streams.h, on their nodes. As a job in the background muster reads nothing: the keys
 * are the shell's.
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_INPUT_H
#define MUSTER_LAUNCHER_IO_HEAD_INPUT_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct head_input;
struct uv_loop_s;

/* send: bytes for a link, none = the end. nreaders: how many nodes read. NULL with ERR_SYSTEM.
 */
struct head_input *head_input_new(struct uv_loop_s *loop, uint32_t nreaders, void *ctx,
                                  void (*send)(void *ctx, uint32_t link, struct str bytes),
                                  struct err *e);

/* The node behind this link has room. */
void head_input_more(struct head_input *hi, uint32_t link);

/* Asynchronous; head_input_free once the loop is over. NULL is fine for both. */
void head_input_close(struct head_input *hi);
void head_input_free(struct head_input *hi);

#endif

/* remote_output.h - what the workers of other hosts print, on muster's own two streams: each
 * line whole, prefixed and bounded as those of local workers (output.h).
 */
#ifndef MUSTER_LAUNCHER_IO_REMOTE_OUTPUT_H
#define MUSTER_LAUNCHER_IO_REMOTE_OUTPUT_H

#include "launcher/core/facts.h"
#include "launcher/core/link_wire.h"
#include "launcher/core/options.h"
#include "launcher/io/output.h"

struct remote_output;

/* muster's own words go the same way from now on. */
struct remote_output *remote_output_new(uv_loop_t *loop, const struct options *opt,
                                        const struct facts *facts,
                                        const struct output_events *events);

/* No bytes: the stream has ended. host is copied where a prefix names it. */
void remote_output_write(struct remote_output *ro, uint32_t local_rank, const char *host,
                         const struct wire_output *output);

/* Whether no more should be read from links for now. */
bool remote_output_is_full(const struct remote_output *ro);

/* As output_bytes; with opt->metrics only. */
struct maybe_u64 remote_output_bytes(const struct remote_output *ro, uint32_t rank,
                                     enum output_fd fd);

/* Forgets what waits for a reader that does not read. */
void remote_output_drop(struct remote_output *ro);

/* When remote_output_tick is due, UINT64_MAX = never; what is then shown: see output_deadline.
 */
uint64_t remote_output_deadline(const struct remote_output *ro);
void remote_output_tick(struct remote_output *ro, uint64_t now_ms);

/* Ends what has not ended and frees itself once its handles are closed. */
void remote_output_close(struct remote_output *ro);

#endif

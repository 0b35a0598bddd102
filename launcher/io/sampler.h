/* sampler.h - measures what the workers of a node and their GPUs are doing, in two helper
 * processes (cmd/sampler.c) that live while somebody looks: one reads /proc, one asks NVML. So
 * muster itself never loads NVML for it, and a driver that does not answer stops nobody and
 * costs its own figures only.
 *
 * Asynchronous and bounded: what has not been measured after SAMPLER_LIMIT_MS is left out, and
 * a helper ends SAMPLER_END_MS after its last question, whether it is idle then or stuck. Does
 * not know what is done with the figures.
 */
#ifndef MUSTER_LAUNCHER_IO_SAMPLER_H
#define MUSTER_LAUNCHER_IO_SAMPLER_H

#include "launcher/core/sample_ask.h"
#include "launcher/io/helper.h"

enum { SAMPLER_LIMIT_MS = 800, SAMPLER_END_MS = 10000 };

struct sampler;

/* host is copied. on_sample is given host's ctx and items of core/node_sample.h, valid until
 * the next sampler_take. */
struct sampler *sampler_new(const struct helper_host *host,
                            void (*on_sample)(void *ctx, struct str items));
/* Ends the helpers, without a callback; NULL is fine. */
void sampler_free(struct sampler *s);

/* Measures these; on_sample follows once, perhaps before this returns. One that is under way is
 * forgotten. */
void sampler_take(struct sampler *s, const struct sample_subject *subjects, size_t n,
                  uint64_t now_ms);

/* What is under way is not wanted any more. NULL is fine. */
void sampler_forget(struct sampler *s);

/* When sampler_tick is due; UINT64_MAX = never. */
uint64_t sampler_deadline(const struct sampler *s);
void sampler_tick(struct sampler *s, uint64_t now_ms);

#endif

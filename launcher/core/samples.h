/* samples.h - what the head knows of what its ranks and their GPUs are doing: whom it asked,
 * what it heard, until when it waits. Pure; a part of the head machine, decides nothing about
 * the job.
 *
 * Nobody is asked but while somebody looks. A round asks every node that runs workers, once,
 * and ends when all have answered or after SAMPLES_LIMIT_MS: the ranks of who has not are
 * unknown then. A node whose answer is outstanding is not asked again before it has come, so
 * that at most one question and one answer (node_sample.h) are under way a node; rounds begin
 * at least SAMPLES_GAP_MS apart, however many look.
 */
#ifndef MUSTER_LAUNCHER_CORE_SAMPLES_H
#define MUSTER_LAUNCHER_CORE_SAMPLES_H

#include "launcher/core/rank_sample.h"

enum { SAMPLES_LIMIT_MS = 1000, SAMPLES_GAP_MS = 200 };

/* What is known of a rank. Texts are owned. */
struct sampled {
    char *gpu_index, *gpu_uuid; /* NULL = none, or not told yet; they stay for a generation */
    struct maybe_u64 step, quiet_ms;
    struct rank_sample figures;
};

struct samples {
    bool is_running;
    uint64_t began_ms, deadline_ms; /* UINT64_MAX when no round is running */
    uint32_t nnodes, nawaited;
    bool *is_asked,
        *is_awaited; /* by node: its answer is outstanding; the round waits for it */
    uint32_t nranks;
    struct sampled *ranks; /* NULL = nobody has asked in this generation */
    char *sample_why;      /* of the first node that said why figures are missing; or NULL */
};

/* Forgets what was heard. The next round is of so many nodes and ranks. */
void samples_reset(struct samples *s, uint32_t nnodes, uint32_t nranks);
void samples_fini(struct samples *s);

/* Whether a look now begins a round: false while one is running, and shortly after one began.
 */
bool samples_is_due(const struct samples *s, uint64_t now_ms);

/* A round begins; the nodes that run are then named one by one. True: this one is to be asked.
 */
void samples_begin(struct samples *s, uint64_t now_ms);
bool samples_await(struct samples *s, uint32_t node);

/* The answer of a node whose ranks are [first, first + n); host: what to call it. Any bytes:
 * what is no answer leaves its ranks unknown. */
void samples_take(struct samples *s, uint32_t node, const char *host, uint32_t first,
                  uint32_t n, struct str text);

/* This node will not answer any more. */
void samples_left(struct samples *s, uint32_t node);

/* Whether the round that is running has heard everybody or has waited long enough; it then runs
 * no more. */
bool samples_is_over(struct samples *s, uint64_t now_ms);

/* Whether the last round waited for this node in vain. */
bool samples_is_late(const struct samples *s, uint32_t node);

/* What these ranks do now is not known; which GPUs they have still is. */
void samples_forget(struct samples *s, uint32_t first, uint32_t n);

#endif

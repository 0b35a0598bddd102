/* plan_render.h - `muster plan` in words: who would run where, with which device, CPUs,
 * environment and files, and where every value came from.
 *
 * Reads a node's plan, decides nothing. The same as JSON is io/plan_json.
 */
#ifndef MUSTER_LAUNCHER_CORE_PLAN_RENDER_H
#define MUSTER_LAUNCHER_CORE_PLAN_RENDER_H

#include "base/buf.h"
#include "launcher/core/facts.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"

struct plan_view {
    const struct options *opt;
    const struct facts *facts;
    const struct node_plan *plan;
    const char *program; /* path of what would be executed */
};

/* Appends the text; lines keep to 100 columns where their words allow it. With
 * opt->is_verbose: also variables that are passed on unchanged. */
void plan_render(const struct plan_view *v, struct buf *out);

/* CUDA's ordinal of the k-th GPU of a worker, -1 = it has no GPU or its number is not known. */
int plan_cuda_ordinal(const struct node_plan *plan, uint32_t local_rank, int k);

#endif

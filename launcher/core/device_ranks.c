#include "launcher/core/device_ranks.h"

#include <stdlib.h>

#include "base/mem.h"

static int fail_over(const struct request *req, int nunits, int64_t capacity,
                     struct gpu_fault *f)
{
    int g = req->gpus_per_proc, p = req->procs_per_gpu;
    enum gpu_error class = req->slots ? GPU_E_CONFLICT : GPU_E_OVERSUBSCRIBED;
    const char *option = req->slots ? "slots=" : "-n ";
    if (g > 1 || nunits == 0)
        return gpu_fail(
            f, class,
            "%s%d: %d GPU%s %d per worker are enough for %d worker%s; ask for fewer "
            "workers or GPUs per worker",
            option, req->n, nunits, nunits == 1 ? " at" : "s at", g, (int)capacity,
            capacity == 1 ? "" : "s");
    int fit = (req->n + nunits - 1) / nunits;
    return gpu_fail(
        f, class,
        "%s%d: more workers than the %d GPU%s can take at %d per GPU; to share GPUs "
        "add --procs-per-gpu %d, or ask for %d",
        option, req->n, nunits, nunits == 1 ? "" : "s", p, fit, (int)capacity);
}

int device_spread(const struct request *req, int nunits, struct spread *out,
                  struct gpu_fault *f)
{
    int g = req->gpus_per_proc, p = req->procs_per_gpu;
    int64_t capacity = (int64_t)(nunits / g) * p;
    if (!req->n && nunits % g)
        return gpu_fail(f, GPU_E_UNEVEN,
                        "--gpus-per-proc %d: %d GPUs do not divide evenly, %d would stay idle; "
                        "choose GPUs with --gpus, or say -n %d",
                        g, nunits, nunits % g, nunits / g > 0 ? nunits / g : 1);
    if (req->n > capacity)
        return fail_over(req, nunits, capacity, f);
    out->n = req->n ? req->n : (int)capacity;
    out->groups = (out->n + p - 1) / p;
    out->used = out->groups * g;
    return 0;
}

static int group_of(const struct request *req, const struct spread *s, int r)
{
    switch (req->dist) {
    case DIST_BLOCK:
        return r / req->procs_per_gpu;
    case DIST_CYCLIC:
        return r % s->groups;
    case DIST_COUNT:
        break;
    }
    return 0;
}

/* count names from first on, round the end of the list of n. */
static const char *join(const char *const *names, int n, int first, int count,
                        struct device_choice *out)
{
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i < count; i++) {
        buf_adds(&b, i ? "," : "");
        buf_adds(&b, names[(first + i) % n]);
    }
    return out->strings[out->nstrings++] = buf_steal(&b);
}

static int local_rank_of(enum binding binding, int r)
{
    return binding == BINDING_ISOLATED_VIRTUAL || binding == BINDING_ROTATED ? 0 : r;
}

static void make_ranks(int n, int nstrings, struct device_choice *out)
{
    out->nranks = n;
    out->ranks = mem_alloc((size_t)n, sizeof *out->ranks);
    out->strings = mem_alloc((size_t)nstrings, sizeof *out->strings);
}

void device_ranks_bind(const struct request *req, const struct spread *s,
                       const char *const *names, const char *order, struct device_choice *out)
{
    int g = req->gpus_per_proc;
    make_ranks(s->n, s->groups + 1, out);
    const char **lists = mem_alloc((size_t)s->groups, sizeof *lists);
    for (int i = 0; i < s->groups; i++) {
        if (req->binding == BINDING_SHARED)
            lists[i] = i ? lists[0] : join(names, s->used, 0, s->used, out);
        else
            lists[i] =
                join(names, s->used, i * g, req->binding == BINDING_ROTATED ? s->used : g, out);
    }
    for (int r = 0; r < s->n; r++) {
        int group = group_of(req, s, r);
        out->ranks[r] = (struct rank_device){
            .cvd = lists[group],
            .order = order,
            .dev = req->binding == BINDING_SHARED ? group * g : 0,
            .local_rank = local_rank_of(req->binding, r),
            .first_unit = group * g,
        };
    }
    free(lists);
}

void device_ranks_bare(const struct request *req, int n, const char *cvd, const char *order,
                       struct device_choice *out)
{
    make_ranks(n, 1, out);
    if (cvd)
        out->strings[out->nstrings++] = mem_strdup(cvd);
    for (int r = 0; r < n; r++)
        out->ranks[r] = (struct rank_device){
            .cvd = cvd ? out->strings[0] : NULL,
            .order = order,
            .dev = -1,
            .local_rank = local_rank_of(req->binding, r),
            .first_unit = -1,
        };
}

void device_ranks_untouched(int n, struct device_choice *out)
{
    make_ranks(n, 1, out);
    for (int r = 0; r < n; r++)
        out->ranks[r] = (struct rank_device){
            .dev = r, .local_rank = r, .first_unit = r < out->nunits ? r : -1};
}

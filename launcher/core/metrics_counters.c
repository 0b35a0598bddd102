#include "launcher/core/metrics_counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* What was known at the last look. */
struct seen_cpu {
    uint32_t pid;
    uint64_t cpu_ms;
};

void metrics_counters_fini(struct metrics_counters *c)
{
    free(c->ranks);
    free(c->seen);
    *c = (struct metrics_counters){0};
}

void metrics_counters_resize(struct metrics_counters *c, size_t n)
{
    if (n <= c->n) {
        c->n = n;
        return;
    }
    c->ranks = mem_realloc(c->ranks, n, sizeof *c->ranks);
    c->seen = mem_realloc(c->seen, n, sizeof *c->seen);
    memset(c->ranks + c->n, 0, (n - c->n) * sizeof *c->ranks);
    memset(c->seen + c->n, 0, (n - c->n) * sizeof *c->seen);
    c->n = n;
}

void metrics_counters_cpu(struct metrics_counters *c, size_t rank, uint32_t pid,
                          struct maybe_u64 cpu_ms)
{
    struct seen_cpu *seen = &c->seen[rank];
    struct maybe_u64 *sum = &c->ranks[rank].cpu_ms;
    if (!cpu_ms.is_known)
        return;
    uint64_t before_ms = seen->pid == pid ? seen->cpu_ms : 0;
    sum->value += cpu_ms.value > before_ms ? cpu_ms.value - before_ms : 0;
    sum->is_known = true;
    *seen = (struct seen_cpu){pid, cpu_ms.value};
}

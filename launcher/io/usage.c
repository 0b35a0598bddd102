#include "launcher/io/usage.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/proc_workers.h"

static void add(struct maybe_u64 *to, uint64_t value)
{
    to->is_known = true;
    to->value += value;
}

static void add_process(const struct proc_worker *p, struct rank_sample *to)
{
    const long ticks_per_s = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    add(&to->cpu_ms,
        (p->stat.user_ticks + p->stat.system_ticks) * 1000 / (uint64_t)ticks_per_s);
    add(&to->rss, (uint64_t)p->stat.rss_pages * (uint64_t)page);
}

void usage_of_sessions(const uint32_t *sessions, size_t n, struct rank_sample *out)
{
    struct proc_workers found;
    pid_t *workers = mem_alloc(n, sizeof *workers);
    for (size_t i = 0; i < n; i++) {
        workers[i] = (pid_t)sessions[i];
        out[i].cpu_ms = out[i].rss = (struct maybe_u64){0};
    }
    proc_workers_read(workers, n, &found);
    for (size_t k = 0; k < found.len; k++)
        for (size_t i = 0; i < n; i++)
            if (workers[i] == found.items[k].worker)
                add_process(&found.items[k], &out[i]);
    proc_workers_fini(&found);
    free(workers);
}

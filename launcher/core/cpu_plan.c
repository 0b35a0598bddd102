#include "launcher/core/cpu_plan.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

/* ---- masks ---- */

static int check_allowed(const struct facts *facts, const struct cpu_set *list, struct err *e)
{
    const struct cpu_set *allowed =
        facts->topology ? &facts->topology->allowed : &facts->allowed;
    struct buf text;
    int cpu = 0;
    while (cpu < CPU_SET_MAX && (!cpu_set_has(list, cpu) || cpu_set_has(allowed, cpu)))
        cpu++;
    if (cpu == CPU_SET_MAX || !cpu_set_count(allowed)) /* unknown: the kernel will say */
        return 0;
    buf_init(&text, 0);
    cpu_set_format(allowed, &text);
    err_set(e, ERR_USAGE, "--cpu-bind: CPU %d is none that muster may use here; it has %s", cpu,
            buf_str(&text));
    buf_fini(&text);
    return -1;
}

/* One list for all workers, or one for each. */
static int bind_lists(struct str lists, const struct facts *facts, int n,
                      struct rank_cpus *ranks, struct err *e)
{
    struct cpu_set list;
    int count = 0;
    for (; cpu_lists_next(&lists, &list); count++) {
        if (check_allowed(facts, &list, e) < 0)
            return -1;
        if (count < n)
            ranks[count] = (struct rank_cpus){.bound = true, .cpus = list, .mem_node = -1};
    }
    if (count != n && count != 1)
        return err_set(e, ERR_USAGE,
                       "--cpu-bind: %d lists of CPUs for %d workers on a node; one is for all, "
                       "else each needs its own",
                       count, n);
    for (int r = count; r < n; r++)
        ranks[r] = ranks[0];
    return 0;
}

static unsigned bind_near_gpus(enum cpu_bind bind, const struct facts *facts,
                               const struct device_choice *choice, int n,
                               struct rank_cpus *ranks)
{
    const struct inventory *inventory = facts->inventory;
    const char **pci = mem_alloc((size_t)n, sizeof *pci);
    for (int r = 0; r < n; r++) {
        int unit = choice->ranks[r].first_unit;
        if (inventory && choice->units_known && unit >= 0)
            pci[r] = inventory->devices[choice->units[unit].device].pci;
    }
    unsigned warnings = placement_plan(facts->topology, bind, pci, n, ranks);
    free(pci);
    return warnings;
}

static int bind_ranks(const char *cpu_bind, const struct facts *facts, struct node_plan *plan,
                      struct rank_cpus *ranks, struct err *e)
{
    int n = (int)plan->order.nworkers;
    struct cpu_request request = {.bind = CPU_BIND_NONE};
    if (cpu_bind && cpu_request_parse(str_from(cpu_bind), &request) < 0)
        return err_set(e, ERR_USAGE, "--cpu-bind: '%s' is no way to bind", cpu_bind);
    if (!cpu_bind && facts->topology)
        request.bind = placement_default(facts->topology);
    for (int r = 0; r < n; r++)
        ranks[r] = (struct rank_cpus){.mem_node = -1};
    if (request.lists.p)
        return bind_lists(request.lists, facts, n, ranks, e);
    if (facts->topology)
        plan->cpu_warnings = bind_near_gpus(request.bind, facts, &plan->choice, n, ranks);
    return 0;
}

/* ---- threads ---- */

/* Each CPU a core of its own, where nothing better is known. */
static struct topology flat_topology(const struct facts *facts, const struct rank_cpus *ranks,
                                     int n)
{
    struct topology flat = {.allowed = facts->allowed};
    size_t cap = 0;
    for (int cpu = 0; cpu < CPU_SET_MAX; cpu++) {
        bool is_used = cpu_set_has(&flat.allowed, cpu);
        for (int r = 0; r < n && !is_used; r++)
            is_used = cpu_set_has(&ranks[r].cpus, cpu);
        if (!is_used)
            continue;
        array_grow(flat.cpus, (size_t)flat.ncpus, cap);
        flat.cpus[flat.ncpus++] = (struct topology_cpu){cpu, cpu, -1, -1, -1};
    }
    return flat;
}

static char *explain(const struct facts *facts, const struct worker_plan *w,
                     const struct core_share *share, uint32_t limit)
{
    struct buf text;
    buf_init(&text, 0);
    buf_addf(&text, "OMP_NUM_THREADS=%u: local rank 0 has %u %s%s", w->omp_threads,
             share->cores, facts->topology ? "physical core" : "CPU",
             share->cores == 1 ? "" : "s");
    if (w->cpus)
        buf_addf(&text, " (CPUs %s)", w->cpus);
    if (share->sharers > 1)
        buf_addf(&text, ", which %u workers share", share->sharers);
    if (limit < share->threads)
        buf_addf(&text, "; the cgroup's cpu.max is %u CPUs", facts->cpu_quota);
    return buf_steal(&text);
}

static void share_out(const struct facts *facts, const struct core_share *shares,
                      struct node_plan *plan)
{
    uint32_t n = plan->order.nworkers, limit = UINT32_MAX;
    if (facts->cpu_quota)
        limit = facts->cpu_quota > n ? facts->cpu_quota / n : 1;
    for (uint32_t i = 0; i < n; i++)
        plan->workers[i].omp_threads = shares[i].threads < limit ? shares[i].threads : limit;
    plan->omp_why = explain(facts, &plan->workers[0], &shares[0], limit);
}

/* Nothing is bound and nothing known but how many CPUs there are: the same for all. */
static void share_evenly(const struct facts *facts, struct core_share *shares, uint32_t n)
{
    uint32_t ncpus = cpu_set_count(&facts->allowed) ? (uint32_t)cpu_set_count(&facts->allowed)
                                                    : facts->ncpus;
    for (uint32_t i = 0; i < n; i++)
        shares[i] = (struct core_share){ncpus, n, ncpus > n ? ncpus / n : 1};
}

static bool is_any_bound(const struct rank_cpus *ranks, uint32_t n)
{
    for (uint32_t r = 0; ranks && r < n; r++)
        if (ranks[r].bound)
            return true;
    return false;
}

static void plan_threads(const struct facts *facts, const struct rank_cpus *ranks,
                         struct node_plan *plan)
{
    uint32_t n = plan->order.nworkers;
    struct core_share *shares = mem_alloc(n, sizeof *shares);
    if (facts->topology) {
        placement_shares(facts->topology, ranks, (int)n, shares);
    } else if (is_any_bound(ranks, n)) {
        struct topology flat = flat_topology(facts, ranks, (int)n);
        placement_shares(&flat, ranks, (int)n, shares);
        free(flat.cpus);
    } else {
        share_evenly(facts, shares, n);
    }
    share_out(facts, shares, plan);
    free(shares);
}

int cpu_plan_build(const char *cpu_bind, const struct facts *facts, struct node_plan *plan,
                   struct err *e)
{
    uint32_t n = plan->order.nworkers;
    struct rank_cpus *ranks = NULL;
    if (!n)
        return 0;
    if (cpu_bind || facts->topology) {
        ranks = mem_alloc(n, sizeof *ranks);
        if (bind_ranks(cpu_bind, facts, plan, ranks, e) < 0) {
            free(ranks);
            return -1;
        }
    }
    for (uint32_t i = 0; ranks && i < n; i++) {
        struct buf text;
        buf_init(&text, 0);
        cpu_set_format(&ranks[i].cpus, &text);
        if (ranks[i].bound)
            plan->workers[i].cpus = buf_steal(&text);
        buf_fini(&text);
        plan->workers[i].mem_node = ranks[i].mem_node;
    }
    plan_threads(facts, ranks, plan);
    free(ranks);
    return 0;
}

#include "launcher/core/placement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/device.h"

/* ---- sets ---- */

void cpu_set_add(struct cpu_set *s, int cpu)
{
    if (cpu >= 0 && cpu < CPU_SET_MAX)
        s->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

bool cpu_set_has(const struct cpu_set *s, int cpu)
{
    return cpu >= 0 && cpu < CPU_SET_MAX && (s->words[cpu / 64] >> cpu % 64 & 1);
}

int cpu_set_count(const struct cpu_set *s)
{
    int n = 0;
    for (int i = 0; i < CPU_SET_MAX / 64; i++)
        for (uint64_t w = s->words[i]; w; w &= w - 1)
            n++;
    return n;
}

int cpu_set_parse(struct str text, struct cpu_set *out)
{
    struct str part, first;
    *out = (struct cpu_set){{0}};
    if (!text.n)
        return -1;
    while (str_split(&text, ',', &part)) {
        uint64_t a, b;
        str_split(&part, '-', &first);
        if (str_parse_u64(first, 0, CPU_SET_MAX - 1, &a) != 0)
            return -1;
        b = a;
        if (part.p && str_parse_u64(part, a, CPU_SET_MAX - 1, &b) != 0)
            return -1;
        for (; a <= b; a++)
            cpu_set_add(out, (int)a);
    }
    return 0;
}

void cpu_set_format(const struct cpu_set *s, struct buf *out)
{
    const char *comma = "";
    for (int i = 0; i < CPU_SET_MAX; i++) {
        if (!cpu_set_has(s, i))
            continue;
        int first = i;
        while (cpu_set_has(s, i + 1))
            i++;
        buf_addf(out, "%s%d", comma, first);
        if (i > first)
            buf_addf(out, "-%d", i);
        comma = ",";
    }
}

/* ---- modes ---- */

#define X(name, spelling) [CPU_BIND_##name] = spelling,
static const char *const bind_names[] = {CPU_BINDS(X)};
#undef X
static_assert(sizeof bind_names / sizeof *bind_names == CPU_BIND_COUNT, "one name each");

int cpu_bind_parse(struct str s, enum cpu_bind *out)
{
    for (int i = 0; i < CPU_BIND_COUNT; i++)
        if (str_eq(s, bind_names[i])) {
            *out = (enum cpu_bind)i;
            return 0;
        }
    return -1;
}

bool cpu_lists_next(struct str *lists, struct cpu_set *list)
{
    if (!lists->p)
        return false;
    struct str one = {lists->p, 0};
    while (one.n < lists->n && one.p[one.n] != ';' && one.p[one.n] != ':')
        one.n++;
    bool is_last = one.n == lists->n;
    *lists =
        is_last ? (struct str){NULL, 0} : (struct str){one.p + one.n + 1, lists->n - one.n - 1};
    if (cpu_set_parse(one, list) < 0)
        *list = (struct cpu_set){{0}};
    return true;
}

int cpu_request_parse(struct str s, struct cpu_request *out)
{
    static const char prefix[] = "list:";
    struct cpu_set list;
    *out = (struct cpu_request){.bind = CPU_BIND_NONE};
    if (!str_starts(s, prefix))
        return cpu_bind_parse(s, &out->bind);
    out->lists = (struct str){s.p + sizeof prefix - 1, s.n - (sizeof prefix - 1)};
    for (struct str rest = out->lists; cpu_lists_next(&rest, &list);)
        if (!cpu_set_count(&list))
            return -1;
    return 0;
}

enum cpu_bind placement_default(const struct topology *t)
{
    for (int i = 0; i < t->ncpus; i++)
        if (!cpu_set_has(&t->allowed, t->cpus[i].cpu))
            return CPU_BIND_NONE;
    return t->nnodes > 1 ? CPU_BIND_NODE : CPU_BIND_NONE;
}

/* ---- one rank ---- */

static int node_of(const struct topology *t, const char *pci)
{
    uint32_t want[3], got[3];
    if (!pci || device_pci_parse(pci, &want[0], &want[1], &want[2]) != 0)
        return -1;
    for (int i = 0; i < t->ndevices; i++)
        if (device_pci_parse(t->devices[i].pci, &got[0], &got[1], &got[2]) == 0
            && !memcmp(want, got, sizeof got))
            return t->devices[i].node;
    return -1;
}

static int package_of_node(const struct topology *t, int node)
{
    for (int i = 0; i < t->ncpus; i++)
        if (t->cpus[i].node == node)
            return t->cpus[i].package;
    return -1;
}

static void take_area(const struct topology *t, enum cpu_bind bind, int node,
                      struct cpu_set *out)
{
    int package = package_of_node(t, node);
    for (int i = 0; i < t->ncpus; i++) {
        const struct topology_cpu *c = &t->cpus[i];
        bool near =
            bind == CPU_BIND_SOCKET && package >= 0 ? c->package == package : c->node == node;
        if (near && cpu_set_has(&t->allowed, c->cpu))
            cpu_set_add(out, c->cpu);
    }
}

/* ---- ranks that share a node ---- */

/* Where the ranks of one node stand: this is the index-th of count. */
struct share {
    int index, count;
};

static struct share share_of(const int *nodes, int n, int r)
{
    struct share s = {0, 0};
    for (int i = 0; i < n; i++) {
        s.index += i < r && nodes[i] == nodes[r];
        s.count += nodes[i] == nodes[r];
    }
    return s;
}

/* The distinct cores (or last-level caches) that the set touches, in order of their first CPU.
 */
static int list_groups(const struct topology *t, bool caches, const struct cpu_set *set,
                       int *groups)
{
    int n = 0;
    for (int i = 0; i < t->ncpus; i++) {
        int g = caches ? t->cpus[i].llc : t->cpus[i].core, j = 0;
        if (!cpu_set_has(set, t->cpus[i].cpu))
            continue;
        while (j < n && groups[j] != g)
            j++;
        if (j == n)
            groups[n++] = g;
    }
    return n;
}

static void keep_groups(const struct topology *t, bool caches, const int *groups, int count,
                        struct cpu_set *set)
{
    struct cpu_set kept = {{0}};
    for (int i = 0; i < t->ncpus; i++) {
        int g = caches ? t->cpus[i].llc : t->cpus[i].core;
        for (int j = 0; j < count; j++)
            if (groups[j] == g && cpu_set_has(set, t->cpus[i].cpu))
                cpu_set_add(&kept, t->cpus[i].cpu);
    }
    *set = kept;
}

/* Narrows the node's set to this rank's part. False if there are fewer parts than ranks. */
static bool narrow(const struct topology *t, enum cpu_bind bind, struct share s,
                   struct cpu_set *set)
{
    bool caches = bind == CPU_BIND_LLC;
    int *groups = mem_alloc((size_t)t->ncpus, sizeof *groups);
    int n = list_groups(t, caches, set, groups);
    bool enough = caches ? n > 0 : n >= s.count;
    if (enough && caches) {
        keep_groups(t, true, groups + s.index % n, 1, set);
    } else if (enough) {
        int each = n / s.count, more = n % s.count;
        int first = s.index * each + (s.index < more ? s.index : more);
        keep_groups(t, false, groups + first, each + (s.index < more), set);
    }
    free(groups);
    return enough;
}

static unsigned plan_rank(const struct topology *t, enum cpu_bind bind, int node,
                          struct share s, struct rank_cpus *out)
{
    unsigned warnings = 0;
    take_area(t, bind, node, &out->cpus);
    if (!cpu_set_count(&out->cpus))
        return PLACEMENT_CPU_EMPTY;
    if ((bind == CPU_BIND_EXCLUSIVE || bind == CPU_BIND_LLC) && !narrow(t, bind, s, &out->cpus))
        warnings = PLACEMENT_CPU_FEW;
    out->bound = true;
    out->mem_node = node;
    return warnings;
}

unsigned placement_plan(const struct topology *t, enum cpu_bind bind, const char *const *pci,
                        int n, struct rank_cpus *out)
{
    unsigned warnings = 0;
    int *nodes = mem_alloc((size_t)n, sizeof *nodes);
    for (int r = 0; r < n; r++) {
        nodes[r] = node_of(t, pci[r]);
        out[r] = (struct rank_cpus){.mem_node = -1};
    }
    for (int r = 0; r < n; r++)
        if (bind != CPU_BIND_NONE && t->nnodes > 1 && nodes[r] >= 0)
            warnings |= plan_rank(t, bind, nodes[r], share_of(nodes, n, r), &out[r]);
    free(nodes);
    return warnings;
}

/* ---- shares ---- */

/* By place in t->cpus: where the first CPU of the same core stands. */
static int *map_cores(const struct topology *t)
{
    int *first = mem_alloc((size_t)t->ncpus, sizeof *first);
    for (int i = 0; i < t->ncpus; i++)
        while (t->cpus[first[i]].core != t->cpus[i].core)
            first[i]++;
    return first;
}

/* The distinct cores of a mask, as places of their first CPUs. */
static int list_cores(const struct topology *t, const int *first, const struct cpu_set *mask,
                      int *cores)
{
    int n = 0;
    for (int i = 0; i < t->ncpus; i++) {
        if (!cpu_set_has(mask, t->cpus[i].cpu))
            continue;
        int j = 0;
        while (j < n && cores[j] != first[i])
            j++;
        cores[n] = first[i];
        n += j == n;
    }
    return n;
}

static const struct cpu_set *mask_of(const struct topology *t, const struct rank_cpus *rank)
{
    return rank->bound ? &rank->cpus : &t->allowed;
}

static struct core_share share_cores(const int *cores, int ncores, const uint32_t *users)
{
    struct core_share share = {.cores = (uint32_t)ncores};
    double sum = 1e-6; /* six sixths are one */
    for (int i = 0; i < ncores; i++) {
        sum += 1.0 / users[cores[i]];
        if (users[cores[i]] > share.sharers)
            share.sharers = users[cores[i]];
    }
    share.threads = sum < 1 ? 1 : (uint32_t)sum;
    return share;
}

void placement_shares(const struct topology *t, const struct rank_cpus *ranks, int n,
                      struct core_share *out)
{
    int *first = map_cores(t), *cores = mem_alloc((size_t)t->ncpus + 1, sizeof *cores);
    uint32_t *users = mem_alloc((size_t)t->ncpus, sizeof *users);
    for (int r = 0; r < n; r++)
        for (int i = list_cores(t, first, mask_of(t, &ranks[r]), cores); i > 0; i--)
            users[cores[i - 1]]++;
    for (int r = 0; r < n; r++) {
        int ncores = list_cores(t, first, mask_of(t, &ranks[r]), cores);
        out[r] = share_cores(cores, ncores, users);
    }
    free(first);
    free(cores);
    free(users);
}

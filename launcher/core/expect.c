#include "launcher/core/expect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/device.h"

static const struct {
    const char *word;
    double gbs;
} cpus[] = {
#define X(id, word, gbs) [EXPECT_CPU_##id] = {word, gbs},
    EXPECT_CPUS(X)
#undef X
};
static_assert(sizeof cpus / sizeof cpus[0] == EXPECT_CPU_COUNT, "one row a CPU");

/* One NVLink in one direction, by compute capability; the last row that is not above it holds.
 */
static const struct {
    int cc; /* 10 x major + minor */
    double gbs;
} links[] = {{60, 18}, {70, 20}, {80, 20}, {86, 12}, {90, 20.6}, {100, 40.1}};

/* PCIe with 16 lanes, by generation. */
static const double lanes16[] = {[1] = 3, [2] = 6, [3] = 12, [4] = 24, [5] = 48, [6] = 96};
enum { PCIE_GEN_MAX = sizeof lanes16 / sizeof lanes16[0] - 1 };

enum expect_cpu expect_cpu_of(const char *vendor, int family, int model)
{
    if (strcmp(vendor, "AuthenticAMD") == 0)
        return EXPECT_CPU_AMD;
    if (strcmp(vendor, "GenuineIntel") != 0 || family != 6 || model < 0)
        return EXPECT_CPU_UNKNOWN;
    if (model >= 0xcf)
        return EXPECT_CPU_EMERALD_RAPIDS;
    if (model >= 0x8f)
        return EXPECT_CPU_SAPPHIRE_RAPIDS;
    return model >= 0x55 ? EXPECT_CPU_SKYLAKE : EXPECT_CPU_BROADWELL;
}

void expect_facts_init(struct expect_facts *f, size_t n)
{
    *f = (struct expect_facts){.gpus = mem_alloc(n, sizeof *f->gpus),
                               .n = n,
                               .to = mem_alloc(n * n, sizeof *f->to),
                               .p2p = mem_alloc(n * n, sizeof *f->p2p)};
    for (size_t i = 0; i < n; i++)
        f->gpus[i].numa = -1;
}

void expect_facts_fini(struct expect_facts *f)
{
    free(f->gpus);
    free(f->to);
    free(f->p2p);
    *f = (struct expect_facts){0};
}

/* "0000:65:00.0" and "00000000:65:00.0" are one. */
static bool is_same_place(const char *a, const char *b)
{
    uint32_t x[3], y[3];
    return device_pci_parse(a, &x[0], &x[1], &x[2]) == 0
           && device_pci_parse(b, &y[0], &y[1], &y[2]) == 0 && memcmp(x, y, sizeof x) == 0;
}

static bool find_gpu(const struct expect_facts *all, const char *pci, size_t *at)
{
    for (*at = 0; pci && *at < all->n; ++*at)
        if (is_same_place(all->gpus[*at].pci, pci))
            return true;
    return false;
}

bool expect_facts_pick(const struct expect_facts *all, const char *const *pci, size_t n,
                       struct expect_facts *out)
{
    size_t *at = mem_alloc(n, sizeof *at);
    bool is_complete = true;
    for (size_t i = 0; i < n && is_complete; i++)
        is_complete = find_gpu(all, pci[i], &at[i]);
    if (is_complete) {
        expect_facts_init(out, n);
        out->cpu = all->cpu;
        for (size_t i = 0; i < n; i++) {
            out->gpus[i] = all->gpus[at[i]];
            for (size_t k = 0; k < n; k++) {
                out->to[i * n + k] = all->to[at[i] * all->n + at[k]];
                out->p2p[i * n + k] = all->p2p[at[i] * all->n + at[k]];
            }
        }
    }
    free(at);
    return is_complete;
}

/* ---- the hops ---- */

static double link_gbs(const struct expect_gpu *g)
{
    double gbs = 0;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (10 * g->cc_major + g->cc_minor >= links[i].cc)
            gbs = links[i].gbs;
    return gbs;
}

static double pcie_gbs(const struct expect_gpu *g)
{
    unsigned gen = g->pcie_gen > PCIE_GEN_MAX ? PCIE_GEN_MAX : g->pcie_gen;
    return gen ? lanes16[gen] * g->pcie_width / 16 : 0;
}

static bool is_off(const struct expect_facts *f, size_t *a, size_t *b)
{
    for (*a = 0; *a < f->n; ++*a)
        for (*b = 0; *b < f->n; ++*b)
            if (*a != *b && f->p2p[*a * f->n + *b] == EXPECT_P2P_NONE)
                return true;
    return false;
}

/* Of two GPUs the best that was measured; see expect.h. */
static double attainable(const struct expect_facts *f, double gbs, struct buf *why)
{
    static const double pair = 0.93;
    if (f->n != 2)
        return gbs;
    buf_addf(why, ", of which a pair reaches %.0f %%", 100 * pair);
    return pair * gbs;
}

/* The one with the fewest links into a switch. */
static const struct expect_gpu *least_switched(const struct expect_facts *f)
{
    const struct expect_gpu *least = &f->gpus[0];
    for (size_t i = 1; i < f->n; i++)
        if (f->gpus[i].switch_links * link_gbs(&f->gpus[i])
            < least->switch_links * link_gbs(least))
            least = &f->gpus[i];
    return least;
}

static struct expectation over_switch(const struct expect_facts *f, struct buf *why)
{
    const struct expect_gpu *g = least_switched(f);
    buf_addf(why, "%u NVLinks of %.1f GB/s from each GPU to the NVSwitch", g->switch_links,
             link_gbs(g));
    return (struct expectation){attainable(f, g->switch_links * link_gbs(g), why), true};
}

/* Every pair has links of its own: all of them carry rings. */
static bool is_mesh(const struct expect_facts *f)
{
    for (size_t a = 0; a < f->n; a++)
        for (size_t b = 0; b < f->n; b++)
            if (a != b && !f->to[a * f->n + b])
                return false;
    return true;
}

static unsigned links_within(const struct expect_facts *f, size_t a)
{
    unsigned n = 0;
    for (size_t b = 0; b < f->n; b++)
        n += a == b ? 0 : f->to[a * f->n + b];
    return n;
}

static struct expectation over_mesh(const struct expect_facts *f, struct buf *why)
{
    size_t least = 0;
    for (size_t a = 1; a < f->n; a++)
        if (links_within(f, a) < links_within(f, least))
            least = a;
    unsigned n = links_within(f, least);
    double one = link_gbs(&f->gpus[least]);
    buf_addf(why, "%u NVLinks of %.1f GB/s from each GPU to the other%s", n, one,
             f->n == 2 ? "" : "s");
    return (struct expectation){attainable(f, n * one, why), f->n == 2};
}

/* Enough NVLinks for a ring, yet not from each to each: how many rings NCCL finds cannot be
 * said. */
static bool is_partly_linked(const struct expect_facts *f)
{
    for (size_t a = 0; a < f->n; a++) {
        unsigned peers = 0;
        for (size_t b = 0; b < f->n; b++)
            peers += a != b && f->to[a * f->n + b];
        if (peers < 2)
            return false;
    }
    return true;
}

static bool is_spread_over_nodes(const struct expect_facts *f)
{
    for (size_t i = 1; i < f->n; i++)
        if (f->gpus[i].numa != f->gpus[0].numa)
            return true;
    return false;
}

static struct expectation over_pcie(const struct expect_facts *f, struct buf *why)
{
    const struct expect_gpu *g = &f->gpus[0];
    for (size_t i = 1; i < f->n; i++)
        if (pcie_gbs(&f->gpus[i]) < pcie_gbs(g))
            g = &f->gpus[i];
    double gbs = pcie_gbs(g);
    if (gbs <= 0) {
        buf_adds(why, "no NVLink joins all of them, and the speed of PCIe is not known");
        return (struct expectation){0, false};
    }
    buf_addf(why, "no NVLink joins all of them: PCIe %u x%u, %.1f GB/s", g->pcie_gen,
             g->pcie_width, gbs);
    double hop = cpus[f->cpu].gbs;
    if (is_spread_over_nodes(f) && hop > 0 && hop < gbs) {
        buf_addf(why, ", and between the sockets of %s %.0f GB/s", cpus[f->cpu].word, hop);
        gbs = hop;
    }
    return (struct expectation){gbs, false};
}

struct expectation expect_node(const struct expect_facts *f, struct buf *why)
{
    size_t a, b;
    struct expectation e = {0};
    if (f->n < 2) {
        buf_adds(why, "one GPU has no peer");
        return e;
    }
    if (least_switched(f)->switch_links > 0)
        e = over_switch(f, why);
    else if (is_mesh(f))
        e = over_mesh(f, why);
    else if (is_partly_linked(f))
        buf_adds(why,
                 "NVLinks between some of the GPUs: how many rings they carry is not known");
    else
        e = over_pcie(f, why);
    if (is_off(f, &a, &b)) {
        buf_addf(why,
                 "; the driver allows no peer access between GPUs %s and %s, so that "
                 "less is to be expected",
                 f->gpus[a].pci, f->gpus[b].pci);
        e.is_firm = false;
    }
    return e;
}

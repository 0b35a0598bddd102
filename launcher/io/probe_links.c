#include "launcher/io/probe_links.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/io/nvml.h"
#include "launcher/io/nvml_links_abi.h"

/* NVML, and what only this file asks of it. */
struct source {
    struct nvml nvml;
#define X(name, symbol, args) int(*name) args;
    NVML_LINK_FUNCTIONS(X)
#undef X
};

static int open_source(const char *path, struct source *s, struct err *e)
{
    int rc;
    *s = (struct source){0};
    if (nvml_open(path, &s->nvml, &rc, e) < 0)
        return -1;
#define X(name, symbol, args)                                                                  \
    void *name = dlsym(s->nvml.library, #symbol);                                              \
    memcpy(&s->name, &name, sizeof s->name);
    NVML_LINK_FUNCTIONS(X)
#undef X
    return 0;
}

/* Which of the GPUs is at that address; all->n if none. */
static size_t find(const struct expect_facts *all, const struct nvml_pci *pci)
{
    size_t i = 0;
    uint32_t domain, bus, dev;
    for (; i < all->n; i++)
        if (device_pci_parse(all->gpus[i].pci, &domain, &bus, &dev) == 0
            && domain == pci->domain && bus == pci->bus && dev == pci->device)
            break;
    return i;
}

/* As NCCL takes it: a far end that cannot be seen, as in many virtual machines, is a switch. */
static void read_link(const struct source *s, struct nvml_handle *h, uint32_t link, size_t at,
                      struct expect_facts *out)
{
    int is_active = 0, type = NVML_FAR_UNKNOWN;
    struct nvml_pci pci;
    if (!s->nvml.link || s->nvml.link(h, link, &is_active) != NVML_OK || !is_active)
        return;
    out->gpus[at].links++;
    if (s->link_type && s->link_type(h, link, &type) != NVML_OK)
        type = NVML_FAR_UNKNOWN;
    size_t other = out->n;
    if (type != NVML_FAR_SWITCH && s->link_pci && s->link_pci(h, link, &pci) == NVML_OK)
        other = find(out, &pci);
    if (other < out->n)
        out->to[at * out->n + other]++;
    else if (type == NVML_FAR_SWITCH || type == NVML_FAR_UNKNOWN)
        out->gpus[at].switch_links++;
}

static void read_gpu(const struct source *s, struct nvml_handle *h, size_t at,
                     struct expect_facts *out)
{
    uint32_t v;
    for (uint32_t link = 0; link < NVML_LINKS_MAX; link++)
        read_link(s, h, link, at, out);
    if (s->pcie_gen && s->pcie_gen(h, &v) == NVML_OK)
        out->gpus[at].pcie_gen = v;
    if (s->pcie_width && s->pcie_width(h, &v) == NVML_OK)
        out->gpus[at].pcie_width = v;
}

static void read_p2p(const struct source *s, struct nvml_handle *const *handles,
                     struct expect_facts *out)
{
    for (size_t i = 0; s->nvml.p2p && i < out->n * out->n; i++) {
        struct nvml_handle *a = handles[i / out->n], *b = handles[i % out->n];
        int status;
        if (a && b && a != b && s->nvml.p2p(a, b, NVML_P2P_READ, &status) == NVML_OK)
            out->p2p[i] = status == NVML_P2P_OK ? EXPECT_P2P_OK : EXPECT_P2P_NONE;
    }
}

static void read_all(const struct source *s, const struct inventory *inv,
                     struct expect_facts *out)
{
    struct nvml_handle **handles = mem_alloc(out->n, sizeof *handles);
    for (size_t i = 0; i < out->n; i++)
        if (s->nvml.handle((uint32_t)inv->devices[i].index, &handles[i]) == NVML_OK)
            read_gpu(s, handles[i], i, out);
        else
            handles[i] = NULL;
    read_p2p(s, handles, out);
    free(handles);
}

static void take_inventory(const struct inventory *inv, struct expect_facts *out)
{
    expect_facts_init(out, (size_t)inv->ndevices);
    for (int i = 0; i < inv->ndevices; i++) {
        const struct device *d = &inv->devices[i];
        struct expect_gpu *g = &out->gpus[i];
        memcpy(g->pci, d->pci, sizeof g->pci);
        g->cc_major = d->cc_major;
        g->cc_minor = d->cc_minor;
        g->numa = d->numa;
    }
}

/* The first processor speaks for all. */
static enum expect_cpu read_cpu(const char *path)
{
    char line[256], vendor[64] = "";
    int family = -1, model = -1;
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f) && *line != '\n') {
        const char *value = strchr(line, ':');
        if (!value)
            continue;
        if (strncmp(line, "vendor_id", 9) == 0)
            snprintf(vendor, sizeof vendor, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        else if (strncmp(line, "cpu family", 10) == 0)
            family = atoi(value + 1);
        else if (strncmp(line, "model\t", 6) == 0)
            model = atoi(value + 1);
    }
    if (f)
        fclose(f);
    return expect_cpu_of(vendor, family, model);
}

int probe_links(const char *path, const char *cpuinfo, const struct inventory *inv,
                struct expect_facts *out, struct err *e)
{
    struct source s;
    if (open_source(path, &s, e) < 0)
        return -1;
    take_inventory(inv, out);
    read_all(&s, inv, out);
    out->cpu = read_cpu(cpuinfo);
    nvml_close(&s.nvml);
    return 0;
}

#include "launcher/io/probe_links.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/io/nvml_links_abi.h"

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*handle)(uint32_t i, struct nvml_handle **h);
#define X(name, symbol, args) int(*name) args;
    NVML_LINK_FUNCTIONS(X)
#undef X
};

static void load_symbol(void *library, const char *symbol, void *to)
{
    void *at = dlsym(library, symbol);
    memcpy(to, &at, sizeof at);
}

static int load(const char *path, struct nvml *n, struct err *e)
{
    *n = (struct nvml){.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!n->library)
        return err_set(e, ERR_UNAVAILABLE, "NVML: %s", dlerror());
    load_symbol(n->library, "nvmlInit_v2", &n->init);
    load_symbol(n->library, "nvmlShutdown", &n->shutdown);
    load_symbol(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->handle);
#define X(name, symbol, args) load_symbol(n->library, #symbol, &n->name);
    NVML_LINK_FUNCTIONS(X)
#undef X
    int rc = n->init && n->shutdown && n->handle ? n->init() : NVML_NOT_FOUND;
    if (rc == NVML_OK)
        return 0;
    dlclose(n->library);
    return err_set(e, ERR_UNAVAILABLE, "NVML: nvmlInit_v2 gives %d", rc);
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
static void read_link(const struct nvml *n, struct nvml_handle *h, uint32_t link, size_t at,
                      struct expect_facts *out)
{
    int is_active = 0, type = NVML_FAR_UNKNOWN;
    struct nvml_pci pci;
    if (!n->link_state || n->link_state(h, link, &is_active) != NVML_OK || !is_active)
        return;
    out->gpus[at].links++;
    if (n->link_type && n->link_type(h, link, &type) != NVML_OK)
        type = NVML_FAR_UNKNOWN;
    size_t other = out->n;
    if (type != NVML_FAR_SWITCH && n->link_pci && n->link_pci(h, link, &pci) == NVML_OK)
        other = find(out, &pci);
    if (other < out->n)
        out->to[at * out->n + other]++;
    else if (type == NVML_FAR_SWITCH || type == NVML_FAR_UNKNOWN)
        out->gpus[at].switch_links++;
}

static void read_gpu(const struct nvml *n, struct nvml_handle *h, size_t at,
                     struct expect_facts *out)
{
    uint32_t v;
    for (uint32_t link = 0; link < NVML_LINKS_MAX; link++)
        read_link(n, h, link, at, out);
    if (n->pcie_gen && n->pcie_gen(h, &v) == NVML_OK)
        out->gpus[at].pcie_gen = v;
    if (n->pcie_width && n->pcie_width(h, &v) == NVML_OK)
        out->gpus[at].pcie_width = v;
}

static void read_p2p(const struct nvml *n, struct nvml_handle *const *handles,
                     struct expect_facts *out)
{
    for (size_t i = 0; n->p2p && i < out->n * out->n; i++) {
        struct nvml_handle *a = handles[i / out->n], *b = handles[i % out->n];
        int status;
        if (a && b && a != b && n->p2p(a, b, NVML_MAY_READ, &status) == NVML_OK)
            out->p2p[i] = status == NVML_MAY_OK ? EXPECT_P2P_OK : EXPECT_P2P_NONE;
    }
}

static void read_all(const struct nvml *n, const struct inventory *inv,
                     struct expect_facts *out)
{
    struct nvml_handle **handles = mem_alloc(out->n, sizeof *handles);
    for (size_t i = 0; i < out->n; i++)
        if (n->handle((uint32_t)inv->devices[i].index, &handles[i]) == NVML_OK)
            read_gpu(n, handles[i], i, out);
        else
            handles[i] = NULL;
    read_p2p(n, handles, out);
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
    struct nvml n;
    if (load(path ? path : "libnvidia-ml.so.1", &n, e) < 0)
        return -1;
    take_inventory(inv, out);
    read_all(&n, inv, out);
    out->cpu = read_cpu(cpuinfo);
    n.shutdown();
    dlclose(n.library);
    return 0;
}

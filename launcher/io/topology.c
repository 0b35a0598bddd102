#include "launcher/io/topology.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/device.h"

/* ---- the library ---- */

#define HWLOC_FUNCTIONS(X)                                                                     \
    X(get_api_version)                                                                         \
    X(topology_init)                                                                           \
    X(topology_destroy)                                                                        \
    X(topology_load)                                                                           \
    X(topology_set_all_types_filter)                                                           \
    X(topology_set_components)                                                                 \
    X(topology_set_flags)                                                                      \
    X(topology_set_io_types_filter)                                                            \
    X(topology_set_type_filter)                                                                \
    X(topology_set_xml)                                                                        \
    X(topology_is_thissystem)                                                                  \
    X(topology_get_allowed_cpuset)                                                             \
    X(get_obj_by_depth)                                                                        \
    X(get_type_depth)                                                                          \
    X(bitmap_first)                                                                            \
    X(bitmap_isset)

struct hwloc {
    void *library;
#define X(name) __typeof__(&hwloc_##name) name;
    HWLOC_FUNCTIONS(X)
#undef X
};

static int load_symbol(void *library, const char *symbol, void *to, struct err *e)
{
    void *at = dlsym(library, symbol);
    if (!at)
        return err_set(e, ERR_UNAVAILABLE, "hwloc: the library has no %s", symbol);
    memcpy(to, &at, sizeof at);
    return 0;
}

static int open_library(struct hwloc *h, struct err *e)
{
    const char *path = getenv("MUSTER_HWLOC_PATH");
    h->library = dlopen(path && *path ? path : "libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!h->library)
        return err_set(e, ERR_UNAVAILABLE, "hwloc: %s", dlerror());
    int rc = 0;
#define X(name)                                                                                \
    if (rc == 0)                                                                               \
        rc = load_symbol(h->library, "hwloc_" #name, &h->name, e);
    HWLOC_FUNCTIONS(X)
#undef X
    if (rc == 0 && h->get_api_version() >> 16 != HWLOC_API_VERSION >> 16)
        rc = err_set(e, ERR_UNAVAILABLE, "hwloc: the library speaks version %x, not %x",
                     h->get_api_version() >> 16, HWLOC_API_VERSION >> 16);
    if (rc != 0)
        dlclose(h->library);
    return rc;
}

/* ---- what hwloc reads from the environment ---- */

static bool names(const char *entry, const char *variable)
{
    size_t n = strlen(variable);
    return strncmp(entry, variable, n) == 0 && entry[n] == '=';
}

/* A copy of the environment for hwloc: without its plugins, of which some start CUDA or ask an
 * X server, and without its words on standard error. */
static char **quiet_environment(void)
{
    static char plugins[] = "HWLOC_PLUGINS_PATH=/dev/null", errors[] = "HWLOC_HIDE_ERRORS=2";
    size_t n = 0, k = 0;
    while (environ && environ[n])
        n++;
    char **copy = mem_alloc(n + 3, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        if (!names(environ[i], "HWLOC_PLUGINS_PATH") && !names(environ[i], "HWLOC_HIDE_ERRORS"))
            copy[k++] = environ[i];
    copy[k++] = plugins;
    copy[k++] = errors;
    return copy;
}

/* ---- one topology ---- */

/* Nothing is looked at that is not asked about later: each costs time. */
static void restrict_to_needed(const struct hwloc *h, hwloc_topology_t t)
{
    static const hwloc_obj_type_t kept[] = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE,
                                            HWLOC_OBJ_L3CACHE};
    h->topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        h->topology_set_type_filter(t, kept[i], HWLOC_TYPE_FILTER_KEEP_ALL);
    h->topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    h->topology_set_type_filter(t, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
    h->topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    /* It runs on every CPU in turn, to learn what Linux says as well. */
    h->topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
}

static int read_topology(const struct hwloc *h, hwloc_topology_t *t, struct err *e)
{
    const char *xml = getenv("HWLOC_XMLFILE");
    if (h->topology_init(t) < 0)
        return err_set(e, ERR_UNAVAILABLE, "hwloc: no topology can be made");
    restrict_to_needed(h, *t);
    /* Left to itself hwloc falls back on the machine where the file is bad. */
    if (xml && *xml && h->topology_set_xml(*t, xml) < 0)
        err_set(e, ERR_UNAVAILABLE, "hwloc: %s cannot be read as a topology", xml);
    else if (h->topology_load(*t) < 0)
        err_set(e, ERR_UNAVAILABLE, "hwloc: the topology%s%s cannot be loaded",
                xml && *xml ? " of " : "", xml && *xml ? xml : "");
    else
        return 0;
    h->topology_destroy(*t);
    return -1;
}

static int ancestor(hwloc_obj_t o, hwloc_obj_type_t type)
{
    while (o && o->type != type)
        o = o->parent;
    return o ? (int)o->logical_index : -1;
}

static int compare_cpus(const void *a, const void *b)
{
    const struct topology_cpu *x = a, *y = b;
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int count_nodes(const struct topology *t)
{
    int n = 0;
    for (int i = 0; i < t->ncpus; i++) {
        int j = 0;
        while (t->cpus[j].node != t->cpus[i].node)
            j++;
        n += j == i && t->cpus[i].node >= 0;
    }
    return n;
}

static void add_cpus(const struct hwloc *h, hwloc_topology_t t, const struct cpu_set *own,
                     struct topology *out)
{
    int depth = h->get_type_depth(t, HWLOC_OBJ_PU);
    hwloc_const_cpuset_t allowed = h->topology_get_allowed_cpuset(t);
    bool is_ours = own && h->topology_is_thissystem(t);
    size_t cap = 0;
    hwloc_obj_t pu;
    for (unsigned i = 0; (pu = h->get_obj_by_depth(t, depth, i)); i++) {
        if (pu->os_index >= CPU_SET_MAX)
            continue;
        int cpu = (int)pu->os_index, core = ancestor(pu, HWLOC_OBJ_CORE);
        array_grow(out->cpus, (size_t)out->ncpus, cap);
        out->cpus[out->ncpus++] = (struct topology_cpu){
            .cpu = cpu,
            .core = core >= 0 ? core : (int)pu->logical_index,
            .node = pu->nodeset ? h->bitmap_first(pu->nodeset) : -1,
            .package = ancestor(pu, HWLOC_OBJ_PACKAGE),
            .llc = ancestor(pu, HWLOC_OBJ_L3CACHE),
        };
        if (h->bitmap_isset(allowed, pu->os_index) && (!is_ours || cpu_set_has(own, cpu)))
            cpu_set_add(&out->allowed, cpu);
    }
    qsort(out->cpus, (size_t)out->ncpus, sizeof *out->cpus, compare_cpus);
    out->nnodes = count_nodes(out);
}

static hwloc_obj_t find_device(const struct hwloc *h, hwloc_topology_t t, const char *pci)
{
    uint32_t domain, bus, dev;
    hwloc_obj_t o;
    if (!pci || device_pci_parse(pci, &domain, &bus, &dev) != 0)
        return NULL;
    for (unsigned i = 0; (o = h->get_obj_by_depth(t, HWLOC_TYPE_DEPTH_PCI_DEVICE, i)); i++)
        if (o->attr->pcidev.domain == domain && o->attr->pcidev.bus == bus
            && o->attr->pcidev.dev == dev)
            return o;
    return NULL;
}

/* The node of all CPUs near the device; -1 where they are of several: the machine does not
 * know. */
static int node_near(const struct hwloc *h, const struct topology *t, hwloc_obj_t o)
{
    int node = -1;
    while (o && !o->cpuset)
        o = o->parent;
    for (int i = 0; o && i < t->ncpus; i++) {
        if (!h->bitmap_isset(o->cpuset, (unsigned)t->cpus[i].cpu))
            continue;
        if (node >= 0 && node != t->cpus[i].node)
            return -1;
        node = t->cpus[i].node;
    }
    return node;
}

static void add_devices(const struct hwloc *h, hwloc_topology_t t, const char *const *pci,
                        int n, struct topology *out)
{
    out->devices = mem_alloc((size_t)n, sizeof *out->devices);
    for (int i = 0; i < n; i++) {
        struct topology_pci *d = &out->devices[out->ndevices++];
        snprintf(d->pci, sizeof d->pci, "%s", pci[i] ? pci[i] : "");
        d->node = node_near(h, out, find_device(h, t, pci[i]));
    }
}

int topology_load(const char *const *pci, int n, const struct cpu_set *own,
                  struct topology *out, struct err *e)
{
    struct hwloc h;
    hwloc_topology_t t;
    char **caller = environ, **quiet;
    *out = (struct topology){0};
    if (open_library(&h, e) < 0)
        return -1;
    environ = quiet = quiet_environment();
    int rc = read_topology(&h, &t, e);
    environ = caller;
    free(quiet);
    if (rc == 0) {
        add_cpus(&h, t, own, out);
        add_devices(&h, t, pci, n, out);
        h.topology_destroy(t);
    }
    dlclose(h.library);
    return rc;
}

void topology_release(struct topology *t)
{
    free(t->cpus);
    free(t->devices);
    *t = (struct topology){0};
}

/* ---- without the library ---- */

bool topology_has_nodes(void)
{
    const char *xml = getenv("HWLOC_XMLFILE");
    char nodes[256];
    if (xml && *xml)
        return true;
    int fd = open("/sys/devices/system/node/has_cpu", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, nodes, sizeof nodes - 1);
    close(fd);
    nodes[n > 0 ? n : 0] = '\0';
    return strpbrk(nodes, ",-") != NULL;
}

#include "launcher/io/facts_gather.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/node_plan.h"
#include "launcher/io/descriptors.h"
#include "launcher/io/probe_order.h"
#include "launcher/io/terminal.h"
#include "launcher/io/topology.h"

/* First line of a small file, without its newline; false if it cannot be read. */
static bool read_line(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

/* CPUs that cgroup v2's quota allows, rounded up; 0 = no limit. */
static uint32_t cgroup_cpus(void)
{
    char cgroup[512], path[600], text[64];
    if (!read_line("/proc/self/cgroup", cgroup, sizeof cgroup)
        || strncmp(cgroup, "0::", 3) != 0)
        return 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max",
             strcmp(cgroup + 3, "/") == 0 ? "" : cgroup + 3);
    unsigned long quota, period;
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lu %lu", &quota, &period) != 2
        || !period)
        return 0;
    return (uint32_t)((quota + period - 1) / period);
}

/* The kernel fills as many words as it has CPUs; glibc's type ends at 1024. */
static void gather_cpus(struct facts *out)
{
    int ncpus = 0;
    if (sched_getaffinity(0, sizeof out->allowed, (cpu_set_t *)out->allowed.words) == 0)
        ncpus = cpu_set_count(&out->allowed);
    long n = ncpus ? ncpus : sysconf(_SC_NPROCESSORS_ONLN);
    out->ncpus = n > 0 ? (uint32_t)n : 1;
    out->cpu_quota = cgroup_cpus();
    if (out->cpu_quota && out->cpu_quota < out->ncpus)
        out->ncpus = out->cpu_quota;
}

static const char *host_name(void)
{
    char name[256];
    if (gethostname(name, sizeof name) < 0)
        return mem_strdup("localhost");
    name[sizeof name - 1] = '\0';
    return mem_strdup(name);
}

int facts_gather_gpus(struct facts *facts, bool with_load, enum probe_source *found,
                      struct err *why, struct err *e)
{
    struct inventory *inventory = mem_alloc(1, sizeof *inventory);
    struct err order;
    if (probe_devices(with_load, found, inventory, why, e) < 0) {
        free(inventory);
        return -1;
    }
    if (*found == PROBE_NO_INVENTORY) {
        free(inventory);
        return 0;
    }
    facts->inventory = inventory;
    if (probe_order_is_needed(facts) && probe_order(facts, inventory, &order) < 0)
        log_warn("facts", "CUDA cannot be asked for its own order: %s", order.text);
    return 0;
}

enum facts_gpus facts_gpus_for(const struct options *opt)
{
    if (!node_plan_needs_gpus(opt))
        return FACTS_NO_GPUS;
    return node_plan_needs_load(opt) ? FACTS_GPUS_LOAD : FACTS_GPUS;
}

int facts_gather(enum facts_gpus gpus, struct facts *out, struct err *e)
{
    *out = (struct facts){
        .environment = (const char *const *)environ,
        .is_stdout_tty = isatty(STDOUT_FILENO) != 0,
        .has_terminal = terminal_is_ours(),
        .max_files = descriptors_limit(),
        .is_stderr_tty = isatty(STDERR_FILENO) != 0,
    };
    gather_cpus(out);
    enum probe_source found;
    struct err why;
    if (gpus && facts_gather_gpus(out, gpus == FACTS_GPUS_LOAD, &found, &why, e) < 0)
        return -1;
    if (gpus && found == PROBE_NO_INVENTORY)
        log_warn("facts", "no GPU inventory: %s", why.text);
    const char *python = facts_getenv(out, "PYTHON");
    out->python = python && *python ? python : "python3";
    out->host = host_name();
    return 0;
}

static bool is_topology_needed(const char *cpu_bind, const struct facts *facts)
{
    if (cpu_bind)
        return strcmp(cpu_bind, "none") != 0;
    return facts->inventory && facts->inventory->ndevices > 0 && topology_has_nodes();
}

void facts_gather_topology(const char *cpu_bind, struct facts *facts)
{
    if (!is_topology_needed(cpu_bind, facts))
        return;
    const struct inventory *inventory = facts->inventory;
    int n = inventory ? inventory->ndevices : 0;
    const char **pci = mem_alloc((size_t)n, sizeof *pci);
    for (int i = 0; i < n; i++)
        pci[i] = inventory->devices[i].pci;
    struct topology *topology = mem_alloc(1, sizeof *topology);
    bool is_mask_known = cpu_set_count(&facts->allowed) > 0;
    struct err e;
    if (topology_load(pci, n, is_mask_known ? &facts->allowed : NULL, topology, &e) == 0) {
        facts->topology = topology;
    } else {
        /* Lists of CPUs need no topology. */
        bool is_missed = cpu_bind && strncmp(cpu_bind, "list:", 5) != 0;
        log_line(is_missed ? LOG_WARN : LOG_DEBUG, "facts", "%s%s", e.text,
                 is_missed ? "; CPUs are not bound" : "");
        free(topology);
    }
    free(pci);
}

void facts_release(struct facts *facts)
{
    if (facts->topology) {
        struct topology *topology = (struct topology *)(uintptr_t)facts->topology;
        topology_release(topology);
        free(topology);
    }
    if (facts->inventory) {
        struct inventory *inventory = (struct inventory *)(uintptr_t)facts->inventory;
        free((void *)(uintptr_t)inventory->probe);
        inventory_fini(inventory);
        free(inventory);
    }
    free((char *)(uintptr_t)facts->host);
}

#include "launcher/io/facts_gather.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/probe.h"

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

/* CPUs that cgroup v2's quota allows, rounded up; UINT32_MAX = no limit. */
static uint32_t cgroup_cpus(void)
{
    char cgroup[512], path[600], text[64];
    if (!read_line("/proc/self/cgroup", cgroup, sizeof cgroup)
        || strncmp(cgroup, "0::", 3) != 0)
        return UINT32_MAX;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max",
             strcmp(cgroup + 3, "/") == 0 ? "" : cgroup + 3);
    unsigned long quota, period;
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lu %lu", &quota, &period) != 2
        || !period)
        return UINT32_MAX;
    return (uint32_t)((quota + period - 1) / period);
}

static uint32_t count_cpus(void)
{
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                         : sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t limit = cgroup_cpus(), ncpus = n > 0 ? (uint32_t)n : 1;
    if (limit < ncpus)
        ncpus = limit;
    return ncpus ? ncpus : 1;
}

static const char *host_name(void)
{
    char name[256];
    if (gethostname(name, sizeof name) < 0)
        return mem_strdup("localhost");
    name[sizeof name - 1] = '\0';
    return mem_strdup(name);
}

static int gather_gpus(struct facts *out, struct err *e)
{
    struct inventory *inventory = mem_alloc(1, sizeof *inventory);
    enum probe_source source;
    struct err why;
    if (probe_devices(&source, inventory, &why, e) < 0) {
        free(inventory);
        return -1;
    }
    if (source == PROBE_NO_INVENTORY) {
        log_debug("facts", "no GPU inventory: %s", why.text);
        free(inventory);
        return 0;
    }
    out->inventory = inventory;
    return 0;
}

int facts_gather(bool needs_gpus, struct facts *out, struct err *e)
{
    *out = (struct facts){
        .environment = (const char *const *)environ,
        .ncpus = count_cpus(),
        .is_stdout_tty = isatty(STDOUT_FILENO) != 0,
        .is_stderr_tty = isatty(STDERR_FILENO) != 0,
    };
    if (needs_gpus && gather_gpus(out, e) < 0)
        return -1;
    const char *python = facts_getenv(out, "PYTHON");
    out->python = python && *python ? python : "python3";
    out->host = host_name();
    return 0;
}

void facts_release(struct facts *facts)
{
    if (facts->inventory) {
        struct inventory *inventory = (struct inventory *)(uintptr_t)facts->inventory;
        inventory_fini(inventory);
        free(inventory);
    }
    free((char *)(uintptr_t)facts->host);
}

#include "launcher/core/slurm_text.h"

#include <string.h>

enum { TASKS_MAX = 65535 };

/* "N" or "N(xM)". */
static bool split_item(struct str item, struct str *tasks, struct str *times)
{
    const char *open = item.n ? memchr(item.p, '(', item.n) : NULL;
    *tasks = item;
    *times = STR_LIT("1");
    if (!open)
        return true;
    tasks->n = (size_t)(open - item.p);
    size_t rest = item.n - tasks->n;
    if (rest < 4 || open[1] != 'x' || open[rest - 1] != ')')
        return false;
    *times = (struct str){open + 2, rest - 3};
    return true;
}

static int read_item(const struct host_source *src, struct str item, uint64_t *tasks,
                     uint64_t *times)
{
    struct str n, m;
    int shown = (int)(item.n < 40 ? item.n : 40);
    if (!split_item(item, &n, &m) || str_parse_u64(n, 0, UINT32_MAX, tasks) != 0
        || str_parse_u64(m, 0, UINT32_MAX, times) != 0)
        return host_fail(
            src, HOST_E_NUMBER, item.p,
            "\"%.*s\" is no number of tasks; Slurm writes 4, or 4(x2) for two nodes", shown,
            item.p);
    if (*tasks < 1 || *tasks > TASKS_MAX || *times < 1 || *times > HOSTS_MAX)
        return host_fail(src, HOST_E_RANGE, item.p,
                         "\"%.*s\" is out of range; there are 1 to %d tasks on 1 to %d nodes",
                         shown, item.p, TASKS_MAX, HOSTS_MAX);
    return 0;
}

int slurm_tasks_parse(const char *value, const char *name, uint32_t nnodes, uint32_t *tasks,
                      struct host_fault *fault, struct err *e)
{
    struct str rest = str_from(value), item;
    struct host_source src = {
        .name = name, .is_option = true, .number = 1, .line = rest, .fault = fault, .e = e};
    uint64_t n = 0;
    while (str_split(&rest, ',', &item)) {
        uint64_t each = 0, times = 0;
        if (read_item(&src, item, &each, &times) != 0)
            return -1;
        for (uint64_t i = n; i < n + times && i < nnodes; i++)
            tasks[i] = (uint32_t)each;
        n += times;
    }
    if (n != nnodes)
        return host_fail(&src, HOST_E_CONFLICT, NULL,
                         "it speaks of %llu nodes, but the node list has %u; the two belong to "
                         "different steps",
                         (unsigned long long)n, nnodes);
    return 0;
}

#include "launcher/io/probe_order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/ambient.h"
#include "launcher/core/node_plan.h"
#include "launcher/io/capture.h"
#include "launcher/io/spawn.h"

enum { DEADLINE_MS = 30000, ANSWER_MAX = 1 << 16 };

bool probe_order_is_needed(const struct facts *facts)
{
    struct gpu_fault fault = {0};
    struct visible seen;
    const struct ambient ambient = node_plan_ambient(facts);
    if (!facts->inventory || facts->inventory->probe)
        return false;
    if (ambient_enumerate(&ambient, facts->inventory, &seen, &fault) == 0) {
        visible_fini(&seen);
        return false;
    }
    return fault.class == GPU_E_ORDER;
}

int probe_order_read(const char *answer, struct inventory *inv, struct err *e)
{
    size_t len = strlen(answer), n = 0;
    struct str rest = {answer, len}, line;
    while (str_split(&rest, '\n', &line))
        n += str_starts(line, "GPU-");
    if (!n)
        return err_set(e, ERR_UNAVAILABLE, "muster-worker --probe names no GPU");
    const char **list = mem_alloc(1, n * sizeof *list + len + 1);
    char *text = (char *)(list + n);
    memcpy(text, answer, len);
    n = 0;
    for (char *next; text; text = next) {
        next = strchr(text, '\n');
        if (next)
            *next++ = '\0';
        text[strcspn(text, " \r")] = '\0';
        if (strncmp(text, "GPU-", 4) == 0)
            list[n++] = text;
    }
    inv->probe = list;
    inv->nprobe = (int)n;
    return 0;
}

/* The environment with every GPU in view, in CUDA's own order. */
static char **child_environment(const struct facts *facts)
{
    static const char order[] = "CUDA_DEVICE_ORDER=FASTEST_FIRST";
    size_t n = 0, k = 0;
    while (facts->environment[n])
        n++;
    char **envp = mem_alloc(n + 2, sizeof *envp);
    for (size_t i = 0; i < n; i++)
        if (strncmp(facts->environment[i], "CUDA_VISIBLE_DEVICES=", 21) != 0
            && strncmp(facts->environment[i], "CUDA_DEVICE_ORDER=", 18) != 0)
            envp[k++] = (char *)(uintptr_t)facts->environment[i];
    envp[k] = (char *)(uintptr_t)order;
    return envp;
}

static void last_line(const char *answer, struct str *line)
{
    struct str rest = str_trim(str_from(answer));
    *line = STR_LIT("it said nothing");
    while (rest.n && str_split(&rest, '\n', line))
        ;
}

static int judge(const struct capture_end *end, const char *answer, struct inventory *inv,
                 struct err *e)
{
    struct str line;
    last_line(answer, &line);
    if (!end->is_complete)
        return capture_late(end, "muster-worker --probe", DEADLINE_MS, e);
    if (!WIFEXITED(end->status) || WEXITSTATUS(end->status) != 0)
        return err_set(e, ERR_UNAVAILABLE, "muster-worker --probe failed: %.*s", STR_ARG(line));
    return probe_order_read(answer, inv, e);
}

int probe_order(const struct facts *facts, struct inventory *inv, struct err *e)
{
    char *argv[] = {(char *)(uintptr_t) "muster-worker", (char *)(uintptr_t) "--probe", NULL};
    char *path = spawn_find("muster-worker", facts, e);
    if (!path)
        return -1;
    struct buf answer;
    struct capture_end end;
    buf_init(&answer, ANSWER_MAX);
    char **envp = child_environment(facts);
    int rc = capture(path, argv, envp, DEADLINE_MS, &answer, &end, e);
    if (rc == 0)
        rc = judge(&end, buf_str(&answer), inv, e);
    buf_fini(&answer);
    free(envp);
    free(path);
    return rc;
}

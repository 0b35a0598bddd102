#include "launcher/io/probe_order.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/ambient.h"
#include "launcher/core/node_plan.h"
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

/* Starts it with both outputs in one pipe; the pipe's read end, or -1. */
static int start(const char *path, const struct facts *facts, pid_t *pid, struct err *e)
{
    char *argv[] = {(char *)(uintptr_t) "muster-worker", (char *)(uintptr_t) "--probe", NULL};
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
    char **envp = child_environment(facts);
    int rc = posix_spawn(pid, path, &actions, NULL, argv, envp);
    free(envp);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (rc == 0)
        return fds[0];
    close(fds[0]);
    return err_sys(e, rc, "%s", path);
}

/* Until the end of the output; false at the deadline, or where there is too much of it. */
static bool read_all(int fd, struct buf *answer)
{
    uint64_t end = now_ms() + DEADLINE_MS;
    for (uint64_t now = now_ms(); now < end && !answer->overflowed; now = now_ms()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char part[4096];
        int ready = poll(&p, 1, (int)(end - now));
        ssize_t n = ready > 0 ? read(fd, part, sizeof part) : -1;
        if (n == 0)
            return true;
        if (n > 0)
            buf_add(answer, part, (size_t)n);
        else if (ready > 0 && errno != EINTR)
            return false;
    }
    return false;
}

static void last_line(const char *answer, struct str *line)
{
    struct str rest = str_trim(str_from(answer));
    *line = STR_LIT("it said nothing");
    while (rest.n && str_split(&rest, '\n', line))
        ;
}

static int judge(bool is_complete, int status, const char *answer, struct inventory *inv,
                 struct err *e)
{
    struct str line;
    last_line(answer, &line);
    if (!is_complete)
        return err_set(e, ERR_UNAVAILABLE, "muster-worker --probe did not end within %d s",
                       DEADLINE_MS / 1000);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(e, ERR_UNAVAILABLE, "muster-worker --probe failed: %.*s", STR_ARG(line));
    return probe_order_read(answer, inv, e);
}

int probe_order(const struct facts *facts, struct inventory *inv, struct err *e)
{
    char *path = spawn_find("muster-worker", facts, e);
    if (!path)
        return -1;
    pid_t pid;
    int fd = start(path, facts, &pid, e);
    free(path);
    if (fd < 0)
        return -1;
    struct buf answer;
    buf_init(&answer, ANSWER_MAX);
    bool is_complete = read_all(fd, &answer);
    close(fd);
    if (!is_complete)
        kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int rc = judge(is_complete, status, buf_str(&answer), inv, e);
    buf_fini(&answer);
    return rc;
}

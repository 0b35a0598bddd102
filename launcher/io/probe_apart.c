#include "launcher/io/probe_apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/probe_nvml.h"
#include "launcher/io/reap.h"
#include "launcher/io/say.h"

enum { LOG_BYTES = 4096 };

/* Shared with the child. */
struct answer {
    bool is_whole;
    int rc, ndevices;
    struct err e;
    char log[LOG_BYTES]; /* lines for standard error */
    struct device devices[NVML_GPUS_MAX];
};

/* ---- the child ---- */

static void keep_line(void *ctx, enum log_level level, const char *line)
{
    struct answer *a = ctx;
    size_t n = strlen(a->log);
    (void)level;
    snprintf(a->log + n, sizeof a->log - n, "%s", line);
}

/* Should it stay, nobody may wait for the end of a stream or a socket that it holds. */
static void let_go(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    syscall(SYS_close_range, STDERR_FILENO + 1u, ~0u, 0u); /* Linux 5.9 */
}

static _Noreturn void child_main(const char *path, bool with_load, struct answer *a)
{
    struct inventory found = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "muster-nvml");
    let_go();
    log_set_sink(keep_line, a);
    a->rc = probe_nvml(path, with_load, &found, &a->e);
    a->ndevices = found.ndevices;
    for (int i = 0; i < found.ndevices; i++)
        a->devices[i] = found.devices[i];
    inventory_fini(&found);
    a->is_whole = true;
    _exit(0);
}

/* ---- muster ---- */

static int late(pid_t pid, int pidfd, int limit_ms, struct err *e)
{
    int status;
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    bool is_left = !reap(pid, pidfd, REAP_MS, &status);
    return err_set(e, ERR_TIMEOUT, "NVML did not answer within %d s%s", limit_ms / 1000,
                   is_left ? ": the driver hangs, and a process that SIGKILL does not end is "
                             "left in it"
                           : "");
}

/* 0 once it has ended. */
static int await(pid_t pid, int pidfd, int limit_ms, int *status, struct err *e)
{
    int patience_ms = limit_ms < PROBE_APART_PATIENCE_MS ? limit_ms : PROBE_APART_PATIENCE_MS;
    if (reap(pid, pidfd, patience_ms, status))
        return 0;
    if (patience_ms < limit_ms)
        log_warn("nvml", "NVML has not answered for %d s; waiting for it, %d s at most",
                 patience_ms / 1000, limit_ms / 1000);
    if (reap(pid, pidfd, limit_ms - patience_ms, status))
        return 0;
    return late(pid, pidfd, limit_ms, e);
}

static int take(const struct answer *a, int status, struct inventory *out, struct err *e)
{
    if (!a->is_whole)
        return err_set(e, ERR_UNAVAILABLE, "NVML ended the process that asked it (%s %d)",
                       WIFSIGNALED(status) ? "signal" : "status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    say(a->log, strlen(a->log), SAY_LINE_MS);
    *e = a->e;
    if (a->rc < 0)
        return -1;
    *out = (struct inventory){.devices = mem_alloc((size_t)a->ndevices, sizeof *out->devices),
                              .ndevices = a->ndevices};
    memcpy(out->devices, a->devices, (size_t)a->ndevices * sizeof *out->devices);
    return 0;
}

int probe_apart(const char *path, bool with_load, int limit_ms, struct inventory *out,
                struct err *e)
{
    struct answer *a =
        mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (a == MAP_FAILED)
        return err_sys(e, errno, "cannot ask NVML");
    int status, rc = -1;
    pid_t pid = fork();
    if (pid == 0)
        child_main(path, with_load, a);
    int pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        err_sys(e, errno, "cannot ask NVML");
        if (pid > 0)
            kill(pid, SIGKILL);
    } else if (await(pid, pidfd, limit_ms, &status, e) == 0) {
        rc = take(a, status, out, e);
    }
    if (pidfd >= 0)
        close(pidfd);
    munmap(a, sizeof *a);
    return rc;
}

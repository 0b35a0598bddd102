/* spawn_floor.c - the least that starting a group can cost, and the measure of launchers.
 *
 *   spawn_floor N PROGRAM ARGS...     starts PROGRAM N times, waits; exits 0 if all did
 *   spawn_floor --measure COMMAND...  runs COMMAND, prints "wall_us cpu_us launcher_kib status"
 *   spawn_floor --memory COMMAND...   the same, sampling memory, which disturbs the times
 *
 * wall: fork to wait4. cpu: user and system time of the command and of all its descendants that
 * were waited for. launcher_kib: the largest VmHWM seen of the command's first process alone,
 * sampled while it runs (wait4's ru_maxrss would be that of its largest descendant).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t usage_us(const struct rusage *r)
{
    return ((int64_t)r->ru_utime.tv_sec + r->ru_stime.tv_sec) * 1000000 + r->ru_utime.tv_usec
           + r->ru_stime.tv_usec;
}

/* posix_spawn uses vfork semantics in glibc: nothing is copied. */
static int spawn_all(long n, char **argv)
{
    int failed = 0;
    long started = 0;
    for (; started < n; started++) {
        pid_t pid;
        int sys = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
        if (sys) {
            fprintf(stderr, "spawn_floor: %s: %s\n", argv[0], strerror(sys));
            failed = 1;
            break;
        }
    }
    while (started > 0) {
        int status;
        if (wait(&status) < 0 && errno != EINTR)
            break;
        started--;
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    return failed;
}

/* VmHWM of a process in KiB; 0 once it has no memory any more, or before its exec. */
static long peak_kib(pid_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *row = strstr(text, "VmHWM:");
    return row ? strtol(row + 6, NULL, 10) : 0;
}

/* Samples until the process has ended, without reaping it. */
static long watch(pid_t pid)
{
    long peak = 0;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (fd >= 0 && poll(&p, 1, 1) == 0) {
        long kib = peak_kib(pid);
        peak = kib > peak ? kib : peak;
    }
    if (fd >= 0)
        close(fd);
    return peak;
}

static int measure(char **argv, int with_memory)
{
    pid_t pid;
    int status = 0;
    struct rusage r;
    int64_t start = now_us();
    int sys = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (sys) {
        fprintf(stderr, "spawn_floor: %s: %s\n", argv[0], strerror(sys));
        return 127;
    }
    long peak = with_memory ? watch(pid) : 0;
    if (wait4(pid, &status, 0, &r) < 0)
        return 1;
    int64_t wall = now_us() - start;
    printf("%" PRId64 " %" PRId64 " %ld %d\n", wall, usage_us(&r), peak,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--measure") == 0)
        return measure(argv + 2, 0);
    if (argc > 2 && strcmp(argv[1], "--memory") == 0)
        return measure(argv + 2, 1);
    char *end = NULL;
    long n = argc > 2 ? strtol(argv[1], &end, 10) : 0;
    if (n < 1 || *end) {
        fprintf(stderr, "usage: spawn_floor N PROGRAM ARGS... | --measure COMMAND... | "
                        "--memory COMMAND...\n");
        return 2;
    }
    return spawn_all(n, argv + 2);
}

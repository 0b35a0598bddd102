#include "launcher/io/guard.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/io/folder.h"
#include "launcher/io/proc_stat.h"

enum {
    SESSIONS_MAX = 4096, /* of more workers, the mark alone tells */
    END_MS = 10000,      /* what survives SIGKILL that long is given up */
    PAUSE_MAX_MS = 64,
    PIPE_FD = 3,
    FOLDERS_MAX = 4,
    PATH_BYTES = 512,
};

/* A soft limit of file locks in this range has no meaning of its own: Linux has not looked at
 * that limit since 2.4.25. */
static const uint64_t mark_base = UINT64_C(1) << 62;

/* Shared by muster and its guard, so that telling it costs no system call. */
struct sessions {
    volatile uint32_t len; /* highest used + 1 */
    volatile pid_t ids[SESSIONS_MAX];
    volatile uint32_t nfolders; /* counted once it is written */
    char folders[FOLDERS_MAX][PATH_BYTES];
    char socket[PATH_BYTES]; /* "" = none */
};

struct guard {
    pid_t pid;
    int pidfd;
    int pipe_write; /* its end is muster's end */
    int stands; /* a pipe, ends once the guard has given up all that was muster's; -1 = has */
    uint64_t mark;
    bool is_dismissed;
    struct sessions *sessions;
};

/* ---- in the guard ---- */

/* Who owns the terminal leads a process group only. */
static bool is_led_by_worker(const struct sessions *s, const struct proc_stat *stat)
{
    for (uint32_t i = 0; i < s->len; i++)
        if (s->ids[i] > 0 && (s->ids[i] == stat->session || s->ids[i] == stat->group))
            return true;
    return false;
}

static bool is_ours(const struct guard *g, pid_t pid, const struct proc_stat *stat)
{
    return is_led_by_worker(g->sessions, stat) || (g->mark && proc_stat_mark(pid) == g->mark);
}

/* By a pidfd, taken before the process is looked at: the number cannot pass to another between
 * the two. Whether there was something to end. */
static bool end_if_ours(const struct guard *g, pid_t pid)
{
    struct proc_stat stat;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool is_found = pidfd >= 0 && proc_stat_read(pid, &stat) && proc_stat_is_alive(&stat)
                    && is_ours(g, pid, &stat);
    if (is_found)
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    if (pidfd >= 0)
        close(pidfd);
    return is_found;
}

static uint32_t end_all(const struct guard *g)
{
    uint32_t n = 0;
    DIR *dir = opendir("/proc");
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid > 1 && pid != getpid())
            n += end_if_ours(g, pid);
    }
    closedir(dir);
    return n;
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
}

/* Until two looks in a row find nothing: a process may be made where a look has passed. */
static void end_job(const struct guard *g)
{
    uint64_t end_ms = now_ms() + END_MS;
    int pause = 1;
    for (int nclean = 0; nclean < 2 && now_ms() < end_ms;) {
        nclean = end_all(g) ? 0 : nclean + 1;
        pause_ms(pause);
        pause = pause < PAUSE_MAX_MS ? pause * 2 : pause;
    }
}

/* Only the pipe stays, and so whoever awaits the guard goes on. Reads no limit: it may be a
 * million. */
static void close_descriptors(int pipe_read)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd < PIPE_FD; fd++)
        dup2(null, fd);
    dup2(pipe_read, PIPE_FD);
    if (syscall(SYS_close_range, PIPE_FD + 1u, ~0u, 0u) == 0) /* Linux 5.9 */
        return;
    for (int fd = PIPE_FD + 1; fd < 4096; fd++)
        close(fd);
}

/* The command line is that of muster. Who ends a job by a part of it (`pkill -9 -f train.py`)
 * means the job, and needs the guard for the rest. Fields 48 and 49 of proc(5). */
static void forget_command_line(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 48; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return;
    uintptr_t start = strtoul(at, &at, 10), end = strtoul(at, NULL, 10);
    static const char name[] = "job-guard";
    if (start && end - start >= sizeof name && end > start) {
        memset((void *)start, 0, end - start);    // NOLINT(performance-no-int-to-ptr)
        memcpy((void *)start, name, sizeof name); // NOLINT(performance-no-int-to-ptr)
    }
}

static _Noreturn void guard_main(const struct guard *g, int pipe_read)
{
    setsid();
    if (g->mark) /* that of an outer job: its guard must not find us */
        setrlimit(RLIMIT_LOCKS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    prctl(PR_SET_PDEATHSIG, SIGCONT); /* it may have been stopped with the job */
    prctl(PR_SET_NAME, "job-guard");
    if (chdir("/") == 0)
        forget_command_line();
    close_descriptors(pipe_read);
    struct pollfd muster = {.fd = PIPE_FD};
    while (!(muster.revents & (POLLHUP | POLLERR | POLLNVAL)))
        poll(&muster, 1, -1);
    if (g->sessions->socket[0])
        unlink(g->sessions->socket);
    end_job(g);
    for (uint32_t i = 0; i < g->sessions->nfolders; i++)
        folder_remove(g->sessions->folders[i]);
    _exit(0);
}

/* ---- in muster ---- */

/* Not every kernel lets us put a mark, or shows it (gVisor does not). */
static bool can_carry(uint64_t mark, const struct rlimit *now)
{
    bool can = setrlimit(RLIMIT_LOCKS, &(struct rlimit){mark, now->rlim_max}) == 0
               && proc_stat_mark(getpid()) == mark;
    setrlimit(RLIMIT_LOCKS, now);
    return can;
}

static uint64_t new_mark(void)
{
    struct rlimit now;
    uint64_t random;
    if (getrlimit(RLIMIT_LOCKS, &now) < 0 || now.rlim_max != RLIM_INFINITY
        || getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        return 0;
    uint64_t mark = mark_base + (random >> 3);
    return can_carry(mark, &now) ? mark : 0;
}

static void guard_free(struct guard *g)
{
    if (g->pipe_write >= 0)
        close(g->pipe_write);
    if (g->stands >= 0)
        close(g->stands);
    if (g->pidfd >= 0)
        close(g->pidfd);
    if (g->sessions != MAP_FAILED)
        munmap(g->sessions, sizeof *g->sessions);
    free(g);
}

/* No signal may find the guard before it is deaf. */
static int fork_guard(struct guard *g, int pipe_read, struct err *e)
{
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    g->pid = fork();
    if (g->pid == 0)
        guard_main(g, pipe_read);
    int why = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (g->pid < 0)
        return err_sys(e, why, "cannot start the guard");
    g->pidfd = (int)syscall(SYS_pidfd_open, g->pid, 0);
    return 0;
}

/* The ends of both pipes that are the guard's. */
static int open_pipes(struct guard *g, int its[2])
{
    int alive[2], stands[2];
    if (pipe2(alive, O_CLOEXEC) < 0)
        return -1;
    its[0] = alive[0];
    g->pipe_write = alive[1];
    if (pipe2(stands, O_CLOEXEC) < 0)
        return -1;
    its[1] = stands[1];
    g->stands = stands[0];
    return 0;
}

struct guard *guard_start(struct err *e)
{
    *e = (struct err){.code = ERR_OK};
    if (getpid() == 1)
        return NULL;
    struct guard *g = mem_alloc(1, sizeof *g);
    int its[2] = {-1, -1};
    g->pidfd = g->pipe_write = g->stands = -1;
    g->mark = new_mark();
    g->sessions = mmap(NULL, sizeof *g->sessions, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int rc = g->sessions == MAP_FAILED ? -1 : open_pipes(g, its);
    if (rc < 0)
        err_sys(e, errno, "cannot start the guard");
    else
        rc = fork_guard(g, its[0], e);
    for (int i = 0; i < 2; i++)
        if (its[i] >= 0)
            close(its[i]);
    if (rc == 0)
        return g;
    guard_free(g);
    return NULL;
}

void guard_await(struct guard *g)
{
    char byte;
    if (!g || g->stands < 0)
        return;
    while (read(g->stands, &byte, 1) < 0 && errno == EINTR)
        ;
    close(g->stands);
    g->stands = -1;
}

pid_t guard_pid(const struct guard *g)
{
    return g->pid;
}

uint64_t guard_mark(const struct guard *g)
{
    return g ? g->mark : 0;
}

void guard_note_session(struct guard *g, uint32_t local_rank, pid_t pid)
{
    if (!g || local_rank >= SESSIONS_MAX)
        return;
    g->sessions->ids[local_rank] = pid;
    if (g->sessions->len <= local_rank)
        g->sessions->len = local_rank + 1;
}

/* The guard is elsewhere: it needs the whole path. "" where that cannot be had. The first byte
 * comes last, so that no part of a path is taken for one. */
static void note_path(char to[PATH_BYTES], const char *path)
{
    char *whole = realpath(path, NULL);
    size_t n = whole ? strlen(whole) : 0;
    if (n && n < PATH_BYTES) {
        snprintf(to + 1, PATH_BYTES - 1, "%s", whole + 1);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        to[0] = whole[0];
    }
    free(whole);
}

void guard_note_folder(struct guard *g, const char *path)
{
    if (!g || g->sessions->nfolders == FOLDERS_MAX)
        return;
    char *to = g->sessions->folders[g->sessions->nfolders];
    note_path(to, path);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    g->sessions->nfolders += to[0] != '\0';
}

void guard_note_socket(struct guard *g, const char *path)
{
    if (g)
        note_path(g->sessions->socket, path);
}

/* It may have been killed and collected: the pidfd then names nobody. */
void guard_dismiss(struct guard *g)
{
    if (g && g->pidfd >= 0 && !g->is_dismissed)
        g->is_dismissed = syscall(SYS_pidfd_send_signal, g->pidfd, SIGKILL, NULL, 0) == 0;
}

void guard_stop(struct guard *g)
{
    if (!g)
        return;
    guard_dismiss(g);
    while (g->is_dismissed && waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard_free(g);
}

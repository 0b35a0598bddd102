#include "launcher/io/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/io/script_line.h"

/* 0: can be executed; else the reason. */
static int executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
    return access(path, X_OK) < 0 ? errno : 0;
}

static char *find_in_path(const char *program, const char *path, int *best)
{
    struct str rest = str_from(path), dir;
    while (str_split(&rest, ':', &dir)) {
        char *candidate =
            dir.n ? mem_printf("%.*s/%s", STR_ARG(dir), program) : mem_printf("./%s", program);
        int why = executable(candidate);
        if (!why)
            return candidate;
        if (why != ENOENT && why != ENOTDIR)
            *best = why;
        free(candidate);
    }
    return NULL;
}

/* muster and its worker are installed side by side. */
static char *find_beside(const char *program)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return NULL;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    char *path = mem_printf("%.*s/%s", (int)(slash - self), self, program);
    if (executable(path) == 0)
        return path;
    free(path);
    return NULL;
}

static char *fail(const char *program, int why, struct err *e)
{
    const char *text = why == EISDIR ? "it is a directory" : strerror(why);
    if (why == ENOENT && !strchr(program, '/') && access(program, F_OK) == 0)
        err_set(e, ERR_NOT_FOUND, "%s: no such program in PATH; the one here is ./%s", program,
                program);
    else if (why == ENOENT || why == ENOTDIR)
        err_set(e, ERR_NOT_FOUND, "%s: no such program%s", program,
                strchr(program, '/') ? "" : " in PATH");
    else
        err_set(e, ERR_NOT_EXECUTABLE, "%s: cannot be executed: %s%s", program, text,
                why == EACCES ? "; chmod +x may be missing" : "");
    if (e)
        e->sys = why;
    return NULL;
}

static char *find(const char *program, const struct facts *facts, struct err *e)
{
    if (!*program)
        return fail("''", ENOENT, e);
    if (strchr(program, '/')) {
        int why = executable(program);
        return why ? fail(program, why, e) : mem_strdup(program);
    }
    const char *path = facts_getenv(facts, "PATH");
    int why = ENOENT;
    char *found = find_in_path(program, path ? path : "/usr/local/bin:/bin:/usr/bin", &why);
    if (!found && strcmp(program, "muster-worker") == 0)
        found = find_beside(program);
    return found ? found : fail(program, why, e);
}

char *spawn_find(const char *program, const struct facts *facts, struct err *e)
{
    char *found = find(program, facts, e);
    if (found && script_line_check(found, e) < 0) {
        free(found);
        found = NULL;
    }
    return found;
}

/* ---- in the child: async-signal-safe calls only ---- */

/* Before the mask is lifted: a handler would run on muster's memory. */
static void reset_signals(const struct spawn *s)
{
    struct sigaction dfl;
    memset(&dfl, 0, sizeof dfl);
    dfl.sa_handler = SIG_DFL;
    for (int signo = 1; signo < NSIG; signo++)
        if (sigismember(&s->changed, signo) == 1)
            sigaction(signo, &dfl, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Every signal is blocked here, SIGTTOU too. */
static bool has_group(const struct spawn *s)
{
    if (s->terminal < 0)
        return setsid() >= 0;
    return setpgid(0, 0) == 0 && (!s->is_foreground || tcsetpgrp(s->terminal, getpid()) == 0);
}

static bool is_set_up(const struct spawn *s)
{
    return has_group(s) && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0
           && (s->in == STDIN_FILENO || dup2(s->in, STDIN_FILENO) >= 0)
           && dup2(s->out, STDOUT_FILENO) >= 0 && dup2(s->err, STDERR_FILENO) >= 0
           && (s->inherited < 0 || fcntl(s->inherited, F_SETFD, 0) == 0)
           && setrlimit(RLIMIT_NOFILE, &s->nofile) == 0;
}

/* Not every kernel lets us (gVisor does not): the worker starts all the same. */
static void put_mark(const struct spawn *s)
{
    if (s->mark)
        setrlimit(RLIMIT_LOCKS, &(struct rlimit){s->mark, RLIM_INFINITY});
}

/* By the kernel's own calls: glibc has one of the two, and a shorter type for it. Preferred,
 * not bound to: a full node would end the worker. */
static void bind_to_place(const struct spawn *s)
{
    enum { NODES = 1024, WORD_BITS = sizeof(unsigned long) * CHAR_BIT };
    if (s->cpus && syscall(SYS_sched_setaffinity, 0, sizeof *s->cpus, s->cpus) < 0)
        s->refusal->cpus = errno;
    if (s->mem_node < 0 || s->mem_node >= NODES)
        return;
    unsigned long nodes[NODES / WORD_BITS] = {0};
    nodes[s->mem_node / WORD_BITS] = 1UL << s->mem_node % WORD_BITS;
    if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, NODES + 1) < 0)
        s->refusal->memory = errno;
}

/* Shares muster's memory until exec, and muster waits: writes to nothing but its own stack and
 * *s->refusal, which muster reads afterwards. */
static _Noreturn void child_main(const struct spawn *s)
{
    if (is_set_up(s) && getppid() == s->parent) {
        reset_signals(s);
        put_mark(s);
        bind_to_place(s);
        execve(s->path, s->argv, s->envp);
    }
    const struct spawn_failure failure = {s->local_rank, errno};
    ssize_t n = write(s->exec_pipe, &failure, sizeof failure);
    (void)n;
    _exit(127);
}

/* ---- in muster ---- */

static int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
}

void spawn_init(struct spawn *s)
{
    memset(s, 0, sizeof *s);
    s->parent = getpid();
    s->mem_node = s->terminal = s->inherited = -1;
    sigemptyset(&s->changed);
    for (int signo = 1; signo < NSIG; signo++) {
        struct sigaction now;
        if (sigaction(signo, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
            sigaddset(&s->changed, signo);
    }
}

int spawn_start(const struct spawn *s, pid_t *pid, int *pidfd, struct err *e)
{
    /* No handler of ours may run in the child: it would run on our memory. */
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    /* docs/design/0006-vfork.md */
    pid_t child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (child == 0)
        child_main(s); // NOLINT(clang-analyzer-unix.Vfork)
    *pid = child;
    int why = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (*pid < 0)
        return err_sys(e, why, "cannot start a process");
    *pidfd = pidfd_of(*pid);
    if (*pidfd >= 0)
        return 0;
    err_sys(e, errno, errno == ENOSYS ? "pidfd_open (Linux 5.3 is needed)" : "pidfd_open");
    kill(*pid, SIGKILL);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

#include "launcher/io/spawn.h"

#include <errno.h>
#include <fcntl.h>
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
    if (why == ENOENT || why == ENOTDIR)
        err_set(e, ERR_NOT_FOUND, "%s: no such program%s", program,
                strchr(program, '/') ? "" : " in PATH");
    else
        err_set(e, ERR_NOT_EXECUTABLE, "%s: cannot be executed: %s%s", program, text,
                why == EACCES ? "; chmod +x may be missing" : "");
    if (e)
        e->sys = why;
    return NULL;
}

char *spawn_find(const char *program, const struct facts *facts, struct err *e)
{
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

/* ---- in the child: async-signal-safe calls only ---- */

static void reset_signals(void)
{
    struct sigaction dfl;
    memset(&dfl, 0, sizeof dfl);
    dfl.sa_handler = SIG_DFL;
    for (int signo = 1; signo < NSIG; signo++)
        sigaction(signo, &dfl, NULL); /* fails for KILL, STOP and libc's own; as it should */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Puts fd at target, also where fd is the target already. */
static int place(int fd, int target)
{
    return fd == target ? fcntl(fd, F_SETFD, 0) : dup2(fd, target);
}

static void child_main(const struct spawn *s)
{
    struct spawn_failure failure = {s->local_rank, 0};
    /* A standard descriptor that muster was started without may have been reused below 3: lift
     * ours out of the way. */
    int in = fcntl(s->in, F_DUPFD_CLOEXEC, 3), out = fcntl(s->out, F_DUPFD_CLOEXEC, 3);
    int err = fcntl(s->err, F_DUPFD_CLOEXEC, 3);
    int is_ok = in >= 0 && out >= 0 && err >= 0 && setsid() >= 0
                && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    if (is_ok && getppid() != s->parent)
        _exit(127); /* muster died before the signal was armed */
    is_ok = is_ok && place(in, 0) >= 0 && place(out, 1) >= 0 && place(err, 2) >= 0
            && setrlimit(RLIMIT_NOFILE, &s->nofile) == 0;
    if (is_ok) {
        reset_signals();
        execve(s->path, s->argv, s->envp);
    }
    failure.sys = errno;
    ssize_t n = write(s->exec_pipe, &failure, sizeof failure);
    (void)n;
    _exit(127);
}

/* ---- in muster ---- */

static int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
}

int spawn_start(const struct spawn *s, pid_t *pid, int *pidfd, struct err *e)
{
    /* No handler of ours may run in the child before its dispositions are reset. */
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    *pid = fork();
    if (*pid == 0)
        child_main(s);
    int why = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (*pid < 0)
        return err_sys(e, why, "cannot fork");
    *pidfd = pidfd_of(*pid);
    if (*pidfd >= 0)
        return 0;
    err_sys(e, errno, "pidfd_open (Linux 5.3 or later is needed)");
    kill(*pid, SIGKILL);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

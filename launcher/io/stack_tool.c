#include "launcher/io/stack_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

enum { WORDS_MAX = 16, READ_BYTES = 16 * 1024 };

static const char pid_word[] = "PID"; /* stands for the process */

static const struct {
    const char *words[WORDS_MAX];
} tools[] = {
    [STACK_PY_SPY] = {{"py-spy", "dump", "--pid", pid_word}},
    [STACK_EU_STACK] = {{"eu-stack", "-p", pid_word}},
    /* one line a frame; nothing is fetched, and no file of the user's is run */
    [STACK_GDB] = {{"gdb", "-nx", "-batch", "-ex", "set pagination off", "-ex",
                    "set print frame-arguments presence", "-ex", "set width 0", "-ex",
                    "thread apply all bt 50", "-p", pid_word}},
};

const char *stack_tool_name(enum stack_format tool)
{
    return tools[tool].words[0];
}

/* ---- while it runs ---- */

static void maybe_finish(struct stack_tool *t)
{
    if (t->fd < 0 && t->pidfd < 0)
        t->on_end(t->ctx);
}

static void close_fd(struct watch *watch, int *fd)
{
    if (*fd < 0)
        return;
    watch_forget(watch);
    close(*fd);
    *fd = -1;
}

static void on_readable(void *ctx)
{
    struct stack_tool *t = ctx;
    char part[READ_BYTES];
    ssize_t n = read(t->fd, part, sizeof part);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        buf_add(&t->text, part, (size_t)n); /* what is too long is dropped */
        return;
    }
    close_fd(&t->out, &t->fd);
    maybe_finish(t);
}

/* Its zombie is collected with muster's other children. */
static void on_exited(void *ctx)
{
    struct stack_tool *t = ctx;
    close_fd(&t->exit, &t->pidfd);
    maybe_finish(t);
}

/* With what it has started: as long as nobody has collected it, which only muster does, the
 * number of its group is its own. */
static void end(struct stack_tool *t)
{
    if (t->pidfd >= 0 && syscall(SYS_pidfd_send_signal, t->pidfd, SIGKILL, NULL, 0) == 0)
        kill(-t->pid, SIGKILL);
    close_fd(&t->out, &t->fd);
    close_fd(&t->exit, &t->pidfd);
}

void stack_tool_kill(struct stack_tool *t)
{
    end(t);
    t->on_end(t->ctx);
}

void stack_tool_close(struct stack_tool *t)
{
    if (!t->host)
        return;
    end(t);
    buf_fini(&t->text);
    t->host = NULL;
}

/* ---- the start ---- */

static void fill_argv(enum stack_format tool, char *pid, char **argv)
{
    size_t n = 0;
    for (; tools[tool].words[n]; n++)
        argv[n] = tools[tool].words[n] == pid_word
                      ? pid
                      : (char *)(uintptr_t)tools[tool].words[n]; /* execve does not write */
    argv[n] = NULL;
}

static int spawn_tool(struct stack_tool *t, const char *path, enum stack_format tool, pid_t pid,
                      const int fds[2], struct err *e)
{
    char number[16], *argv[WORDS_MAX];
    const char *found = facts_getenv(t->host->facts, "PATH");
    char *where = mem_printf("PATH=%s", found ? found : "/usr/local/bin:/bin:/usr/bin");
    char language[] = "LC_ALL=C", *const envp[] = {where, language, NULL};
    const struct helper_streams streams = {t->host->dev_null, fds[1], fds[1]};
    snprintf(number, sizeof number, "%d", (int)pid);
    fill_argv(tool, number, argv);
    int rc = helper_start(t->host, path, argv, envp, &streams, &t->pid, &t->pidfd, e);
    free(where);
    return rc;
}

int stack_tool_start(struct stack_tool *t, const struct helper_host *host,
                     enum stack_format tool, pid_t pid, void (*on_end)(void *ctx), void *ctx,
                     struct err *e)
{
    int fds[2];
    *t = (struct stack_tool){.host = host, .pidfd = -1, .fd = -1, .ctx = ctx, .on_end = on_end};
    buf_init(&t->text, STACK_TOOL_BYTES_MAX);
    char *path = spawn_find(stack_tool_name(tool), host->facts, e);
    if (!path)
        return -1;
    if (pipe2(fds, O_CLOEXEC) < 0) {
        free(path);
        return err_sys(e, errno, "cannot make a pipe");
    }
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    int rc = spawn_tool(t, path, tool, pid, fds, e);
    free(path);
    close(fds[1]);
    t->fd = fds[0];
    if (rc == 0 && watch_start(host->watches, &t->out, t->fd, on_readable, t, e) == 0
        && watch_start(host->watches, &t->exit, t->pidfd, on_exited, t, e) == 0)
        return 0;
    stack_tool_close(t);
    t->host = host;
    return -1;
}

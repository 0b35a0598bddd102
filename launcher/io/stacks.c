#include "launcher/io/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/io/proc_look.h"

enum {
    TOOLS_AT_ONCE = 4,
    TOOL_MS = 5000,
    ALL_TOOLS_MS = 10000,
    ABORT_MS = 3000,
    CAPTURE_BYTES = 64 * 1024,
    SCREEN_LINES = 8, /* of one rank's stack */
    SCREEN_RANKS = 16,
    OTHERS_MAX = 4, /* processes of a rank besides its main one */
};

enum subject_state { SUBJECT_WAITING, SUBJECT_TOOL, SUBJECT_ABORTING, SUBJECT_DONE };

struct subject {
    struct stacks *stacks;
    struct stacks_subject who;
    enum subject_state state;
    struct proc_look main; /* pid 0 = /proc shows none that lives */
    struct stack_tool tool;
    enum stack_format format; /* of the tool that runs or was the last */
    uint64_t tool_end_ms;     /* 0 = it was killed: no time is left */
    int pidfd;                /* of one that was aborted, -1 = none */
    struct watch exit;
    struct buf captured;
    struct buf where;
    const char *why_none; /* why there is no stack; NULL = there is */
};

struct stacks {
    struct helper_host host;
    struct stacks_events events;
    const char *choice; /* "auto", "none" or a tool */
    struct proc_looks looks;
    struct subject *subjects;
    size_t n, ndone, ntools;
    bool is_running, may_abort, is_advancing;
    uint64_t deadline_ms;
    bool *is_told; /* by local rank: its Python stack has been shown */
    uint32_t ntold;
};

struct stacks *stacks_new(const struct helper_host *host, const char *tool,
                          const struct stacks_events *events)
{
    struct stacks *s = mem_alloc(1, sizeof *s);
    s->host = *host;
    s->choice = tool;
    s->events = *events;
    s->deadline_ms = UINT64_MAX;
    return s;
}

static void free_subjects(struct stacks *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct subject *x = &s->subjects[i];
        stack_tool_close(&x->tool);
        if (x->pidfd >= 0) {
            watch_forget(&x->exit);
            close(x->pidfd);
        }
        buf_fini(&x->captured);
        buf_fini(&x->where);
    }
    free(s->subjects);
    proc_looks_fini(&s->looks);
    s->subjects = NULL;
    s->n = 0;
}

void stacks_free(struct stacks *s)
{
    if (!s)
        return;
    free_subjects(s);
    free(s->is_told);
    free(s);
}

bool stacks_is_running(const struct stacks *s)
{
    return s->is_running;
}

/* ---- words ---- */

static void add_proc(const struct proc_look *p, struct buf *out)
{
    buf_addf(out, "pid %d (%s), %ld thread%s: ", (int)p->pid, p->name, p->nthreads,
             p->nthreads == 1 ? "" : "s");
    stack_where_kernel(p->state, p->syscall, p->wchan, out);
}

/* At most nlines lines of text (0 = all), each behind an indent. */
static void add_lines(struct str text, int nlines, struct buf *out)
{
    struct str line;
    for (int i = 0; (!nlines || i < nlines) && str_split(&text, '\n', &line); i++)
        if (line.n)
            buf_addf(out, "    %.*s\n", STR_ARG(line));
}

static struct str text_of(const struct buf *b)
{
    return (struct str){b->len ? b->data : NULL, b->len};
}

static void add_others(const struct stacks *s, const struct subject *x, struct buf *out)
{
    int n = 0;
    for (size_t i = 0; i < s->looks.len; i++) {
        const struct proc_look *p = &s->looks.items[i];
        if (p->worker != x->who.pid || p->pid == x->main.pid || ++n > OTHERS_MAX)
            continue;
        buf_adds(out, "    with ");
        add_proc(p, out);
        buf_addc(out, '\n');
    }
    if (n > OTHERS_MAX)
        buf_addf(out, "    and %d more processes\n", n - OTHERS_MAX);
}

static const struct buf *stack_of(const struct subject *x)
{
    return x->format == STACK_FAULTHANDLER ? &x->captured : &x->tool.text;
}

static void add_subject(const struct stacks *s, const struct subject *x, bool is_long,
                        struct buf *out)
{
    buf_addf(out, "muster: rank %u: ", x->who.rank);
    if (!x->main.pid) {
        buf_adds(out, "/proc shows no live process of it\n");
        return;
    }
    if (s->may_abort) {
        buf_addf(out, "%s (Python's own stack, by SIGABRT)\n", buf_str(&x->where));
        if (is_long)
            add_lines(text_of(&x->captured), 0, out);
        return;
    }
    add_proc(&x->main, out);
    buf_addc(out, '\n');
    if (x->main.kernel[0])
        buf_addf(out, "    kernel: %s\n", x->main.kernel);
    if (x->why_none)
        buf_addf(out, "    no stack: %s\n", x->why_none);
    else
        add_lines(is_long ? text_of(stack_of(x))
                          : stack_main_thread(x->format, text_of(stack_of(x))),
                  is_long ? 0 : SCREEN_LINES, out);
    add_others(s, x, out);
}

static bool is_told(const struct stacks *s, uint32_t local_rank)
{
    return local_rank < s->ntold && s->is_told[local_rank];
}

/* ---- the end ---- */

static void finish(struct stacks *s)
{
    struct buf screen, file;
    buf_init(&screen, 0);
    buf_init(&file, 0);
    s->is_running = false;
    s->deadline_ms = UINT64_MAX;
    size_t nshown = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct subject *x = &s->subjects[i];
        if (s->may_abort) {
            s->events.on_capture(s->events.ctx, x->who.local_rank, false);
            if (!x->where.len)
                continue;
        }
        if (x->main.pid)
            s->events.on_rank(s->events.ctx, x->who.local_rank, buf_str(&x->where));
        add_subject(s, x, true, &file);
        if (nshown++ < SCREEN_RANKS)
            add_subject(s, x, false, &screen);
    }
    if (nshown > SCREEN_RANKS)
        buf_addf(&screen, "muster: and %zu more ranks (--log-dir has a file with all)\n",
                 nshown - SCREEN_RANKS);
    s->events.on_end(s->events.ctx, buf_str(&screen), buf_str(&file));
    buf_fini(&screen);
    buf_fini(&file);
}

static void done(struct subject *x)
{
    x->state = SUBJECT_DONE;
    x->stacks->ndone++;
}

/* ---- tools ---- */

static bool is_wanted(const struct stacks *s, enum stack_format tool)
{
    return strcmp(s->choice, "auto") == 0 || strcmp(s->choice, stack_tool_name(tool)) == 0;
}

static void on_tool_end(void *ctx);

/* The first tool from `from` on that can be started; false if there is none. */
static bool start_tool(struct subject *x, int from)
{
    struct stacks *s = x->stacks;
    struct err e;
    for (int tool = from; tool <= STACK_GDB; tool++) {
        x->format = (enum stack_format)tool;
        if (!is_wanted(s, x->format) || (x->format == STACK_PY_SPY && !x->main.is_python))
            continue;
        stack_tool_close(&x->tool);
        if (stack_tool_start(&x->tool, &s->host, x->format, x->main.pid, on_tool_end, x, &e)
            == 0) {
            x->state = SUBJECT_TOOL;
            x->tool_end_ms = now_ms() + TOOL_MS;
            s->ntools++;
            return true;
        }
    }
    return false;
}

static void advance(struct stacks *s);

/* The better words replace those of /proc. False if the text shows no stack. */
static bool take_stack(struct subject *x)
{
    struct buf where;
    buf_init(&where, 0);
    stack_where(x->format, text_of(stack_of(x)), &where);
    if (!where.len) {
        buf_fini(&where);
        return false;
    }
    buf_fini(&x->where);
    x->where = where;
    return true;
}

/* A tool that was not allowed to look says so in its own words and shows no frame: the next one
 * may do better. */
static void on_tool_end(void *ctx)
{
    struct subject *x = ctx;
    struct stacks *s = x->stacks;
    s->ntools--;
    bool is_in_time = x->tool_end_ms != 0;
    if (take_stack(x)) {
        x->why_none = NULL;
        if (x->format == STACK_PY_SPY && x->who.local_rank < s->ntold)
            s->is_told[x->who.local_rank] = true;
        done(x);
    } else if (!is_in_time || !start_tool(x, (int)x->format + 1)) {
        x->why_none = is_in_time ? "no tool could read it (ptrace may be forbidden here)"
                                 : "the tool took too long";
        done(x);
    }
    if (!s->is_advancing)
        advance(s);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static const char *why_no_tool(const struct stacks *s)
{
    return strcmp(s->choice, "none") == 0   ? "--stack-tool none"
           : strcmp(s->choice, "auto") == 0 ? "none of py-spy, eu-stack and gdb is installed"
                                            : "that --stack-tool cannot be started";
}

/* Starts what may be started; ends the survey when all have been seen. */
static void advance(struct stacks *s)
{
    s->is_advancing = true;
    for (size_t i = 0; i < s->n && s->ntools < TOOLS_AT_ONCE; i++) {
        struct subject *x = &s->subjects[i];
        if (x->state != SUBJECT_WAITING)
            continue;
        if (x->main.pid && start_tool(x, STACK_PY_SPY))
            continue;
        x->why_none = why_no_tool(s);
        done(x);
    }
    s->is_advancing = false;
    if (s->ndone == s->n)
        finish(s);
}

/* ---- Python prints its own ---- */

static bool is_anyone_aborting(const struct stacks *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->subjects[i].state == SUBJECT_ABORTING && s->subjects[i].pidfd >= 0)
            return true;
    return false;
}

static void on_aborted(void *ctx)
{
    struct subject *x = ctx;
    watch_forget(&x->exit);
    close(x->pidfd);
    x->pidfd = -1;
    if (!is_anyone_aborting(x->stacks)) /* last words are still read in this round */
        x->stacks->deadline_ms = 0;
}

/* No core: nobody has asked for one, and that of a GPU worker takes minutes to write. */
static void abort_python(struct subject *x)
{
    struct stacks *s = x->stacks;
    struct err e;
    x->pidfd = (int)syscall(SYS_pidfd_open, x->main.pid, 0);
    if (x->pidfd < 0)
        return;
    if (!proc_look_is_same(&x->main) /* who the pidfd is of */
        || watch_start(s->host.watches, &x->exit, x->pidfd, on_aborted, x, &e) < 0) {
        close(x->pidfd);
        x->pidfd = -1;
        return;
    }
    prlimit(x->main.pid, RLIMIT_CORE, &(struct rlimit){0, 0}, NULL);
    x->format = STACK_FAULTHANDLER;
    x->state = SUBJECT_ABORTING;
    s->events.on_capture(s->events.ctx, x->who.local_rank, true);
    syscall(SYS_pidfd_send_signal, x->pidfd, SIGABRT, NULL, 0);
}

static void begin_abort(struct stacks *s, uint64_t now_ms)
{
    for (size_t i = 0; i < s->n; i++) {
        struct subject *x = &s->subjects[i];
        if (x->main.pid && x->main.is_python && !is_told(s, x->who.local_rank))
            abort_python(x);
        if (x->state != SUBJECT_ABORTING)
            done(x);
    }
    s->deadline_ms = now_ms + ABORT_MS;
    if (s->ndone == s->n)
        finish(s);
}

void stacks_stderr(struct stacks *s, uint32_t local_rank, const char *p, size_t n)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->subjects[i].who.local_rank == local_rank)
            buf_add(&s->subjects[i].captured, p, n);
}

static void finish_abort(struct stacks *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct subject *x = &s->subjects[i];
        if (x->state != SUBJECT_ABORTING)
            continue;
        take_stack(x);
        done(x);
    }
    finish(s);
}

/* ---- time ---- */

uint64_t stacks_deadline(const struct stacks *s)
{
    uint64_t due = s->is_running ? s->deadline_ms : UINT64_MAX;
    for (size_t i = 0; s->is_running && i < s->n; i++)
        if (s->subjects[i].state == SUBJECT_TOOL && s->subjects[i].tool_end_ms)
            due = least(due, s->subjects[i].tool_end_ms);
    return due;
}

void stacks_tick(struct stacks *s, uint64_t now_ms)
{
    if (!s->is_running || now_ms < stacks_deadline(s))
        return;
    if (s->may_abort) {
        finish_abort(s);
        return;
    }
    bool is_all_over = now_ms >= s->deadline_ms;
    s->is_advancing = true;
    for (size_t i = 0; i < s->n; i++) {
        struct subject *x = &s->subjects[i];
        if (x->state == SUBJECT_TOOL && (is_all_over || now_ms >= x->tool_end_ms)) {
            x->tool_end_ms = 0;
            stack_tool_kill(&x->tool);
        } else if (x->state == SUBJECT_WAITING && is_all_over) {
            x->why_none = "there was no time left for a tool";
            done(x);
        }
    }
    s->is_advancing = false;
    advance(s);
}

/* ---- the beginning ---- */

static void see(struct subject *x)
{
    const struct proc_look *main = proc_look_main(&x->stacks->looks, x->who.pid);
    if (!main)
        return;
    x->main = *main;
    if (!x->stacks->may_abort)
        stack_where_kernel(main->state, main->syscall, main->wchan, &x->where);
}

static void forget_told(struct stacks *s, const struct stacks_subject *subjects, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->ntold = subjects[i].local_rank >= s->ntold ? subjects[i].local_rank + 1 : s->ntold;
    free(s->is_told);
    s->is_told = mem_alloc(s->ntold, sizeof *s->is_told);
}

void stacks_begin(struct stacks *s, const struct stacks_subject *subjects, size_t n,
                  bool may_abort, uint64_t now_ms)
{
    pid_t *workers = mem_alloc(n, sizeof *workers);
    for (size_t i = 0; i < n; i++)
        workers[i] = subjects[i].pid;
    free_subjects(s);
    if (!may_abort)
        forget_told(s, subjects, n);
    s->is_running = true;
    s->may_abort = may_abort;
    s->n = n;
    s->ndone = s->ntools = 0;
    s->subjects = mem_alloc(n, sizeof *s->subjects);
    s->deadline_ms = now_ms + ALL_TOOLS_MS;
    proc_look_workers(workers, n, &s->looks);
    free(workers);
    for (size_t i = 0; i < n; i++) {
        struct subject *x = &s->subjects[i];
        *x = (struct subject){.stacks = s, .who = subjects[i], .pidfd = -1};
        buf_init(&x->captured, CAPTURE_BYTES);
        buf_init(&x->where, 0);
        see(x);
    }
    if (may_abort)
        begin_abort(s, now_ms);
    else
        advance(s);
}

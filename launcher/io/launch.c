#include "launcher/io/launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/note.h"
#include "launcher/core/compat.h"
#include "launcher/core/streams.h"
#include "launcher/core/worker_env.h"
#include "launcher/io/say.h"
#include "launcher/io/stdin_fan.h"
#include "launcher/io/held_ports.h"
#include "launcher/io/terminal.h"

struct launch {
    const struct options *opt;
    const struct facts *facts;
    const struct node_plan *plan; /* of this generation */
    struct spawn spawn;           /* what all workers have in common */
    struct worker_env *env;
    char *program;   /* path of the program */
    char **wrappers; /* path of what a wrapped worker executes; NULL without --wrap */
    uint32_t nwrappers;
    struct held_ports ports; /* of presets of --compat */
    int dev_null, input;
    struct stdin_fan *fan;     /* NULL = nobody shares standard input */
    struct terminal *terminal; /* NULL = no worker owns it */
    struct child *owner;       /* of the terminal; NULL = none now */
    struct spawn_refusal said; /* what has been said: once is enough */
};

/* What a worker is about to get. */
struct ends {
    int in, out[2], err[2];
    struct log_file *logs[2];
};

/* ---- what is started ---- */

/* A script that is missing: the interpreter would say so with a status of its own. */
static int check_script(const struct launch *l, const struct node_plan *plan, struct err *e)
{
    const char *script = l->opt->program[0];
    if (l->opt->is_module || strcmp(plan->argv[0], script) == 0 || access(script, F_OK) == 0)
        return 0;
    return err_set(e, ERR_NOT_FOUND, "%s: no such program", script);
}

static void free_wrappers(struct launch *l)
{
    for (uint32_t i = 0; i < l->nwrappers; i++)
        free(l->wrappers[i]);
    free(l->wrappers);
    l->wrappers = NULL;
    l->nwrappers = 0;
}

/* Before anything starts: who is put before the program, by rank, must be there as well. */
static int find_wrappers(struct launch *l, const struct node_plan *plan, struct err *e)
{
    free_wrappers(l);
    if (!l->opt->wrap)
        return 0;
    l->nwrappers = plan->order.nworkers;
    l->wrappers = mem_alloc(l->nwrappers, sizeof *l->wrappers);
    const char *last = NULL;
    for (uint32_t i = 0; i < l->nwrappers; i++) {
        if (!plan->workers[i].wrapped)
            continue;
        const char *name = plan->workers[i].wrapped[0];
        if (last && strcmp(name, plan->workers[i - 1].wrapped[0]) == 0)
            l->wrappers[i] = mem_strdup(last);
        else
            l->wrappers[i] = spawn_find(name, l->facts, e);
        if (!l->wrappers[i])
            return err_wrap(e, "--wrap");
        last = i + 1 < l->nwrappers && plan->workers[i + 1].wrapped ? l->wrappers[i] : NULL;
    }
    return 0;
}

int launch_find(struct launch *l, const struct node_plan *plan, struct err *e)
{
    free(l->program);
    l->program = spawn_find(plan->argv[0], l->facts, e);
    if (!l->program || check_script(l, plan, e) < 0)
        return -1;
    return find_wrappers(l, plan, e);
}

const char *launch_program(const struct launch *l)
{
    return l->program;
}

/* ---- input and output ---- */

/* Who gets more than a pipe or an empty file as its input. */
static int prepare_input(struct launch *l, const struct node_plan *plan,
                         struct watch_set *watches, struct err *e)
{
    bool has_owner = false;
    for (uint32_t i = 0; i < plan->order.nworkers; i++)
        has_owner = has_owner || plan->workers[i].owns_terminal;
    if (has_owner && !l->terminal && !(l->terminal = terminal_open(e)))
        return -1;
    if (l->terminal)
        sigaddset(&l->spawn.changed, SIGTTOU);
    else if (streams_is_input_shared(l->opt) && !l->fan)
        l->fan = stdin_fan_new(watches, l->input);
    if (l->fan)
        stdin_fan_begin(l->fan, plan->order.nworkers);
    return 0;
}

int launch_prepare(struct launch *l, const struct node_plan *plan, struct watch_set *watches,
                   const char *error_dir, struct err *e)
{
    l->plan = plan;
    worker_env_free(l->env);
    l->env = worker_env_new(l->facts, plan, error_dir);
    held_ports_close(&l->ports);
    if (held_ports_open(&l->ports, compat_ports(plan->compat, plan->order.nworkers), e) < 0)
        return -1;
    worker_env_set_ports(l->env, l->ports.numbers);
    if (plan->omp_why && !facts_getenv(l->facts, "OMP_NUM_THREADS"))
        log_debug("node", "%s", plan->omp_why);
    return prepare_input(l, plan, watches, e);
}

void launch_set_notify(struct launch *l, const char *address)
{
    worker_env_set_notify(l->env, address);
}

static int open_pipe(int fds[2], struct err *e)
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot make a pipe (open files: see ulimit -n)");
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    return 0;
}

static void close_pair(const int fds[2])
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* A job in the background leaves the terminal's keys to the shell. Workers are in sessions of
 * their own, where the kernel does not see to that. */
static bool is_in_background(void)
{
    pid_t group = tcgetpgrp(STDIN_FILENO);
    return group >= 0 && group != getpgrp();
}

/* One rank reads standard input, or each gets its copy; the others read an empty file. A worker
 * that owns the terminal is not to be robbed of its keys. */
static int open_input(struct launch *l, const struct worker_plan *w, int *in, struct err *e)
{
    *in = l->dev_null;
    if (l->terminal || is_in_background())
        return 0;
    if (l->fan)
        return stdin_fan_add(l->fan, w->local_rank, in, e);
    if (streams_reads_input(l->opt, w->rank))
        *in = l->input;
    return 0;
}

static void lend_terminal(const struct launch *l, struct spawn *s)
{
    s->terminal = s->in = s->out = s->err = terminal_fd(l->terminal);
    s->is_foreground = terminal_can_give(l->terminal);
}

static void close_input(const struct launch *l, int in)
{
    if (in > STDERR_FILENO && in != l->dev_null && in != l->input)
        close(in);
}

static int ends_open(struct launch *l, const struct job_files *files,
                     const struct worker_plan *w, struct ends *ends, struct err *e)
{
    *ends = (struct ends){-1, {-1, -1}, {-1, -1}, {NULL, NULL}};
    if (job_files_open(files, w->rank, streams_logged(l->opt, w->local_rank), ends->logs, e)
        < 0)
        return -1;
    if (open_pipe(ends->out, e) < 0 || open_pipe(ends->err, e) < 0)
        return -1;
    return open_input(l, w, &ends->in, e);
}

/* Nothing was started. */
static void ends_close(const struct launch *l, const struct ends *ends)
{
    close_input(l, ends->in);
    close_pair(ends->out);
    close_pair(ends->err);
    log_file_close(ends->logs[0]);
    log_file_close(ends->logs[1]);
}

/* What the worker has now is closed here; the rest becomes the child's. */
static void ends_hand_over(const struct launch *l, const struct ends *ends,
                           struct child_start *start)
{
    close_input(l, ends->in);
    close(ends->out[1]);
    close(ends->err[1]);
    start->out = ends->out[0];
    start->err = ends->err[0];
    start->log_out = ends->logs[0];
    start->log_err = ends->logs[1];
}

/* ---- a worker ---- */

static void say_refusal(struct launch *l, uint32_t rank, const struct spawn_refusal *r)
{
    if (r->cpus && !l->said.cpus)
        say_note("node", &(struct note){
                             .id = NOTE_CPU_REFUSED, .rank = rank, .text = strerror(r->cpus)});
    if (r->memory && !l->said.memory)
        say_note("node", &(struct note){.id = NOTE_MEM_POLICY, .text = strerror(r->memory)});
    l->said.cpus = l->said.cpus ? l->said.cpus : r->cpus;
    l->said.memory = l->said.memory ? l->said.memory : r->memory;
}

/* s: what all have in common, with the environment; now also what this one has of its own. */
static void fill(const struct launch *l, const struct worker_plan *w, const struct ends *ends,
                 struct spawn *s)
{
    s->path = w->wrapped ? l->wrappers[w->local_rank] : l->program;
    s->argv = node_plan_argv(l->plan, w->local_rank);
    s->in = ends->in;
    s->out = ends->out[1];
    s->err = ends->err[1];
    s->local_rank = w->local_rank;
    s->mem_node = w->mem_node;
    if (w->owns_terminal)
        lend_terminal(l, s);
}

static struct child_start describe(const struct launch *l, const struct job_files *files,
                                   const struct worker_plan *w)
{
    return (struct child_start){.local_rank = w->local_rank,
                                .rank = w->rank,
                                .shown = streams_shown(l->opt, w->rank, w->local_rank),
                                .bare = STREAM_BOTH & ~streams_prefixed(l->opt, w->local_rank),
                                .filtered = files->filtered,
                                .filters = l->opt->torchrun.filters};
}

static void note_started(struct launch *l, const struct worker_plan *w, struct guard *guard,
                         struct child *child)
{
    if (w->owns_terminal) {
        terminal_note_given(l->terminal, child_pid(child));
        l->owner = child;
    }
    guard_note_session(guard, w->local_rank, child_pid(child));
}

struct child *launch_worker(struct launch *l, const struct launch_with *with,
                            uint32_t local_rank, struct err *e)
{
    const struct worker_plan *w = &l->plan->workers[local_rank];
    struct child_start start = describe(l, with->files, w);
    struct spawn_refusal refusal = {0, 0};
    struct cpu_set cpus;
    struct ends ends;
    struct spawn s = l->spawn;
    assert(with->exec_pipe >= 0); /* PREPARE comes before SPAWN, REAP after it */
    s.envp = worker_env_build(l->env, local_rank);
    s.exec_pipe = with->exec_pipe;
    s.cpus = w->cpus && cpu_set_parse(str_from(w->cpus), &cpus) == 0 ? &cpus : NULL;
    s.refusal = &refusal;
    if (ends_open(l, with->files, w, &ends, e) < 0
        || mpi_host_join(with->mpi, local_rank, &s.envp, &s.inherited, e) < 0) {
        ends_close(l, &ends);
        return NULL;
    }
    fill(l, w, &ends, &s);
    if (spawn_start(&s, &start.pid, &start.pidfd, e) < 0) {
        ends_close(l, &ends);
        return NULL;
    }
    ends_hand_over(l, &ends, &start);
    struct child *child = child_new(with->host, &start, e);
    if (!child)
        return NULL;
    note_started(l, w, with->guard, child);
    say_refusal(l, w->rank, &refusal);
    return child;
}

void launch_done(struct launch *l)
{
    if (l->fan)
        stdin_fan_start(l->fan);
}

void launch_ended(struct launch *l, uint32_t local_rank, const struct child *child)
{
    if (l->fan)
        stdin_fan_drop(l->fan, local_rank);
    if (!l->owner || l->owner != child)
        return;
    l->owner = NULL;
    terminal_take(l->terminal);
}

void launch_reaped(struct launch *l)
{
    if (l->fan)
        stdin_fan_begin(l->fan, 0);
}

void launch_continue(struct launch *l, const struct child *child)
{
    if (child == l->owner)
        terminal_give_again(l->terminal);
}

bool launch_was_suspended(struct launch *l)
{
    return l->owner && child_was_suspended(l->owner);
}

/* ---- life ---- */

struct launch *launch_new(const struct options *opt, const struct facts *facts,
                          const struct rlimit *nofile, int dev_null, int input)
{
    struct launch *l = mem_alloc(1, sizeof *l);
    l->opt = opt;
    l->facts = facts;
    l->dev_null = dev_null;
    l->input = input;
    spawn_init(&l->spawn);
    l->spawn.nofile = *nofile;
    return l;
}

const struct spawn *launch_spawn(const struct launch *l)
{
    return &l->spawn;
}

void launch_set_mark(struct launch *l, uint64_t mark)
{
    l->spawn.mark = mark;
}

void launch_close(struct launch *l)
{
    terminal_close(l->terminal);
    stdin_fan_free(l->fan);
    l->terminal = NULL;
    l->fan = NULL;
}

void launch_free(struct launch *l)
{
    held_ports_close(&l->ports);
    worker_env_free(l->env);
    free(l->program);
    free_wrappers(l);
    free(l);
}

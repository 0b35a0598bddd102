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
#include "launcher/io/launch_paths.h"
#include "launcher/io/say.h"
#include "launcher/io/stdin_fan.h"
#include "launcher/io/held_ports.h"
#include "launcher/io/spawn_crew.h"
#include "launcher/io/terminal.h"

enum {
    SLOTS = 16,           /* so many workers may be on their way */
    OWN_DESCRIPTORS = 64, /* about, beside those of workers */
    WORKER_DESCRIPTORS = 3,
};

/* What a worker is about to get. */
struct ends {
    int in, out[2], err[2];
    struct log_file *logs[2];
};

/* A worker that is being started. */
struct slot {
    uint32_t local_rank;
    struct spawn_task task;
    struct ends ends;
    char **envp; /* its own copy */
    struct cpu_set cpus;
    struct spawn_refusal refusal;
};

struct launch {
    const struct options *opt;
    const struct facts *facts;
    const struct node_plan *plan; /* of this generation */
    struct spawn spawn;           /* what all workers have in common */
    struct worker_env *env;
    struct launch_paths paths;
    struct held_ports ports; /* of presets of --compat */
    int dev_null, input;
    struct stdin_fan *fan;     /* NULL = nobody shares standard input */
    struct terminal *terminal; /* NULL = no worker owns it */
    struct child *owner;       /* of the terminal; NULL = none now */
    struct spawn_refusal said; /* what has been said: once is enough */

    struct spawn_crew *crew; /* NULL before the first workers */
    struct slot *slots;      /* a ring of those on their way */
    uint32_t nslots, first, len;
};

int launch_find(struct launch *l, const struct node_plan *plan, struct err *e)
{
    return launch_paths_find(&l->paths, l->opt, l->facts, plan, e);
}

const char *launch_program(const struct launch *l)
{
    return l->paths.program;
}

/* ---- input and output ---- */

/* What comes from the head goes to other nodes too. */
static void open_fan(struct launch *l, struct watch_set *watches)
{
    l->fan = stdin_fan_new(watches, l->input);
    if (l->input != STDIN_FILENO)
        stdin_fan_never_stall(l->fan);
}

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
        open_fan(l, watches);
    if (l->fan)
        stdin_fan_begin(l->fan, plan->order.nworkers);
    return 0;
}

static void open_slots(struct launch *l, bool is_one_by_one)
{
    assert(l->len == 0);
    uint32_t n = l->plan->order.nworkers;
    if (!l->crew)
        l->crew = spawn_crew_new(spawn_crew_size(l->facts->ncpus, n),
                                 OWN_DESCRIPTORS + WORKER_DESCRIPTORS * n);
    l->nslots = !is_one_by_one && spawn_crew_threads(l->crew) ? SLOTS : 1;
    free(l->slots);
    l->slots = mem_alloc(l->nslots, sizeof *l->slots);
    l->first = 0;
}

int launch_prepare(struct launch *l, const struct node_plan *plan, struct watch_set *watches,
                   const char *error_dir, bool is_one_by_one, struct err *e)
{
    l->plan = plan;
    open_slots(l, is_one_by_one);
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

/* One allocation: what worker_env_build and mpi_host_join return is theirs, and changes. */
static char **copy_envp(char *const *envp)
{
    size_t n = 0, bytes = 0;
    for (; envp[n]; n++)
        bytes += strlen(envp[n]) + 1;
    char **copy = mem_realloc(NULL, 1, (n + 1) * sizeof *copy + bytes);
    char *at = (char *)(copy + n + 1);
    for (size_t i = 0; i < n; i++) {
        copy[i] = at;
        at = stpcpy(at, envp[i]) + 1;
    }
    copy[n] = NULL;
    return copy;
}

/* What all have in common, and what this one has of its own. */
static void fill(const struct launch *l, const struct worker_plan *w, int exec_pipe,
                 struct slot *slot)
{
    struct spawn *s = &slot->task.spawn;
    int inherited = s->inherited;
    *s = l->spawn;
    s->inherited = inherited;
    s->path = launch_paths_of(&l->paths, w);
    s->argv = node_plan_argv(l->plan, w->local_rank);
    s->envp = slot->envp;
    s->in = slot->ends.in;
    s->out = slot->ends.out[1];
    s->err = slot->ends.err[1];
    s->exec_pipe = exec_pipe;
    s->local_rank = w->local_rank;
    s->mem_node = w->mem_node;
    s->cpus =
        w->cpus && cpu_set_parse(str_from(w->cpus), &slot->cpus) == 0 ? &slot->cpus : NULL;
    s->refusal = &slot->refusal;
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

uint32_t launch_pending(const struct launch *l)
{
    return l->len;
}

bool launch_is_full(const struct launch *l)
{
    return l->len == l->nslots;
}

int launch_begin(struct launch *l, const struct launch_with *with, uint32_t local_rank,
                 struct err *e)
{
    const struct worker_plan *w = &l->plan->workers[local_rank];
    assert(with->exec_pipe >= 0); /* PREPARE comes before SPAWN, REAP after it */
    assert(!launch_is_full(l));
    struct slot *slot = &l->slots[(l->first + l->len) % l->nslots];
    *slot = (struct slot){.local_rank = local_rank};
    char *const *envp = worker_env_build(l->env, local_rank);
    if (ends_open(l, with->files, w, &slot->ends, e) < 0
        || mpi_host_join(with->mpi, local_rank, &envp, &slot->task.spawn.inherited, e) < 0) {
        ends_close(l, &slot->ends);
        return -1;
    }
    slot->envp = copy_envp(envp);
    fill(l, w, with->exec_pipe, slot);
    spawn_crew_begin(l->crew, &slot->task);
    l->len++;
    return 0;
}

struct child *launch_end(struct launch *l, const struct launch_with *with, uint32_t *local_rank,
                         struct err *e)
{
    assert(l->len > 0);
    struct slot *slot = &l->slots[l->first];
    const struct worker_plan *w = &l->plan->workers[slot->local_rank];
    struct child_start start = describe(l, with->files, w);
    *local_rank = slot->local_rank;
    l->first = (l->first + 1) % l->nslots;
    l->len--;
    int rc = spawn_crew_end(l->crew, &slot->task, &start.pid, &start.pidfd, e);
    free(slot->envp);
    if (rc < 0) {
        ends_close(l, &slot->ends);
        return NULL;
    }
    ends_hand_over(l, &slot->ends, &start);
    struct child *child = child_new(with->host, &start, e);
    if (!child)
        return NULL;
    note_started(l, w, with->guard, child);
    say_refusal(l, w->rank, &slot->refusal);
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
    if (!l->fan)
        return;
    stdin_fan_begin(l->fan, 0);
    stdin_fan_start(l->fan);
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

uint32_t launch_threads(const struct launch *l)
{
    return l->crew ? spawn_crew_threads(l->crew) : 0;
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
    spawn_crew_free(l->crew);
    free(l->slots);
    launch_paths_fini(&l->paths);
    free(l);
}

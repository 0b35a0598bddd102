#include "launcher/core/job_control.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/job_state.h"
#include "launcher/core/node.h"

enum { PROGRAM_BYTES_MAX = 1000 };

static const char *const state_words[] = {
    [JOB_JOIN] = "joining",   [JOB_START] = "starting", [JOB_RUN] = "running",
    [JOB_LOOK] = "looking",   [JOB_STOP] = "stopping",  [JOB_PAUSE] = "pausing",
    [JOB_FLUSH] = "flushing", [JOB_DONE] = "done",
};
static_assert(sizeof state_words / sizeof state_words[0] == JOB_STATE_COUNT, "one row a state");

bool job_control_event(enum control_verb verb, struct event *ev)
{
    *ev = (struct event){.type = EV_SIGNAL};
    switch (verb) {
    case CONTROL_STOP:
    case CONTROL_KILL:
        ev->u.signal.signo = SIGTERM;
        ev->u.signal.is_at_once = verb == CONTROL_KILL;
        return true;
    case CONTROL_STACK:
        ev->u.signal.signo = SIGQUIT;
        return true;
    case CONTROL_SAMPLE:
        ev->type = EV_SAMPLE;
        return true;
    case CONTROL_STATUS:
    case CONTROL_VERB_COUNT:
        break;
    }
    return false;
}

bool job_control_must_wait(const struct job *j, enum control_verb verb)
{
    return (verb == CONTROL_STACK && j->survey.is_running)
           || (verb == CONTROL_SAMPLE && j->samples.is_running);
}

/* The program and its arguments, as they were typed. */
static char *program_of(const struct options *opt)
{
    struct buf text;
    buf_init(&text, PROGRAM_BYTES_MAX);
    if (opt->is_module)
        buf_adds(&text, "-m ");
    for (char *const *arg = opt->program; arg && *arg; arg++)
        buf_addf(&text, "%s%s", arg == opt->program ? "" : " ", *arg);
    return buf_steal(&text);
}

static enum rank_state state_of(const struct job_rank *rank)
{
    if (rank->is_lost)
        return RANK_LOST;
    if (!rank->has_ended)
        return rank->pid ? RANK_RUNNING : RANK_WAITING;
    if (!worker_end_is_failure(&rank->end))
        return RANK_DONE;
    return rank->was_stopped ? RANK_STOPPED : RANK_FAILED;
}

/* The node of this process, if its plan is that of this generation; else NULL. */
static const struct node_plan *plan_of(const struct job *j, const struct control_facts *facts)
{
    const struct node_plan *plan = facts->node ? node_plan(facts->node) : NULL;
    return plan && plan->order.generation == j->generation ? plan : NULL;
}

/* What the node of this process knows of one of its ranks. */
static void look_closer(const struct node *node, uint64_t now_ms, struct control_rank *out)
{
    struct rank_facts facts;
    const struct node_plan *plan = node_plan(node);
    const struct worker_plan *worker = &plan->workers[out->local_rank];
    out->gpu_index = mem_strdup(worker->gpu_index);
    out->gpu_uuid = mem_strdup(worker->gpu_uuid);
    if (node_rank_facts(node, out->local_rank, now_ms, &facts)) {
        out->step = facts.step;
        out->quiet_ms = facts.quiet_ms;
    }
}

/* What the last round of samples has brought of a rank. */
static void look_at_sample(const struct sampled *sampled, struct control_rank *out)
{
    out->gpu_index = mem_strdup(sampled->gpu_index);
    out->gpu_uuid = mem_strdup(sampled->gpu_uuid);
    out->step = sampled->step;
    out->quiet_ms = sampled->quiet_ms;
    out->sample = sampled->figures;
}

static void look_at_rank(const struct job *j, uint32_t i, enum control_verb verb,
                         const struct control_facts *facts, struct control_rank *out)
{
    const struct job_rank *rank = &j->ranks[i];
    const struct node_plan *plan = plan_of(j, facts);
    *out = (struct control_rank){.node = rank->node,
                                 .local_rank = rank->local_rank,
                                 .pid = rank->pid,
                                 .starts = i < j->nstarts ? j->starts[i] : 0,
                                 .state = state_of(rank),
                                 .host = mem_strdup(rank->host ? rank->host : "-")};
    if (verb == CONTROL_SAMPLE && j->samples.ranks)
        look_at_sample(&j->samples.ranks[i], out);
    else if (plan && plan->order.node_rank == rank->node
             && rank->local_rank < plan->order.nworkers)
        look_closer(facts->node, facts->now_ms, out);
    if (verb == CONTROL_STACK && j->survey.ranks)
        out->where = mem_strdup(j->survey.ranks[i].where);
}

static char *absolute(const char *path, const char *cwd)
{
    return path && path[0] != '/' && cwd ? mem_printf("%s/%s", cwd, path) : mem_strdup(path);
}

void job_control_look(const struct job *j, enum control_verb verb,
                      const struct control_facts *facts, struct control_status *out)
{
    const struct options *opt = j->opt;
    const struct node_plan *plan = plan_of(j, facts);
    *out = (struct control_status){
        .job_id = mem_strdup(opt->job_id ? opt->job_id : ""),
        .program = program_of(opt),
        .state = mem_strdup(state_words[j->state]),
        .pid = facts->pid,
        .generation = j->generation,
        .max_restarts = opt->max_restarts,
        .nnodes = j->nodes.n,
        .uptime_ms = facts->now_ms - facts->began_ms,
        .layout = facts->layout,
        .log_dir = absolute(facts->log_dir, facts->cwd),
        .log_root = facts->node ? NULL : absolute(opt->log_dir, facts->cwd),
        .stacks = verb == CONTROL_STACK ? absolute(j->survey.file, facts->cwd) : NULL,
        .sample_why = verb == CONTROL_SAMPLE ? mem_strdup(j->samples.sample_why) : NULL,
        .metrics = mem_strdup(facts->metrics),
        .ranks = mem_alloc(j->nranks, sizeof *out->ranks),
        .nranks = j->nranks,
    };
    if (plan)
        out->here = (struct maybe_u64){true, plan->order.node_rank};
    for (uint32_t i = 0; i < j->nranks; i++)
        look_at_rank(j, i, verb, facts, &out->ranks[i]);
}

void job_control_answer(const struct job *j, enum control_verb verb,
                        const struct control_facts *facts, struct buf *out)
{
    struct control_status status;
    job_control_look(j, verb, facts, &status);
    control_status_format(&status, out);
    control_status_fini(&status);
}

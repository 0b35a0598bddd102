#include "launcher/core/job_mpi.h"

#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/job_ending.h"

/* ---- before the start ---- */

int job_mpi_agree(const struct job *j, struct err *e)
{
    const struct member *first = &j->nodes.list[0];
    for (uint32_t i = 1; i < j->nodes.n; i++) {
        const struct member *n = &j->nodes.list[i];
        if (n->mpi != first->mpi)
            return err_set(
                e, ERR_USAGE,
                "what the program wants of MPI is %s on node 0 (%.60s) and %s on "
                "node %u (%.60s): one program for all, or say with --mpi which it is",
                mpi_mode_name(first->mpi), first->host, mpi_mode_name(n->mpi), i, n->host);
    }
    return 0;
}

void job_mpi_begin(struct job *j)
{
    free(j->mpi.nodes);
    j->mpi.nodes = NULL;
    if (j->nodes.list[0].mpi == MPI_MODE_NONE)
        return;
    mpi_gather_begin(j->mpi.gather, j->nodes.n);
    j->mpi.nodes = mem_alloc(j->nodes.n, sizeof *j->mpi.nodes);
    for (uint32_t i = 0; i < j->nodes.n; i++) {
        const struct member *n = &j->nodes.list[i];
        j->mpi.nodes[i] = (struct mpi_node){n->host, n->order.first_rank, n->order.nworkers};
    }
    j->mpi.layout = (struct mpi_layout){j->mpi.nodes, j->nodes.n, j->nranks};
}

const struct mpi_layout *job_mpi_layout(const struct job *j)
{
    return j->mpi.nodes ? &j->mpi.layout : NULL;
}

/* ---- fences ---- */

static void send_answer(struct job *j, const struct mpi_answer *answer, struct effects *fx)
{
    for (uint32_t i = 0; i < answer->nnodes; i++) {
        const struct member *n = &j->nodes.list[answer->nodes[i]];
        if (n->status != MEMBER_LOST && n->link != LINK_NONE)
            job_send(j, fx, n, FRAME_GATHERED)->u.gathered = answer->gathered;
    }
}

/* Ranks that wait for nothing would end with an error that hides the cause: the job ends first,
 * unless it is ending already. */
static void end_job(struct job *j, const struct err *e, uint64_t now_ms, struct effects *fx)
{
    if (j->state == JOB_RUN || j->state == JOB_LOOK)
        job_ending_with(j, VERDICT_ERROR, 0, e, now_ms, fx);
}

/* Who ended with 0 while others wait for it counts as a failure, as within one node. */
static void blame_missing(struct job *j, const struct mpi_answer *answer, uint64_t now_ms,
                          struct effects *fx)
{
    const struct member *missing = &j->nodes.list[answer->missing];
    if (j->state != JOB_RUN || missing->status != MEMBER_REAPED)
        return;
    if (j->verdict.kind == VERDICT_OK)
        j->verdict = (struct verdict){
            .kind = VERDICT_WORKER,
            .rank = missing->order.first_rank,
            .node = answer->missing,
            .pid = j->ranks[missing->order.first_rank].pid,
            .end = {.kind = END_EXIT, .code = 1},
            .after_ms = now_ms - j->generation_at_ms,
            .host = mem_strdup(missing->host),
            .cause = mem_printf("the ranks of node %u wait for it in MPI, and it has exited "
                                "with 0 without them; this counts as 1",
                                answer->nodes[0]),
        };
    job_ending_stop(j, SIGTERM, now_ms, fx);
}

/* The node of the rank that a piece asks about, if it is another one that takes part. */
static const struct member *find_wanted(const struct job *j, const struct member *n,
                                        const struct gather *piece)
{
    uint64_t rank = piece->wanted.value;
    uint32_t node = rank < j->nranks ? j->ranks[rank].node : j->nodes.n;
    for (uint32_t i = 0; i < piece->nnodes; i++)
        if (piece->nodes[i] == node && node != members_rank(&j->nodes, n))
            return &j->nodes.list[node];
    return NULL;
}

static void tell_wanted(struct job *j, const struct member *owner, const struct gather *piece,
                        struct effects *fx)
{
    struct gather *wanted = &job_send(j, fx, owner, FRAME_WANTED)->u.gather;
    *wanted = *piece;
    wanted->data = (struct str){NULL, 0};
}

void job_mpi_gather(struct job *j, const struct member *n, const struct gather *piece,
                    uint64_t now_ms, struct effects *fx)
{
    struct mpi_answer answer;
    struct err e;
    if (!j->mpi.nodes)
        return;
    const struct member *owner = piece->wanted.is_known ? find_wanted(j, n, piece) : NULL;
    if (piece->wanted.is_known && !owner) {
        err_set(&e, ERR_PROTOCOL, "MPI: node %u asks about a rank that no other node has",
                members_rank(&j->nodes, n));
        end_job(j, &e, now_ms, fx);
        return;
    }
    int rc = mpi_gather_take(j->mpi.gather, members_rank(&j->nodes, n), piece, &answer, &e);
    if (rc < 0)
        end_job(j, &e, now_ms, fx);
    else if (rc > 0 && answer.gathered.is_lost)
        blame_missing(j, &answer, now_ms, fx);
    if (rc != 0)
        send_answer(j, &answer, fx);
    else if (owner)
        tell_wanted(j, owner, piece, fx);
}

void job_mpi_leave(struct job *j, const struct member *n, uint64_t now_ms, struct effects *fx)
{
    struct mpi_answer answer;
    if (!j->mpi.nodes)
        return;
    while (mpi_gather_leave(j->mpi.gather, members_rank(&j->nodes, n), &answer)) {
        blame_missing(j, &answer, now_ms, fx);
        send_answer(j, &answer, fx);
    }
}

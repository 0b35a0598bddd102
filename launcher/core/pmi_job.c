#include "launcher/core/pmi_job.h"

#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/pmi_kvs.h"

struct pmi_rank {
    enum mpi_state state;
    bool is_waiting; /* in the barrier */
    int abort_code;
};

struct pmi_job {
    char *name;
    uint32_t world_size, nranks;
    struct pmi_rank *ranks;
    uint32_t nwaiting, nended;
    struct pmi_kvs *kvs;
};

struct pmi_job *pmi_job_new(const struct mpi_layout *layout, uint32_t node, const char *name)
{
    struct pmi_job *job = mem_alloc(1, sizeof *job);
    struct buf mapping;
    job->name = mem_strdup(name);
    job->world_size = layout->world_size;
    job->nranks = layout->nodes[node].nranks;
    job->ranks = mem_alloc(job->nranks, sizeof *job->ranks);
    job->kvs = pmi_kvs_new();
    buf_init(&mapping, 0);
    mpi_layout_mapping(layout, &mapping);
    struct str value = {mapping.data, mapping.len};
    if (pmi_is_word(value, PMI_VALUE_MAX)) /* a client does without: it compares host names */
        pmi_kvs_put(job->kvs, str_from("PMI_process_mapping"), value);
    buf_reset(&mapping);
    pmi_kvs_news(job->kvs, &mapping); /* every node knows it */
    buf_fini(&mapping);
    return job;
}

void pmi_job_free(struct pmi_job *job)
{
    if (!job)
        return;
    pmi_kvs_free(job->kvs);
    free(job->ranks);
    free(job->name);
    free(job);
}

static void answer_put(struct pmi_job *job, const struct pmi_request *request,
                       struct buf *reply)
{
    const char *refusal = NULL;
    if (!str_eq(request->kvsname, job->name))
        refusal = "kvsname_unknown";
    else if (!request->key.n || !pmi_is_word(request->key, PMI_KEY_MAX))
        refusal = "key_invalid";
    else if (!pmi_is_word(request->value, PMI_VALUE_MAX))
        refusal = "value_invalid";
    pmi_reply_put(reply,
                  refusal ? refusal : pmi_kvs_put(job->kvs, request->key, request->value));
}

static void answer_get(const struct pmi_job *job, const struct pmi_request *request,
                       struct buf *reply)
{
    struct str key = request->key;
    bool is_ours = str_eq(request->kvsname, job->name) && pmi_is_word(key, PMI_KEY_MAX);
    key = is_ours ? key : STR_LIT("");
    pmi_reply_get(reply, is_ours ? pmi_kvs_find(job->kvs, key) : NULL, key);
}

static enum pmi_next enter_barrier(struct pmi_job *job, struct pmi_rank *rank)
{
    if (rank->is_waiting) /* a client waits for the answer before it asks again */
        return PMI_CLOSE;
    rank->is_waiting = true;
    job->nwaiting++;
    if (job->nended)
        return PMI_LOST;
    return job->nwaiting == job->nranks ? PMI_ALL_IN : PMI_GO_ON;
}

static enum pmi_next begin(struct pmi_rank *rank, const struct pmi_request *request,
                           struct buf *reply)
{
    bool is_known = request->command == PMI_INIT && str_eq(request->version, "1");
    pmi_reply_init(reply, is_known);
    if (!is_known)
        return PMI_CLOSE;
    rank->state = MPI_STATE_INSIDE;
    return PMI_GO_ON;
}

enum pmi_next pmi_job_request(struct pmi_job *job, uint32_t local_rank,
                              const struct pmi_request *request, struct buf *reply)
{
    struct pmi_rank *rank = &job->ranks[local_rank];
    if (rank->state == MPI_STATE_OUTSIDE)
        return begin(rank, request, reply);
    if (rank->state != MPI_STATE_INSIDE)
        return PMI_CLOSE; /* it has said its last word */
    switch (request->command) {
    case PMI_INIT: /* once more */
        return PMI_CLOSE;
    case PMI_GET_MAXES:
        return pmi_reply_maxes(reply), PMI_GO_ON;
    case PMI_GET_APPNUM:
        return pmi_reply_appnum(reply, 0), PMI_GO_ON;
    case PMI_GET_MY_KVSNAME:
        return pmi_reply_kvsname(reply, job->name), PMI_GO_ON;
    case PMI_GET_UNIVERSE_SIZE:
        return pmi_reply_universe_size(reply, job->world_size), PMI_GO_ON;
    case PMI_PUT:
        return answer_put(job, request, reply), PMI_GO_ON;
    case PMI_GET:
        return answer_get(job, request, reply), PMI_GO_ON;
    case PMI_BARRIER_IN:
        return enter_barrier(job, rank);
    case PMI_FINALIZE:
        rank->state = MPI_STATE_FINALIZED;
        return pmi_reply_finalize(reply), PMI_CLOSE;
    case PMI_ABORT:
        rank->state = MPI_STATE_ABORTED;
        rank->abort_code = request->exit_code;
        return PMI_END;
    case PMI_SPAWN:
        if (request->is_last)
            pmi_reply_refused(reply, request->command);
        return PMI_GO_ON;
    case PMI_PUBLISH_NAME:
    case PMI_UNPUBLISH_NAME:
    case PMI_LOOKUP_NAME:
        return pmi_reply_refused(reply, request->command), PMI_GO_ON;
    case PMI_COMMAND_COUNT:
        break;
    }
    return PMI_CLOSE;
}

void pmi_job_news(struct pmi_job *job, struct buf *out)
{
    pmi_kvs_news(job->kvs, out);
}

void pmi_job_release(struct pmi_job *job, struct str news)
{
    pmi_kvs_merge(job->kvs, news);
    for (uint32_t i = 0; i < job->nranks; i++)
        job->ranks[i].is_waiting = false;
    job->nwaiting = 0;
}

enum pmi_next pmi_job_ended(struct pmi_job *job)
{
    job->nended++;
    return job->nwaiting ? PMI_LOST : PMI_GO_ON;
}

bool pmi_job_is_waiting(const struct pmi_job *job, uint32_t local_rank)
{
    return job->ranks[local_rank].is_waiting;
}

enum mpi_state pmi_job_state(const struct pmi_job *job, uint32_t local_rank, int *abort_code)
{
    *abort_code = job->ranks[local_rank].abort_code;
    return job->ranks[local_rank].state;
}

/* pmi_job.h - the PMI-1 server of one node without its sockets: what each rank has said, the
 * key-value space, the barrier. Requests in, lines out.
 *
 * A fault of one rank (a request out of order, a key that cannot be one) is answered to that
 * rank and touches no other.
 */
#ifndef MUSTER_LAUNCHER_CORE_PMI_JOB_H
#define MUSTER_LAUNCHER_CORE_PMI_JOB_H

#include "base/buf.h"
#include "launcher/core/mpi.h"
#include "launcher/core/mpi_layout.h"
#include "launcher/core/pmi_wire.h"

/* What the caller does after a request was answered. */
enum pmi_next {
    PMI_GO_ON,
    PMI_ALL_IN, /* the last rank of this node has entered the barrier */
    PMI_LOST,   /* one of them has ended: who waits in the barrier waits for ever */
    PMI_END,    /* it has aborted and waits, with an open connection, to be ended */
    PMI_CLOSE,  /* send what was appended, then close the connection */
};

struct pmi_job;

/* node: which of the layout's nodes this is. name: of the key-value space, a word of PMI-1.
 * Copies all. */
struct pmi_job *pmi_job_new(const struct mpi_layout *layout, uint32_t node, const char *name);
void pmi_job_free(struct pmi_job *job); /* NULL is fine */

/* Answers a request of that local rank: appends to reply. */
enum pmi_next pmi_job_request(struct pmi_job *job, uint32_t local_rank,
                              const struct pmi_request *request, struct buf *reply);

/* After PMI_ALL_IN: what the ranks of this node have put since the last barrier, for the other
 * nodes. Then, with what all nodes have put, everybody leaves the barrier. */
void pmi_job_news(struct pmi_job *job, struct buf *out);
void pmi_job_release(struct pmi_job *job, struct str news);

/* One more rank has ended, outside of the barrier: it will not enter it. PMI_LOST if others
 * wait there, else PMI_GO_ON. */
enum pmi_next pmi_job_ended(struct pmi_job *job);

/* Whether that rank waits in the barrier. */
bool pmi_job_is_waiting(const struct pmi_job *job, uint32_t local_rank);

/* *abort_code is set with MPI_STATE_ABORTED. */
enum mpi_state pmi_job_state(const struct pmi_job *job, uint32_t local_rank, int *abort_code);

#endif

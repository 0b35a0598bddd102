/* mpi_host.h - MPI programs on this node: finds out whether a job is one, keeps the service
 * that plays the process manager's side, and the folders of such a job.
 *
 * A job that is no MPI program costs one look at the program's file. docs/design/0013-mpi.md
 */
#ifndef MUSTER_LAUNCHER_IO_MPI_HOST_H
#define MUSTER_LAUNCHER_IO_MPI_HOST_H

#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"
#include "launcher/io/guard.h"
#include "launcher/io/mpi_link.h"
#include "launcher/io/watch.h"

struct mpi_host;

/* What it wants of its owner. */
struct mpi_host_events {
    void *ctx;
    mpi_link_ask *ask;                                /* as in mpi_link.h */
    void (*on_abort)(void *ctx, uint32_t local_rank); /* as in struct mpi_context */
};

/* For one node of a job. opt and facts are borrowed. */
struct mpi_host *mpi_host_new(const struct options *opt, const struct facts *facts,
                              const struct mpi_host_events *events);

/* Which service program (a path) wants under --mpi; never MPI_MODE_AUTO. Starts nothing. */
enum mpi_mode mpi_host_choose(struct mpi_host *m, const char *program);

/* Before the first generation, and harmless before others: makes the folders and opens the
 * service. guard (may be NULL) learns of the folders. Does nothing for a job without MPI;
 * likewise all that follow. 0, or -1 with ERR_USAGE or ERR_SYSTEM. */
int mpi_host_open(struct mpi_host *m, uv_loop_t *loop, struct watch_set *watches,
                  struct guard *guard, struct err *e);

/* A generation begins. layout is copied; plan must stay until mpi_host_end. What keeps it from
 * beginning is said by mpi_host_join. */
void mpi_host_begin(struct mpi_host *m, const struct node_plan *plan,
                    const struct mpi_layout *layout);

/* Before a worker's start: replaces *envp (NULL-terminated) by one with what MPI needs, valid
 * until the next call, and sets *fd to the descriptor that it inherits, -1 = none. 0 or -1. */
int mpi_host_join(struct mpi_host *m, uint32_t local_rank, char *const **envp, int *fd,
                  struct err *e);
/* After it, started or not. */
void mpi_host_joined(struct mpi_host *m, uint32_t local_rank);

/* Once that worker's exit is known: corrects its end by what it has said (mpi_judge_end). The
 * reason for people, valid until mpi_host_end, or NULL. */
const char *mpi_host_judge(struct mpi_host *m, uint32_t local_rank, struct worker_end *end);

/* Another node asks about a rank of this one. */
void mpi_host_wanted(struct mpi_host *m, const struct gather *wanted);

/* What other nodes and this one have given each other; all queues of events are empty. */
void mpi_host_gathered(struct mpi_host *m, const struct gathered *gathered);
void mpi_host_settle(struct mpi_host *m);

/* Its workers are reaped. Also of a generation that did not begin. */
void mpi_host_end(struct mpi_host *m);

/* Before the watch set is closed; asynchronous, frees itself. The folders go. NULL is fine. */
void mpi_host_close(struct mpi_host *m);

#endif

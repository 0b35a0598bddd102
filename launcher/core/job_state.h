/* job_state.h - the state of the head machine, shared by the files that decide for it.
 *
 * Private to job.c, job_join.c, job_leave.c, job_look.c, job_mpi.c, job_refuse.c, job_sample.c,
 * job_signal.c, job_ending.c and, for reading, job_control.c and job_metrics.c: to everybody
 * else struct job is opaque (job.h). The drawing of the states, the table of allowed moves and
 * the switch on events stand in job.c. Decides nothing.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOB_STATE_H
#define MUSTER_LAUNCHER_CORE_JOB_STATE_H

#include "launcher/core/job.h"
#include "launcher/core/awaited.h"
#include "launcher/core/members.h"
#include "launcher/core/mpi_gather.h"
#include "launcher/core/spares.h"
#include "launcher/core/start_faults.h"
#include "launcher/core/notice.h"
#include "launcher/core/restart.h"
#include "launcher/core/samples.h"
#include "launcher/core/survey.h"

/* Drawn in job.c. */
enum job_state {
    JOB_JOIN,
    JOB_START,
    JOB_RUN,
    JOB_LOOK,
    JOB_STOP,
    JOB_PAUSE,
    JOB_FLUSH,
    JOB_DONE,
    JOB_STATE_COUNT
};

enum {
    JOB_JOIN_FIRST_MS = 5000,  /* say who is awaited */
    JOB_JOIN_NOTE_MS = 10000,  /* say it again */
    JOB_STOP_SLACK_MS = 20000, /* beyond the grace, until a user who wants out gets out */
    JOB_DEAF_MS = 4000, /* output that nobody reads is lost this long after a user's stop */
};

struct job {
    const struct options *opt;
    enum job_state state;
    uint32_t generation;
    struct members nodes;
    struct awaited awaited;
    struct spares spares;
    struct start_faults refusals; /* of nodes that cannot run their part */
    uint32_t nready, nreaped;     /* reaped: also lost */
    struct job_rank *ranks;
    uint32_t nranks, nalive;
    char *addr;
    uint16_t port;
    uint64_t beat_ms, next_beat_check_ms, time_limit_at_ms, state_deadline_ms, join_limit_ms;
    uint64_t last_call_ms; /* when those that have joined are enough; UINT64_MAX = not yet */
    bool must_plan;        /* before the next generation: its nodes are not those of the last */
    bool has_orders;       /* the nodes do; before, they do not know this generation */
    uint64_t generation_at_ms, stop_at_ms, gone_after_ms;
    int stop_signo;   /* what the workers were sent */
    int ninterrupts;  /* SIGINT so far */
    bool is_blocked;  /* what other nodes' workers print waits for a reader */
    bool is_deaf;     /* so much of it that nothing is read from nodes for now */
    bool has_dropped; /* some was lost because the user wanted out */
    uint64_t deaf_limit_ms;
    bool is_user_end;     /* a signal or a time limit: no restart */
    struct notice notice; /* of --preempt-signal */
    struct survey survey;
    struct samples samples;
    uint32_t *starts, nstarts; /* by rank, over all generations */
    struct {
        struct mpi_gather *gather;
        struct mpi_node *nodes; /* NULL = no MPI in this generation */
        struct mpi_layout layout;
    } mpi;
    struct buf line; /* what the survey has found, or nodes have refused; for notes */
    struct restart restart;
    struct verdict verdict;
    struct err sent_away; /* why a node was, referenced by its frame */
};

/* Goes to the next state, which has no deadline at first. A move that job.c's table does not
 * allow is a bug: it asserts. */
void job_move(struct job *j, enum job_state next);

/* Appends a frame of this generation for a member, or for whoever is behind a link, and returns
 * it to be filled. Valid until the next effect is appended; owned by fx. */
struct frame *job_send(struct job *j, struct effects *fx, const struct member *n,
                       enum frame_type type);
struct frame *job_send_link(struct job *j, struct effects *fx, uint32_t link,
                            enum frame_type type);

/* What is known of a node's worker; NULL if the order of the node has no such worker. */
struct job_rank *job_find_rank(struct job *j, const struct member *n, uint32_t local_rank);

/* Forgets what is known of the ranks: the next generation has others. */
void job_forget_ranks(struct job *j);

/* The sooner of two times. */
uint64_t job_least(uint64_t a, uint64_t b);

#endif

/* members.h - the nodes of a job: who has joined, under which node rank, how far each one is.
 *
 * A node is known by the number of its link. Its place in the list is its node rank: from the
 * start if it asked for one, else once all have joined and members_settle has put them in
 * order. Decides who is let in; what follows from a node's coming and going decides job.c.
 */
#ifndef MUSTER_LAUNCHER_CORE_MEMBERS_H
#define MUSTER_LAUNCHER_CORE_MEMBERS_H

#include "launcher/core/event.h"

enum member_status {
    MEMBER_AWAITED,
    MEMBER_JOINED,
    MEMBER_READY,
    MEMBER_RUNNING,
    MEMBER_REAPED,
    MEMBER_LOST
};

struct member {
    enum member_status status;
    uint32_t link;     /* LINK_NONE = never joined */
    enum mpi_mode mpi; /* what it said with READY */
    uint32_t slots, pid;
    uint32_t asked_rank;      /* its place for now; NODE_RANK_ANY = whichever is left */
    uint32_t wished_rank;     /* as in its hello */
    char *host, *via, *reach; /* as in its hello; NULL before it joined */
    uint64_t last_heard_ms;
    bool is_silent; /* none of its workers has written anything for the limit */
    struct order order;
};

struct members {
    struct member *list; /* n of them */
    uint32_t n, capacity, njoined;
    uint32_t *by_link; /* place in list + 1; 0 = none */
    size_t nlinks;
};

enum { LINK_NONE = UINT32_MAX };

/* n nodes are awaited, at least 1; later there may be fewer, never more. */
void members_init(struct members *m, uint32_t n);
void members_fini(struct members *m);

/* The node behind a link; NULL if it has none. */
struct member *members_find(const struct members *m, uint32_t link);

/* Whether a node's command line can be of this job. 0, or -1 with ERR_USAGE. */
int members_check(const struct members *m, const struct frame *hello, struct err *e);

/* Lets a node in. 0, or -1 with ERR_USAGE (its --nnodes or --node-rank contradicts the job or
 * another node) or ERR_UNAVAILABLE (all places are taken): then it is not a member. */
int members_join(struct members *m, uint32_t link, const struct frame *hello, uint64_t now_ms,
                 struct err *e);

/* Before all have joined: its place is free again. */
void members_leave(struct members *m, struct member *member);

/* No more are awaited: those that have joined are all, in the same order. */
void members_close(struct members *m);

/* After a generation: the places of those that were lost are free again. Who asked for a place
 * has that one, also if it had moved up when there were fewer; the others keep theirs as far as
 * they can. Returns how many were lost. */
uint32_t members_reopen(struct members *m);

/* Whether nobody is awaited any more. */
bool members_complete(const struct members *m);

/* Once complete: the final order. A node that asked for a rank has it; the others take the free
 * ranks in natural order of their host names, ties by the address they came by, then pid
 * (never by chance, so that a restart gives the same ranks). */
void members_settle(struct members *m);

/* Place in the list: after members_settle the node rank. */
uint32_t members_rank(const struct members *m, const struct member *member);

/* Whether it is the address that a node is to be reached under, as it says itself. */
bool members_has_reach(const struct members *m, const char *host);

/* The address under which all nodes reached the head; NULL if they differ or none knows one. */
const char *members_common_address(const struct members *m);

#endif

/* mpi_service.h - what a process manager's side for MPI programs offers to its node, and what
 * it needs of the other nodes: two structs of functions.
 *
 * A service serves the ranks of one node, one generation after the other. Several nodes meet in
 * struct mpi_peers and nowhere else.
 */
#ifndef MUSTER_LAUNCHER_IO_MPI_SERVICE_H
#define MUSTER_LAUNCHER_IO_MPI_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "launcher/core/event.h"
#include "launcher/core/mpi.h"
#include "launcher/core/mpi_layout.h"
#include "launcher/io/watch.h"

/* Called once, on the loop's thread, perhaps before gather returns. all is what every node
 * gave, in any order, one piece after the other, and valid during the call; NULL: a node is
 * lost and nothing will come. */
typedef void mpi_gathered(void *ctx, const char *all, size_t n);

/* The way to the services of the other nodes: mpi_link.h. */
struct mpi_peers {
    void *ctx;
    /* Called on the loop's thread when all ranks of this node that take part have come. The
     * same operations come in the same order everywhere. *piece is copied. */
    void (*gather)(void *ctx, const struct gather *piece, mpi_gathered *done, void *done_ctx);
    /* A generation is over: no done of what is still out is called any more. */
    void (*forget)(void *ctx);
};

/* One variable of a worker's environment. */
struct mpi_variable {
    char *entry;     /* NAME=VALUE, owned */
    bool is_default; /* the user's own value wins */
};

/* What a worker gets before it starts. Zero-initialised but for fd; freed by mpi_ticket_fini.
 */
struct mpi_ticket {
    struct mpi_variable *variables;
    size_t len, cap;
    int fd; /* inherited under this number, owned by the service; -1 = none */
};

/* Adds NAME=VALUE, which it owns from here on. */
void mpi_ticket_add(struct mpi_ticket *t, bool is_default, char *entry);
void mpi_ticket_fini(struct mpi_ticket *t);

/* What a service may use; outlives it. */
struct mpi_context {
    uv_loop_t *loop;
    struct watch_set *watches;
    const char *dir;     /* private folder for its files; removed by the owner */
    const char *shm_dir; /* the same in shared memory; NULL = none */
    const char *host;    /* of this node, as the layout spells it */
    const struct mpi_peers *peers;
    void *ctx;
    /* A rank has aborted and waits to be ended. On the loop's thread. */
    void (*on_abort)(void *ctx, uint32_t local_rank);
};

/* What runs in one generation. Valid until end. */
struct mpi_world {
    const char *name; /* of this generation: letters, digits, "-", "."; the same on all nodes */
    const struct mpi_layout *layout;
    uint32_t node; /* this one */
};

struct mpi_service {
    const char *name;
    /* NULL with ERR_UNAVAILABLE or ERR_SYSTEM. */
    void *(*open)(const struct mpi_context *context, struct err *e);
    /* A generation begins: 0 or -1 as above. */
    int (*begin)(void *service, const struct mpi_world *world, struct err *e);
    /* Before and after a worker's start, also a start that failed. ticket is filled; 0 or -1.
     */
    int (*join)(void *service, uint32_t local_rank, struct mpi_ticket *ticket, struct err *e);
    void (*joined)(void *service, uint32_t local_rank);
    /* Once the worker's exit is known: what it has said, all of it. */
    enum mpi_state (*state)(void *service, uint32_t local_rank, int *abort_code);
    /* After state, of a worker that exited with 0: what is to come of those that wait for it.
     * NULL: nothing. */
    void (*ended)(void *service, uint32_t local_rank);
    /* Another node has called gather with this operation and these nodes, and wants what a rank
     * of this one has to tell: this one has to call it too. NULL: no client asks so. */
    void (*wanted)(void *service, const struct gather *wanted);
    /* The generation is over: no worker is left. Also of one that did not begin. */
    void (*end)(void *service);
    /* Asynchronous: frees itself once its handles are closed. */
    void (*close)(void *service);
};

#endif

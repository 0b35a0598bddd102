/* driver_node_state.h - the state of a node's driver, shared by the files that it is made of.
 *
 * Private to driver_node.c and node_effects.c: to everybody else struct driver_node is opaque
 * (driver_node.h).
 */
#ifndef MUSTER_LAUNCHER_IO_DRIVER_NODE_STATE_H
#define MUSTER_LAUNCHER_IO_DRIVER_NODE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "launcher/core/event.h"
#include "launcher/io/child.h"
#include "launcher/io/driver_node.h"
#include "launcher/io/exec_pipe.h"
#include "launcher/io/job_files.h"

struct driver_node {
    uv_loop_t *loop;
    const struct options *opt;
    const struct facts *facts;
    struct launch *launch;
    struct link_up up;
    struct node *node;
    struct event_queue queue;
    struct effects effects;

    uv_timer_t timer;
    struct watch_set *watches;
    struct exec_pipe exec_pipe;
    int nhandles;
    bool is_sweeping, has_orphan_news, has_spawn_failed;

    struct descendants *descendants;
    struct guard *guard; /* NULL before the first workers, and where there is none */
    bool was_guard_asked;
    const char *socket; /* for the guard; NULL = none */
    struct job_files files;
    struct mpi_host *mpi;
    int dev_null;
    struct output *output;
    struct child_host host;
    struct child **children;   /* by local rank; NULL = none */
    struct findings *findings; /* of this generation */
    struct node_watch *watch;
    bool is_way_blocked; /* the relay takes no more */
    bool is_stopping;    /* who ends from here on is a victim */
    uint32_t nchildren;
    pid_t *pids; /* of the children, for telling them from orphans */
    size_t npids;
    bool is_sorted;
    struct err err;
};

#endif

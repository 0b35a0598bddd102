/* remotes_state.h - the state of the commands that start agents: of one and of all.
 *
 * Private to remotes.c (all of them: how many at a time, the next try, the end) and start.c
 * (one of them): to everybody else struct remotes is opaque (remotes.h).
 */
#ifndef MUSTER_LAUNCHER_IO_REMOTES_STATE_H
#define MUSTER_LAUNCHER_IO_REMOTES_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/buf.h"
#include "launcher/core/remote_command.h"
#include "launcher/io/remote.h"
#include "launcher/io/remotes.h"
#include "launcher/io/spawn.h"

enum start_state { START_WAITING, START_LOGIN, START_UP, START_PAUSE, START_ENDED };

/* One command, from its turn to its end, over all tries. */
struct start {
    struct remotes *owner;
    struct remote *remote;
    uint32_t node, nnodes; /* the first of them */
    enum start_state state;
    bool is_told, is_again, is_group;
    char *host, *token; /* token NULL: its agents say nothing */
    struct argv argv;
    pid_t pid;
    uint32_t tries;
    uint64_t due_ms;      /* START_PAUSE: of the next try */
    struct buf complaint; /* the end of its standard error */
    struct buf line;      /* of that, once it has its link */
    char words[128];      /* how far it is */
    struct err why;
};

struct remotes {
    struct uv_loop_s *loop;
    struct remotes_events events;
    struct spawn spawn;
    struct start **list;
    bool *is_linked;                           /* by node */
    uint32_t n, next, nlogins, npaused, nleft; /* nleft: that run, or have open handles */
    uint32_t nnodes;
    size_t cap;
    char slab[REMOTE_SLAB];
    uv_timer_t timer; /* of the next try; once closing, of the end */
    bool is_closing, is_starting, has_timer;
    struct descendants *descendants; /* NULL = no command has any that could be left */
};

/* Starts those whose turn it is, first again, then for the first time; from within that:
 * nothing. */
void remotes_more(struct remotes *r);

/* Sets the timer for the next of them. */
void remotes_arm(struct remotes *r);

/* Ends what a command for all nodes has left. */
void remotes_sweep(const struct remotes *r);

/* A command has ended and its handles are closed. ctx: struct start. */
void remotes_over(void *ctx);

#endif

/* remotes.h - the commands that start `muster agent` on other hosts: ssh or our own for one,
 * srun or mpirun for all.
 *
 * Owns how many log in at a time, another try where remote_failure.h has hope, the moment in
 * which the agent gets its boot record, and what a failed one has left as its reason; the
 * processes and pipes are remote.h's. An open pipe keeps the agent: its end of file means that
 * who started it is gone. The head uses this, and an agent that starts others (subtree.h). What
 * a failure means for the job decides job.c.
 */
#ifndef MUSTER_LAUNCHER_IO_REMOTES_H
#define MUSTER_LAUNCHER_IO_REMOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/remote_command.h"
#include "launcher/core/status_line.h"
#include "launcher/core/tree_shape.h"

struct remotes;
struct uv_loop_s;

enum remotes_step {
    REMOTES_BEGAN, /* its command is being started, perhaps once more */
    REMOTES_UP,    /* its agent runs and gets its record */
    REMOTES_ENDED, /* its command has ended, although it has its link */
};

/* In words. */
#define REMOTES_UP_WORDS "ssh up, no link"

/* host and text live as long as the remotes. */
struct remotes_events {
    void *ctx;
    /* Appends the boot record of the command that begins with this node; the text is wiped
     * after it has gone. 0, or -1: it has failed. NULL if no command has a token. */
    int (*boot)(void *ctx, uint32_t node, struct buf *out, struct err *e);
    /* The command of this node has ended, for good, and it has no link. why says how,
     * ERR_UNAVAILABLE, without the host's name; is_way: it never came as far as that host. One
     * that starts several nodes tells of the first of them that has no link. */
    void (*on_failed)(void *ctx, uint32_t node, const char *host, bool is_way,
                      const struct err *why);
    /* A line that the agent of one host has said and that is none about its way to the head or
     * of those below it; valid during the call. NULL = nobody asks. */
    void (*on_answer)(void *ctx, uint32_t node, const char *line);
    /* How far it is, in a few words: "ssh refused, trying again". */
    void (*on_state)(void *ctx, uint32_t node, const char *host, const char *state);
    /* The same for who decides; NULL = nobody. */
    void (*on_step)(void *ctx, uint32_t node, enum remotes_step step);
    /* The agent of this node says something of one that it starts; NULL = nobody asks. */
    void (*on_below)(void *ctx, uint32_t node, const struct status_line *s);
    /* What muster says to people on a host that has its link: a line, without "muster: ". */
    void (*on_words)(const char *line);
    /* A process of ours begins, or has been reaped; NULL = nobody asks. */
    void (*on_process)(void *ctx, pid_t pid, bool is_running);
};

enum { REMOTES_WINDOW = TREE_RADIX }; /* logins at a time */

/* For nodes below nnodes. limits: of open files, as the commands get them. */
struct remotes *remotes_new(struct uv_loop_s *loop, const struct rlimit *limits,
                            uint32_t nnodes, const struct remotes_events *events);

/* What the first words of an agent have to have: random digits. 0, or -1 with ERR_SYSTEM. */
int remotes_token(char token[REMOTE_TOKEN_DIGITS + 1], struct err *e);

/* A command for `nnodes` nodes, from `node` on. All is copied but argv, which is taken over. */
struct remote_command {
    const char *host; /* for messages; of several nodes the program's name */
    uint32_t node, nnodes;
    struct argv *argv;
    const char *token; /* what the agent's first line has to say; NULL = agents say nothing */
    const char *const *hidden; /* variables that it must not get, NULL-terminated; or NULL */
    bool is_again;             /* another try may help: ssh */
    bool is_group;             /* one program for all nodes: srun, mpirun */
};
void remotes_add(struct remotes *r, const struct remote_command *command);

/* Begins to start those that were added, as many as may log in at a time, whose second and
 * further tries count too. Also from within an event. */
void remotes_start(struct remotes *r);

/* The agent of this node has its link: that its command ends is of no interest any more. */
void remotes_linked(struct remotes *r, uint32_t node);

/* The processes that run now. */
void remotes_each_process(const struct remotes *r, void (*fn)(void *ctx, pid_t pid), void *ctx);

/* Ends what still runs, once the links are closed: their standard input first, then SIGKILL;
 * srun and mpirun, which tidy up after their tasks, get SIGTERM before.
 * No event comes any more, but words. Frees itself once all are reaped and its handles closed.
 */
void remotes_close(struct remotes *r);

#endif

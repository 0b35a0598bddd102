/* remotes.h - the commands that start `muster agent` on other hosts: ssh or our own for one,
 * srun or mpirun for all.
 *
 * Owns their processes and pipes: how many log in at a time, another try where remote_failure.h
 * has hope, the agent's first words, the boot record that then goes down its standard input,
 * and what a failed one has left as its reason. An open pipe keeps the agent: its end of file
 * means that the head is gone. What a failure means for the job decides job.c.
 */
#ifndef MUSTER_LAUNCHER_IO_REMOTES_H
#define MUSTER_LAUNCHER_IO_REMOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/str.h"
#include "launcher/core/remote_command.h"

struct remotes;
struct uv_loop_s;

/* host and text live as long as the remotes. */
struct remotes_events {
    void *ctx;
    /* The command of this node has ended, for good, and it has no link. why says how,
     * ERR_UNAVAILABLE, without the host's name. One that starts several nodes tells of the
     * first of them that has no link. */
    void (*on_failed)(void *ctx, uint32_t node, const char *host, const struct err *why);
    /* A line that the agent of one host has said and that is none about its way to the head;
     * valid during the call. NULL = nobody asks. */
    void (*on_answer)(void *ctx, uint32_t node, const char *line);
    /* How far it is, in a few words: "ssh refused, trying again". */
    void (*on_state)(void *ctx, uint32_t node, const char *host, const char *state);
};

enum { REMOTES_WINDOW = 32 }; /* logins at a time */

/* limits: of open files, as the commands get them. */
struct remotes *remotes_new(struct uv_loop_s *loop, const struct rlimit *limits,
                            const struct remotes_events *events);

/* A command for the next `nnodes` nodes. All is copied but argv, which is taken over. */
struct remote_command {
    const char *host; /* for messages; of several nodes the program's name */
    uint32_t nnodes;
    struct argv *argv;
    const char *token; /* what the agent's first line has to say; NULL = agents say nothing */
    struct str boot;   /* with a token: the record; wiped once it is sent */
    const char *const *hidden; /* variables that it must not get, NULL-terminated; or NULL */
    bool is_again;             /* another try may help: ssh */
    bool is_group;             /* one program for all nodes: srun, mpirun */
};
void remotes_add(struct remotes *r, const struct remote_command *command);

/* Begins to start them. */
void remotes_start(struct remotes *r);

/* The agent of this node has its link: that its command ends is of no interest any more. */
void remotes_linked(struct remotes *r, uint32_t node);

/* Ends what still runs, once the links are closed: their standard input first, then SIGKILL;
 * srun and mpirun, which tidy up after their tasks, get SIGTERM before.
 * Frees itself once all are reaped and its handles closed. */
void remotes_close(struct remotes *r);

#endif

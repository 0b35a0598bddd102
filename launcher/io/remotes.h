/* remotes.h - the commands that start `muster agent` on other hosts, ssh's or our own.
 *
 * Owns their processes and pipes: how many log in at a time, the agent's first words, the boot
 * record that then goes down its standard input, and what a failed one has left as its reason.
 * An open pipe keeps the agent: its end of file means that the head is gone. What a failure
 * means for the job decides job.c.
 */
#ifndef MUSTER_LAUNCHER_IO_REMOTES_H
#define MUSTER_LAUNCHER_IO_REMOTES_H

#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/str.h"
#include "launcher/core/remote_command.h"

struct remotes;
struct uv_loop_s;

struct remotes_events {
    void *ctx;
    /* The command of this node has ended. why says how, ERR_UNAVAILABLE; it lives as long as
     * the remotes. Not after remotes_linked. */
    void (*on_failed)(void *ctx, uint32_t node, const struct err *why);
};

enum { REMOTES_WINDOW = 32 }; /* logins at a time */

/* limits: of open files, as workers get them. */
struct remotes *remotes_new(struct uv_loop_s *loop, const struct rlimit *limits,
                            const struct remotes_events *events);

/* Adds the command of the next node; takes over argv. host is for messages. token: what its
 * agent's first line has to say. boot: the record, copied and wiped. */
void remotes_add(struct remotes *r, const char *host, struct argv *argv, const char *token,
                 struct str boot);

/* Begins to start them. */
void remotes_start(struct remotes *r);

/* The agent of this node has its link: how its command ends is of no interest any more. */
void remotes_linked(struct remotes *r, uint32_t node);

/* Ends what still runs, once the links are closed: their standard input first, then SIGTERM.
 * Frees itself once all are reaped and its handles closed. */
void remotes_close(struct remotes *r);

#endif

/* head_remotes.h - the head's nodes on other hosts, from the start of their agents to their
 * links.
 *
 * Owns the running commands, who has come, and the moment in which the failures of several
 * hosts are collected (start_faults.h). Which commands the head runs, and which are left to
 * other hosts, decides start_tree.h; what failures mean for the job decides job.c.
 */
#ifndef MUSTER_LAUNCHER_IO_HEAD_REMOTES_H
#define MUSTER_LAUNCHER_IO_HEAD_REMOTES_H

#include "launcher/io/spread.h"

struct head_remotes;

/* Texts stay until head_remotes_free, those of a state until its next one. */
struct head_remotes_events {
    void *ctx;
    void (*on_failed)(void *ctx, uint32_t node, const struct err *err);
    void (*on_state)(void *ctx, uint32_t node, const char *host, const char *state);
};

/* spread is borrowed; limits as remotes_new's. */
struct head_remotes *head_remotes_new(struct uv_loop_s *loop, struct spread *spread,
                                      const struct rlimit *limits,
                                      const struct head_remotes_events *events);

/* Starts the agents, which will look for the head at this port. A command that cannot be made
 * is as one that fails. */
void head_remotes_start(struct head_remotes *hr, uint16_t port);

/* The node behind a link says who it is: appends its SETUP message to out and returns 0; 1 = it
 * has been started twice and the other one is here: a farewell; -1: it is none of them (all has
 * been said). */
int head_remotes_setup(struct head_remotes *hr, uint32_t link, const struct wire_who *who,
                       struct buf *out);

/* Which of the hosts the node behind a link was told to be, if it was. */
struct maybe_u64 head_remotes_place(const struct head_remotes *hr, uint32_t link);

/* When head_remotes_tick is due; UINT64_MAX = never. */
uint64_t head_remotes_deadline(const struct head_remotes *hr);
void head_remotes_tick(struct head_remotes *hr, uint64_t now_ms);

/* Once the links are closed: ends the commands, in the loop. No event comes any more. */
void head_remotes_close(struct head_remotes *hr);

/* After that, once what was told has been read. hr may be NULL. */
void head_remotes_free(struct head_remotes *hr);

#endif

/* events.h - what happens to a job while it runs, as JSON Lines: one object a line, each with
 * "v": 1, "type", "unix_ms" and "generation"; keys and types are only ever added.
 *
 *   job       job, version, program, max_restarts, master_port        once, first
 *   generation  world_size                            the workers are about to be started
 *   started   rank, local_rank, host, pid
 *   exited    rank, local_rank, host, pid, end, was_stopped
 *   stack     rank, local_rank, host, pid, where, step, quiet_ms
 *                                                      what a rank does, at SIGQUIT or a hang
 *   stop      signal, grace_ms, notice_signal, notice_ms
 *                                                      the whole group is told to end
 *   verdict   the keys of the report's "verdict"       what ended the generation
 *   end       status                                   once, last
 *   lost      count       so many were not written before this one: nobody read them
 *
 * A reader that does not read never holds up the job: up to 1 MiB waits for it, what comes then
 * is lost, and at the end the rest gets two seconds. Watches the head machine's steps; decides
 * nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_EVENTS_H
#define MUSTER_LAUNCHER_IO_EVENTS_H

#include <uv.h>

#include "launcher/core/job.h"

struct events;

/* path: a file, emptied, or "-" for standard output. NULL with ERR_USAGE if it cannot be had.
 */
struct events *events_open(uv_loop_t *loop, const char *path, const struct options *opt,
                           struct err *e);

/* After each step of the job: the event that it saw and the effects that it asked for. */
void events_step(struct events *ev, const struct job *job, const struct event *seen,
                 const struct effects *effects);

/* Asynchronous. NULL is fine. */
void events_close(struct events *ev);

#endif

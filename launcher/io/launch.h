/* launch.h - starts the workers of a node: which program, in which environment, with which
 * input, output and terminal.
 *
 * Owns what all of them have in common (struct spawn, paths, environment), who reads standard
 * input and who has the terminal. The process itself is made by spawn.h; when, and what a
 * failure means, is the node machine's.
 */
#ifndef MUSTER_LAUNCHER_IO_LAUNCH_H
#define MUSTER_LAUNCHER_IO_LAUNCH_H

#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"
#include "launcher/io/child.h"
#include "launcher/io/guard.h"
#include "launcher/io/job_files.h"
#include "launcher/io/mpi_host.h"
#include "launcher/io/spawn.h"

struct launch;

/* For one node of a job. opt and facts are borrowed; nofile is the limit of open files that
 * workers get; dev_null, borrowed likewise, what those read that have no other input; input
 * what is read as standard input. */
struct launch *launch_new(const struct options *opt, const struct facts *facts,
                          const struct rlimit *nofile, int dev_null, int input);

/* Once nothing can be started or continued any more: the terminal and standard input are given
 * back. Before the watch set is closed. */
void launch_close(struct launch *l);
void launch_free(struct launch *l); /* after launch_close */

/* What processes of the job have in common; owned by l. */
const struct spawn *launch_spawn(const struct launch *l);

/* The mark of the guard, for all workers from now on (guard_mark). */
void launch_set_mark(struct launch *l, uint64_t mark);

/* Finds the program of a plan, and what is put before it. Starts nothing. 0, or -1 with
 * ERR_NOT_FOUND or ERR_NOT_EXECUTABLE. */
int launch_find(struct launch *l, const struct node_plan *plan, struct err *e);

/* Path of the program; NULL before launch_find. Owned by l. */
const char *launch_program(const struct launch *l);

/* A generation begins: its environment and who reads what. plan is borrowed until the next
 * call; error_dir: folder of error.json files, NULL = none; is_one_by_one: a worker is started
 * when the one before it has been, as an MPI service wants it. 0, or -1 with ERR_SYSTEM. */
int launch_prepare(struct launch *l, const struct node_plan *plan, struct watch_set *watches,
                   const char *error_dir, bool is_one_by_one, struct err *e);

/* Threads of muster that workers are children of, beside the first; known once prepared. */
uint32_t launch_threads(const struct launch *l);

/* Where the workers of this generation say that they are alive; NULL = nowhere. Copied. */
void launch_set_notify(struct launch *l, const char *address);

/* What a worker is started with; everything is borrowed. */
struct launch_with {
    const struct job_files *files;
    struct mpi_host *mpi;
    struct guard *guard;     /* learns of its session; NULL is fine */
    struct child_host *host; /* of the child */
    int exec_pipe;           /* write end */
};

/* Begins to start one worker of the plan; only while the launch is not full. 0, or -1 with
 * ERR_SYSTEM: then nothing is left of it. Every other one is to be ended, before anything else
 * is done to the workers. */
int launch_begin(struct launch *l, const struct launch_with *with, uint32_t local_rank,
                 struct err *e);

/* Whether as many workers are on their way as can be. */
bool launch_is_full(const struct launch *l);

/* How many workers were begun and not ended. */
uint32_t launch_pending(const struct launch *l);

/* Waits for the worker that was begun first, which is not to be called without one, and says
 * which it is. The child, which is the caller's to reap, or NULL with ERR_SYSTEM: then nothing
 * is left of it. with: as at its beginning. */
struct child *launch_end(struct launch *l, const struct launch_with *with, uint32_t *local_rank,
                         struct err *e);

/* All workers of the generation were started, or failed: who shares standard input may read. */
void launch_done(struct launch *l);

/* A worker has ended: its input and its terminal are free. child: NULL if it never was one. */
void launch_ended(struct launch *l, uint32_t local_rank, const struct child *child);

/* All workers are reaped. */
void launch_reaped(struct launch *l);

/* Before a worker gets SIGCONT: who owns the terminal has it again. */
void launch_continue(struct launch *l, const struct child *child);

/* Whether the owner of the terminal was suspended from its keys since this was last asked. */
bool launch_was_suspended(struct launch *l);

#endif

/* spawn_crew.h - threads that start workers beside each other.
 *
 * A vfork suspends the thread that makes it until the child has executed, so one thread starts
 * one worker at a time. A few threads of the crew and its owner, who helps while it waits,
 * start as many at once. A child's parent-death signal is sent when the thread that made it
 * ends (prctl(2)), therefore the threads stay until the crew is freed; and what such a thread
 * has started is listed below that thread in /proc (see descendants_have_threads). Signals are
 * never delivered to them.
 */
#ifndef MUSTER_LAUNCHER_IO_SPAWN_CREW_H
#define MUSTER_LAUNCHER_IO_SPAWN_CREW_H

#include "launcher/io/spawn.h"

struct spawn_crew;

enum spawn_task_state { SPAWN_TASK_WAITING, SPAWN_TASK_RUNNING, SPAWN_TASK_DONE };

/* One worker to start. The caller fills spawn; the rest is the crew's. */
struct spawn_task {
    struct spawn spawn;
    enum spawn_task_state state;
    struct spawn_task *next; /* that waits */
    pid_t pid;
    int pidfd, rc;
    struct err err;
};

/* How many threads are worth their cost beside the owner: none for few workers or CPUs. More
 * than three wait for each other in the kernel (docs/design/0006-vfork.md). */
uint32_t spawn_crew_size(uint32_t ncpus, uint32_t nworkers);

/* A crew of at most nthreads; of fewer, down to none, where the system refuses threads.
 * descriptors: about how many this process will have open, so that room for them is made before
 * there are threads. */
struct spawn_crew *spawn_crew_new(uint32_t nthreads, uint32_t descriptors);

/* The threads it has. */
uint32_t spawn_crew_threads(const struct spawn_crew *c);

/* Ends the threads: only when no worker lives. NULL is fine. */
void spawn_crew_free(struct spawn_crew *c);

/* Begins to start a worker. t and all that t->spawn points to stay as they are until
 * spawn_crew_end has returned for it. */
void spawn_crew_begin(struct spawn_crew *c, struct spawn_task *t);

/* Waits until the worker has executed, or failed to. As spawn_start. */
int spawn_crew_end(struct spawn_crew *c, struct spawn_task *t, pid_t *pid, int *pidfd,
                   struct err *e);

#endif

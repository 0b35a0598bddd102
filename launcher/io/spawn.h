/* spawn.h - starts one worker from memory that was prepared before.
 *
 * The only place that makes a process of a worker. By vfork: the child runs on muster's memory
 * until it has executed, so no page table is copied, and muster waits for it; between the two
 * only async-signal-safe calls are made (see docs/design/0006-vfork.md). The child gets its own
 * session (terminal signals reach it through muster alone; one that owns the terminal gets a
 * process group of muster's session instead), default signal dispositions, an
 * empty signal mask, the original limit of open files, and SIGKILL when muster dies. A failed
 * exec is reported through a pipe that all workers of a generation share.
 */
#ifndef MUSTER_LAUNCHER_IO_SPAWN_H
#define MUSTER_LAUNCHER_IO_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "launcher/core/facts.h"

/* Why the kernel would not bind: errno, 0 = it did, or was not asked. The worker starts all the
 * same. */
struct spawn_refusal {
    int cpus, memory;
};

struct spawn {
    const char *path; /* what is executed; from spawn_find */
    char *const *argv, *const *envp;
    int in, out, err;              /* become 0, 1, 2; out and err above 2 */
    int terminal;                  /* the controlling one that it owns; -1 = none */
    bool is_foreground;            /* with terminal: its group becomes the foreground group */
    int exec_pipe;                 /* write end, close-on-exec, above 2 */
    int inherited;                 /* one more descriptor of the worker, above 2; -1 = none */
    uint32_t local_rank;           /* goes into a failure's record */
    struct rlimit nofile;          /* of the worker */
    uint64_t mark;                 /* its soft RLIMIT_LOCKS, see guard.h; 0 = as muster's */
    sigset_t changed;              /* signals that muster ignores or handles */
    pid_t parent;                  /* muster's pid */
    const struct cpu_set *cpus;    /* where it runs; NULL = where muster may */
    int mem_node;                  /* preferred NUMA node; -1 = muster's own policy */
    struct spawn_refusal *refusal; /* filled by spawn_start if cpus or mem_node is set */
};

/* A failed exec, as read from the pipe. Written in one piece. */
struct spawn_failure {
    uint32_t local_rank;
    int sys;
};

/* Where program (a path, or a name to look up in PATH) is, as execvp would find it;
 * `muster-worker` is also looked for beside muster itself. What a script's first line names has
 * to be there, too. NULL with ERR_NOT_FOUND or ERR_NOT_EXECUTABLE; free with free(). */
char *spawn_find(const char *program, const struct facts *facts, struct err *e);

/* Sets changed and parent to what this process is now, mem_node, terminal and inherited to -1
 * and the rest to zero. */
void spawn_init(struct spawn *s);

/* Starts it. *pidfd refers to the child and is close-on-exec. 0, or -1 with ERR_SYSTEM when
 * there is no child. */
int spawn_start(const struct spawn *s, pid_t *pid, int *pidfd, struct err *e);

#endif

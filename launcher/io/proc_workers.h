/* proc_workers.h - which processes are whose, by one look through /proc. A worker leads a
 * session, and what is in that is its own, whoever the parent. The one that owns the terminal
 * leads no session but a process group of muster's: its own are that group and what descends
 * from it; what it has left behind in other groups is not found. Reads only.
 */
#ifndef MUSTER_LAUNCHER_IO_PROC_WORKERS_H
#define MUSTER_LAUNCHER_IO_PROC_WORKERS_H

#include <stddef.h>

#include "launcher/io/proc_stat.h"

struct proc_worker {
    pid_t pid;
    pid_t worker; /* whose it is */
    struct proc_stat stat;
};

struct proc_workers {
    struct proc_worker *items; /* by pid; zombies too */
    size_t len, cap;
};

/* All processes that are of one of workers[0..n); 0 there is nobody. Freed with
 * proc_workers_fini. */
void proc_workers_read(const pid_t *workers, size_t n, struct proc_workers *out);
void proc_workers_fini(struct proc_workers *p);

#endif

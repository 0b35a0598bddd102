/* proc_look.h - what /proc says that the processes of some workers are doing. Reads only; a
 * file that may not be read leaves its field empty. */
#ifndef MUSTER_LAUNCHER_IO_PROC_LOOK_H
#define MUSTER_LAUNCHER_IO_PROC_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc_look {
    pid_t pid, parent;
    pid_t worker; /* whose it is */
    char state;   /* its letter, proc(5) */
    long nthreads;
    unsigned long long start_ticks; /* as in proc_stat */
    bool is_python;
    char name[32];    /* comm */
    char syscall[32]; /* name or number; "" = running, or not to be read */
    char wchan[64];
    char kernel[256]; /* innermost functions of its kernel stack, "a < b < c" */
};

struct proc_looks {
    struct proc_look *items; /* by pid */
    size_t len;
};

/* All live processes of workers[0..n), see proc_workers.h. Freed with proc_looks_fini. */
void proc_look_workers(const pid_t *workers, size_t n, struct proc_looks *out);
void proc_looks_fini(struct proc_looks *l);

/* The process of the worker that does the work: itself, or where that is no Python and one of
 * its others is, the first Python; or whom a waiting worker waits for. NULL if /proc shows none
 * of them alive. */
const struct proc_look *proc_look_main(const struct proc_looks *l, pid_t worker);

/* Whether pid is still what it was when it was seen. */
bool proc_look_is_same(const struct proc_look *p);

#endif

/* proc_look.h - what /proc says that the processes of some sessions are doing. Reads only; a
 * file that may not be read leaves its field empty. */
#ifndef MUSTER_LAUNCHER_IO_PROC_LOOK_H
#define MUSTER_LAUNCHER_IO_PROC_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc_look {
    pid_t pid, parent, session;
    char state; /* its letter, proc(5) */
    long nthreads;
    bool is_python;
    char name[32];    /* comm */
    char syscall[32]; /* name or number; "" = running, or not to be read */
    char wchan[64];
    char kernel[256]; /* innermost functions of its kernel stack, "a < b < c" */
};

struct proc_looks {
    struct proc_look *items; /* by pid */
    size_t len, cap;
};

/* All live processes whose session is among sessions[0..n). Freed with proc_looks_fini. */
void proc_look_sessions(const pid_t *sessions, size_t n, struct proc_looks *out);
void proc_looks_fini(struct proc_looks *l);

/* The process of the session that does the work: its leader, or where that is no Python and
 * something below it is, the first Python; or whom a waiting leader waits for. NULL if the
 * session has none. */
const struct proc_look *proc_look_main(const struct proc_looks *l, pid_t session);

/* Whether pid is still what it was when it was seen. */
bool proc_look_is_same(const struct proc_look *p);

#endif

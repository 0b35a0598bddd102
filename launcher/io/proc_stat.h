/* proc_stat.h - what /proc/PID/stat says of a process, as far as muster and its guard ask. */
#ifndef MUSTER_LAUNCHER_IO_PROC_STAT_H
#define MUSTER_LAUNCHER_IO_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* session 0 may also mean one outside our pid namespace. Ticks are those of sysconf(3). */
struct proc_stat {
    char state;
    pid_t parent, group, session;
    long nthreads, rss_pages;
    unsigned long user_ticks, system_ticks;
    unsigned long long start_ticks; /* since the boot: with the pid, which process it is */
};

/* False when the process is gone. Allocates nothing. Format: proc(5). */
bool proc_stat_read(pid_t pid, struct proc_stat *out);

/* Its effective user, in our user namespace. False when it is gone. */
bool proc_stat_user(pid_t pid, uint32_t *uid);

/* Its soft limit of file locks, which is the job's mark (guard.h); 0 = none, or the process is
 * gone. Unlike prlimit(2) this needs no right over a process that has changed its user. */
uint64_t proc_stat_mark(pid_t pid);

/* Whether it can still do anything. A process whose first thread has ended looks like a zombie
 * while its other threads live. */
bool proc_stat_is_alive(const struct proc_stat *stat);

#endif

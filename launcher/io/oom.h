/* oom.h - whether the kernel's out-of-memory killer has been at work, as the kernel counts it:
 * evidence for a worker that died by a SIGKILL that muster did not send. Reads files only.
 */
#ifndef MUSTER_LAUNCHER_IO_OOM_H
#define MUSTER_LAUNCHER_IO_OOM_H

#include <stdbool.h>
#include <stdint.h>

struct oom_count {
    bool has_group; /* group is known (the memory controller is on, in version 2 or 1) */
    uint64_t group; /* oom_kill of muster's own cgroup: of memory.events, those below included;
                       of version 1's memory.oom_control (Linux 4.13) */
    uint64_t limit; /* bytes, the tightest memory.max up to the root, or version 1's
                       memory.limit_in_bytes; UINT64_MAX = none */
    uint64_t peak;  /* bytes; 0 = unknown (version 2 before Linux 5.19) */
    bool has_failcnt;  /* version 1 that does not count kills: failcnt is known */
    bool is_under_oom; /* memory is wanted right now that cannot be had */
    uint64_t failcnt;  /* how often the limit was hit; not each time somebody dies of it */
    bool has_machine;
    uint64_t
        machine; /* oom_kill of /proc/vmstat: of the whole machine; where group is unknown */
};

/* The counters, which every start pays for. root: before /proc and /sys, "" but in tests.
 * Whatever cannot be read is unknown; so are the limit and the peak. */
void oom_count_read(const char *root, struct oom_count *c);

/* Adds the limit and the peak, for what is said of a death. */
void oom_sizes_read(const char *root, struct oom_count *c);

/* "the cgroup's memory limit was hit (oom_kill 3 -> 4, limit 2.0 GiB)", or less where less is
 * known; NULL if no counter has grown. Free with free(). */
char *oom_cause(const struct oom_count *before, const struct oom_count *after);

#endif

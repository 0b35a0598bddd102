/* stacks.h - finds out what the workers of a node are doing: /proc of every process of theirs
 * (proc_workers.h), then, where one is installed and permitted, a tool that prints stacks; at
 * the end of a job Python workers that no tool could read are made to print their own by
 * SIGABRT.
 *
 * Asynchronous and bounded: five seconds a tool, ten in all, three for Python. Puts into words
 * what was found; which rank differs is not decided here.
 */
#ifndef MUSTER_LAUNCHER_IO_STACKS_H
#define MUSTER_LAUNCHER_IO_STACKS_H

#include "launcher/io/stack_tool.h"

struct stacks;

struct stacks_subject {
    uint32_t local_rank, rank;
    pid_t pid; /* a worker that runs */
};

struct stacks_events {
    void *ctx;
    /* What this rank is doing, one line; valid until the next stacks_begin. */
    void (*on_rank)(void *ctx, uint32_t local_rank, const char *where);
    /* For people: short for the screen, long for a file. Then it is over. */
    void (*on_end)(void *ctx, const char *screen, const char *file);
    /* From now on (true) the stderr of this rank is wanted too, by stacks_stderr. */
    void (*on_capture)(void *ctx, uint32_t local_rank, bool is_wanted);
};

/* tool: "auto", "none" or one name. Everything is borrowed. */
struct stacks *stacks_new(const struct helper_host *host, const char *tool,
                          const struct stacks_events *events);
/* Ends what is running, without a callback; NULL is fine. */
void stacks_free(struct stacks *s);

/* Looks at these ranks; on_end follows, perhaps before this returns. Not while it is running.
 * may_abort: only Python ranks whose stack the look before could not show are dealt with. */
void stacks_begin(struct stacks *s, const struct stacks_subject *subjects, size_t n,
                  bool may_abort, uint64_t now_ms);
bool stacks_is_running(const struct stacks *s);

/* What a captured rank has written. */
void stacks_stderr(struct stacks *s, uint32_t local_rank, const char *p, size_t n);

/* When stacks_tick is due; UINT64_MAX = never. */
uint64_t stacks_deadline(const struct stacks *s);
void stacks_tick(struct stacks *s, uint64_t now_ms);

#endif

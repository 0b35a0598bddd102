/* helper.h - starts a process of muster's that is no worker: a tool that looks at one, a
 * program that measures. It gets what a worker gets of limits, signals and mark, runs where
 * muster may, and owns neither a terminal nor a rank.
 */
#ifndef MUSTER_LAUNCHER_IO_HELPER_H
#define MUSTER_LAUNCHER_IO_HELPER_H

#include "launcher/core/facts.h"
#include "launcher/io/spawn.h"
#include "launcher/io/watch.h"

/* What all helpers of a node have in common. Borrowed, and outlives them. */
struct helper_host {
    struct watch_set *watches; /* for the helper's owner */
    const struct spawn *spawn; /* of a worker: limits, signals, mark */
    const struct facts *facts; /* for the environment */
    int dev_null;
    void *ctx;
    void (*on_started)(void *ctx, pid_t pid); /* a child that is no worker */
};

struct helper_streams {
    int in, out, err; /* out: above 2 and close-on-exec */
};

/* Starts path with these words and this environment. A failed exec leaves a few bytes in out
 * (struct spawn_failure). 0, with *pidfd close-on-exec, or -1 with ERR_SYSTEM. */
int helper_start(const struct helper_host *host, const char *path, char *const *argv,
                 char *const *envp, const struct helper_streams *streams, pid_t *pid,
                 int *pidfd, struct err *e);

#endif

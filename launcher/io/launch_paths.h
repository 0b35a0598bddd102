/* launch_paths.h - what the workers of a node execute: the program, and what --wrap puts before
 * it, found before anything is started.
 */
#ifndef MUSTER_LAUNCHER_IO_LAUNCH_PATHS_H
#define MUSTER_LAUNCHER_IO_LAUNCH_PATHS_H

#include "base/err.h"
#include "launcher/core/facts.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"

/* Zeroed: nothing was found yet. */
struct launch_paths {
    char *program;   /* path of the program */
    char **wrappers; /* path of what a wrapped worker executes; NULL without --wrap */
    uint32_t nwrappers;
};

/* Finds both for a plan; what was found before is freed. 0, or -1 with ERR_NOT_FOUND or
 * ERR_NOT_EXECUTABLE. */
int launch_paths_find(struct launch_paths *p, const struct options *opt,
                      const struct facts *facts, const struct node_plan *plan, struct err *e);

/* What a worker executes; owned by p. */
const char *launch_paths_of(const struct launch_paths *p, const struct worker_plan *w);

void launch_paths_fini(struct launch_paths *p);

#endif

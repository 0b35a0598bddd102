/* plan_env.h - the environment of a node's workers laid open: what muster writes, what it
 * hides, what it passes on.
 *
 * Made from worker_env, so it cannot differ from what workers get. What is only known at a
 * start (a free port, a private folder) is said in parentheses. Printing is plan_render's and
 * plan_json's.
 */
#ifndef MUSTER_LAUNCHER_CORE_PLAN_ENV_H
#define MUSTER_LAUNCHER_CORE_PLAN_ENV_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/core/facts.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/options.h"

/* A variable that muster writes. */
struct plan_var {
    char *name;
    char **values; /* one a local rank; NULL = this rank does not get it */
    bool is_same;  /* every rank gets the same value */
};

struct plan_env {
    struct plan_var *vars;
    size_t nvars;
    uint32_t nranks;
    const char **hidden; /* inherited NAME=VALUE that no worker gets; borrowed from facts */
    size_t nhidden;
    const char **passed; /* inherited NAME=VALUE that every worker gets; likewise */
    size_t npassed;
};

/* log_dir: folder of this attempt's files, NULL = a private one. */
void plan_env_init(struct plan_env *env, const struct options *opt, const struct facts *facts,
                   const struct node_plan *plan, const char *log_dir);
void plan_env_fini(struct plan_env *env);

/* Folder of an attempt's log files as `run` makes it, LOG-DIR/JOB/0 (torchrun's layout:
 * LOG-DIR/JOB_(random)/attempt_0); NULL without --log-dir. Free with free(). A folder of that
 * job that exists already gives run's a number behind it. */
char *plan_log_dir(const struct options *opt, const struct node_plan *plan);

#endif

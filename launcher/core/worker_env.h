/* worker_env.h - the environment of one worker, from contract.h and the node's plan. Pure: the
 * inherited environment comes in as a list.
 *
 * Options that muster took from the environment are not passed on: they were meant for this
 * muster, not for another one that a worker may start. What all workers of a node share is
 * sorted out once; each worker then costs one array of pointers and its own values.
 */
#ifndef MUSTER_LAUNCHER_CORE_WORKER_ENV_H
#define MUSTER_LAUNCHER_CORE_WORKER_ENV_H

#include "launcher/core/facts.h"
#include "launcher/core/node_plan.h"

struct worker_env;

/* Keeps references to facts, plan and error_dir (where error.json files go, NULL = nowhere);
 * they must outlive it. */
struct worker_env *worker_env_new(const struct facts *facts, const struct node_plan *plan,
                                  const char *error_dir);
void worker_env_free(struct worker_env *env);

/* The value of MUSTER_NOTIFY_SOCKET, kept by reference; NULL = the variable is not written. */
void worker_env_set_notify(struct worker_env *env, const char *address);

/* The ports that the presets of --compat need, kept by reference; NULL = not known yet. */
void worker_env_set_ports(struct worker_env *env, const uint16_t *ports);

/* The NULL-terminated NAME=VALUE list of the worker with this local rank; valid until the next
 * call or free. */
char *const *worker_env_build(struct worker_env *env, uint32_t local_rank);

/* Whether an inherited variable identifies a task of an outer launcher and is hidden from
 * workers, unless --scheduler-env says otherwise. */
bool worker_env_is_hidden(const char *variable);

#endif

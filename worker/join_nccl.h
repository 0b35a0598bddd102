/* join_nccl.h - the steps of join.h that need NCCL, with an empty version for builds without.
 *
 * Owns struct library: the loaded NCCL, the ids and the RAS port.
 */
#ifndef MUSTER_WORKER_JOIN_NCCL_H
#define MUSTER_WORKER_JOIN_NCCL_H

#include <stddef.h>

#include "worker/join.h"

/* What has to be in the environment before NCCL is loaded; in phase cuda_ok. 0 or a status. */
int library_environment(struct worker *w, struct err *e);

/* Whether there is such a library at all, in a build without NCCL too: 0, or -1 with the reason
 * in why. It is not kept. */
int library_find(const char *path, char *why, size_t size);

/* -1 with the reason in why; path NULL: the system's. */
int library_load(struct library **out, const char *path, char *why, size_t size);
void library_free(struct library *l); /* NULL is fine */

/* Adds "nccl=", "nccl_path=" and "settings=" (a hash of NCCL_* variables) to a record. */
void library_describe(const struct library *l, struct buf *record);

/* Appends nccl_header= (what this was built with), nccl_version= and nccl_file=, or
 * nccl_error=, a line each; nothing in a build without NCCL. path NULL: the system's. */
void library_facts(const char *path, struct buf *out);

/* The version as text and the file; "" in a build without NCCL. */
void library_version(const struct library *l, const char **version, const char **path);

/* Phases uid_seen and reach; then the communicator. 0 or a status. */
int library_ids(struct worker *w, struct err *e);
int library_connect(struct worker *w, struct err *e);

#endif

/* env_forward.h - which variables travel to the workers of other hosts.
 *
 * Owns the rule: what frameworks and libraries are steered by goes from the head to all; what
 * describes one machine or one process never does; then --env-file, then -x, which win. Pure:
 * the environment and the file's text come in.
 */
#ifndef MUSTER_LAUNCHER_CORE_ENV_FORWARD_H
#define MUSTER_LAUNCHER_CORE_ENV_FORWARD_H

#include "base/err.h"
#include "base/str.h"
#include "launcher/core/options.h"

/* A list of NAME=VALUE, NULL-terminated; entries are owned. */
struct env_list {
    char **items;
    size_t n, cap;
    uint32_t *index; /* by hash of the name: place in items + 1; 0 = free */
    size_t nindex;   /* a power of two, or 0 */
};

/* Frees the entries; the list is empty then. Zero-initialised memory is an empty list. */
void env_list_fini(struct env_list *list);

/* Sets a variable: a later value takes the place of an earlier one. Takes the same time however
 * many there are. */
void env_list_set(struct env_list *list, struct str name, struct str value);

/* What of environment travels, then the lines of a file (NAME=VALUE, empty ones and #comments;
 * values as they stand, file_name for messages; a text with p NULL = no file), then
 * opt->forward. 0, or -1 with ERR_USAGE for a line or a name that is none, a name that cannot
 * travel, a -x NAME that is not set; out then holds what came before. */
int env_forward(const struct options *opt, const char *const *environment, struct str file,
                const char *file_name, struct env_list *out, struct err *e);

#endif

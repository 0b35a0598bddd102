/* prefix.h - the words before each line of a worker's output, from a template.
 *
 * {rank}, {local_rank}, {host} and {time} are replaced; everything else stands as it is, also a
 * brace without a name in it. Pure: the time comes in as text.
 */
#ifndef MUSTER_LAUNCHER_CORE_PREFIX_H
#define MUSTER_LAUNCHER_CORE_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define PREFIX_NAMES "{rank}, {local_rank}, {host} and {time}"

struct prefix_fields {
    uint32_t rank, local_rank;
    const char *host;
    const char *time; /* HH:MM:SS.mmm */
    bool has_colour;  /* one of six colours by rank, as a terminal takes them (ECMA-48 SGR) */
};

/* The first {name} of letters and "_" that is not known, with its braces; empty if all are. */
struct str prefix_unknown(const char *template);

/* Whether the template names the time, so that each line has a prefix of its own. */
bool prefix_has_time(const char *template);

/* Appends what the template gives for one line, in colour if the fields say so. */
void prefix_format(const char *template, const struct prefix_fields *fields, struct buf *out);

/* torchrun's templates (Python's string.Template, unknown names stay): $name or ${name} of
 * role_name, local_rank, rank and hostname; "$$" is "$". Without colour. */
void prefix_dollar_format(const char *template, const struct prefix_fields *fields,
                          const char *role, struct buf *out);

#endif

/* check_places.h - the sides of a map of pairs: each rank, or where there are too many to be
 * seen each host with the mean of its ranks. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_PLACES_H
#define MUSTER_LAUNCHER_CORE_CHECK_PLACES_H

#include "launcher/core/check_result.h"

/* All of it is owned. */
struct check_places {
    char **names;  /* a rank's number, or a host */
    size_t *group; /* place of each rank */
    size_t n;
};

/* Places of ranks: each its own up to max, else their hosts (which may still be more). Free
 * with check_places_fini. */
void check_places_find(const struct check_result *r, size_t ranks, size_t max,
                       struct check_places *out);
void check_places_fini(struct check_places *p);

/* The mean between each two places of what is known; a rank and itself are no pair. out: at is
 * the caller's to free. */
void check_places_mean(const struct check_matrix *m, const struct check_places *p,
                       struct check_matrix *out);

#endif

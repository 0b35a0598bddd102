/* pmix_job.h - the description of a job that a PMIx server registers: who is where, in PMIx's
 * keys. Builds values, calls nothing of the library.
 */
#ifndef MUSTER_LAUNCHER_IO_PMIX_JOB_H
#define MUSTER_LAUNCHER_IO_PMIX_JOB_H

#include <pmix_server.h>

#include "launcher/io/mpi_service.h"

/* A list of key and value. Zero-initialised by the owner; text in it is the list's own. */
struct pmix_list {
    pmix_info_t *items;
    size_t len, cap;
};

/* Append a value under a key of PMIx; key and text are copied. */
void pmix_list_text(struct pmix_list *list, const char *key, const char *value);
void pmix_list_rank(struct pmix_list *list, const char *key, uint32_t value);
void pmix_list_fini(struct pmix_list *list);

/* Appends all that is known of the job: sizes, maps, ranks, and dir as the folder of this
 * generation, which exists. */
void pmix_job_describe(const struct mpi_world *world, const char *dir, struct pmix_list *out);

#endif

/* pmix_fence.h - what clients of libpmix need of other nodes: fences, and what a rank elsewhere
 * has to tell before any fence has brought it (direct modex).
 *
 * libpmix asks and answers on its own threads; here all of it meets on the loop's. Knows no
 * client and no state of one: pmix_server.h.
 */
#ifndef MUSTER_LAUNCHER_IO_PMIX_FENCE_H
#define MUSTER_LAUNCHER_IO_PMIX_FENCE_H

#include "launcher/io/mpi_service.h"
#include "launcher/io/pmix_api.h"

struct pmix_fences;

/* Everything is borrowed. Of context, the loop and the peers. */
struct pmix_fences *pmix_fences_new(const struct mpi_context *context,
                                    const struct pmix_api *api);
/* After libpmix was finalized, so that none of its threads is here. Asynchronous: frees itself.
 */
void pmix_fences_close(struct pmix_fences *p);

/* A generation begins; *world must stay until its end. Then what is open is forgotten, once
 * libpmix has forgotten its clients. */
void pmix_fences_begin(struct pmix_fences *p, const struct mpi_world *world);
void pmix_fences_end(struct pmix_fences *p);

/* Upcalls, on any thread. data, from malloc, is taken. done is called from the loop's thread
 * unless something else than PMIX_SUCCESS is returned. */
pmix_status_t pmix_fences_enter(struct pmix_fences *p, const pmix_proc_t *procs, size_t nprocs,
                                char *data, size_t ndata, pmix_modex_cbfunc_t done, void *ctx);
pmix_status_t pmix_fences_ask(struct pmix_fences *p, const pmix_proc_t *proc,
                              pmix_modex_cbfunc_t done, void *ctx);

/* Another node asks about a rank of this one, as in struct mpi_service. */
void pmix_fences_wanted(struct pmix_fences *p, const struct gather *wanted);

#endif

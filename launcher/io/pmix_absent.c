#include "launcher/io/pmix_server.h"

/* In place of pmix_server.c in a build without PMIx. */
static void *absent_open(const struct mpi_context *context, struct err *e)
{
    (void)context;
    err_set(e, ERR_UNAVAILABLE, "PMIx: this muster was built without it (MUSTER_PMIX)");
    return NULL;
}

const struct mpi_service pmix_service = {.name = "PMIx", .open = absent_open};

#include "launcher/io/mpi_service.h"

#include <stdlib.h>

#include "base/mem.h"

static void gather_alone(void *ctx, const char *operation, const uint32_t *nodes, size_t nnodes,
                         const char *data, size_t n, mpi_gathered *done, void *done_ctx)
{
    (void)ctx;
    (void)operation;
    (void)nodes;
    (void)nnodes;
    done(done_ctx, data ? data : "", n);
}

static void forget_alone(void *ctx)
{
    (void)ctx;
}

const struct mpi_peers mpi_peers_alone = {NULL, gather_alone, forget_alone};

void mpi_ticket_add(struct mpi_ticket *t, bool is_default, char *entry)
{
    array_grow(t->variables, t->len, t->cap);
    t->variables[t->len++] = (struct mpi_variable){entry, is_default};
}

void mpi_ticket_fini(struct mpi_ticket *t)
{
    for (size_t i = 0; i < t->len; i++)
        free(t->variables[i].entry);
    free(t->variables);
    *t = (struct mpi_ticket){.fd = -1};
}

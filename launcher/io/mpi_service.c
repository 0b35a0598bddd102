#include "launcher/io/mpi_service.h"

#include <stdarg.h>
#include <stdio.h>
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

void mpi_ticket_add(struct mpi_ticket *t, bool is_default, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *entry = mem_alloc((size_t)n + 1, 1);
    va_start(ap, fmt);
    vsnprintf(entry, (size_t)n + 1, fmt, ap);
    va_end(ap);
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

#include "launcher/io/mpi_service.h"

#include <stdlib.h>

#include "base/mem.h"

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

#include "launcher/io/mpi_link.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

struct waiting {
    struct list link; /* of those that wait, or are over */
    char *operation, *data;
    uint32_t *nodes;
    mpi_gathered *done;
    void *done_ctx;
};

struct mpi_link {
    struct mpi_peers peers;
    mpi_link_ask *ask;
    void *ctx;
    struct list waiting, over;
};

static void end_wait(struct mpi_link *l, struct waiting *w)
{
    list_remove(&w->link);
    list_push(&l->over, &w->link);
}

static void gather(void *ctx, const struct gather *piece, mpi_gathered *done, void *done_ctx)
{
    struct mpi_link *l = ctx;
    if (piece->nnodes <= 1) { /* it has come to itself */
        done(done_ctx, piece->data.n ? piece->data.p : "", piece->data.n);
        return;
    }
    struct waiting *w = mem_alloc(1, sizeof *w);
    w->operation = mem_strdup(piece->operation);
    w->nodes = mem_dup(piece->nodes, piece->nnodes * sizeof *w->nodes);
    w->data = piece->data.n ? mem_dup(piece->data.p, piece->data.n) : NULL;
    w->done = done;
    w->done_ctx = done_ctx;
    list_push(&l->waiting, &w->link);
    struct gather copy = *piece;
    copy.operation = w->operation;
    copy.nodes = w->nodes;
    copy.data.p = w->data;
    l->ask(l->ctx, &copy);
}

static void forget(void *ctx)
{
    struct mpi_link *l = ctx;
    while (!list_is_empty(&l->waiting))
        end_wait(l, list_first(&l->waiting, struct waiting, link));
}

struct mpi_link *mpi_link_new(mpi_link_ask *ask, void *ctx)
{
    struct mpi_link *l = mem_alloc(1, sizeof *l);
    l->peers = (struct mpi_peers){l, gather, forget};
    l->ask = ask;
    l->ctx = ctx;
    list_init(&l->waiting);
    list_init(&l->over);
    return l;
}

void mpi_link_free(struct mpi_link *l)
{
    if (!l)
        return;
    forget(l);
    mpi_link_settle(l);
    free(l);
}

const struct mpi_peers *mpi_link_peers(const struct mpi_link *l)
{
    return &l->peers;
}

void mpi_link_gathered(struct mpi_link *l, const struct gathered *gathered)
{
    for (struct list *at = l->waiting.next; at != &l->waiting; at = at->next) {
        struct waiting *w = list_entry(at, struct waiting, link);
        if (strcmp(w->operation, gathered->operation) != 0)
            continue;
        end_wait(l, w);
        const struct str *data = &gathered->data;
        w->done(w->done_ctx, gathered->is_lost ? NULL : data->n ? data->p : "", data->n);
        return;
    }
}

void mpi_link_settle(struct mpi_link *l)
{
    while (!list_is_empty(&l->over)) {
        struct waiting *w = list_first(&l->over, struct waiting, link);
        list_remove(&w->link);
        free(w->operation);
        free(w->data);
        free(w->nodes);
        free(w);
    }
}

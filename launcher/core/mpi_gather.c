#include "launcher/core/mpi_gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/buf.h"
#include "base/mem.h"

struct meeting {
    struct list link; /* of those that are open, or answered */
    char *operation;
    uint32_t *nodes, *present; /* who takes part; who has come, in that order */
    uint32_t nnodes, npresent;
    struct buf pieces;
};

struct mpi_gather {
    struct list open, answered;
    size_t nopen, nbytes; /* bytes: of the open ones */
    uint32_t nnodes;
    bool *is_gone; /* by node */
};

struct mpi_gather *mpi_gather_new(void)
{
    struct mpi_gather *g = mem_alloc(1, sizeof *g);
    list_init(&g->open);
    list_init(&g->answered);
    return g;
}

static void drop_all(struct list *meetings)
{
    while (!list_is_empty(meetings)) {
        struct meeting *m = list_first(meetings, struct meeting, link);
        list_remove(&m->link);
        buf_fini(&m->pieces);
        free(m->operation);
        free(m->nodes);
        free(m->present);
        free(m);
    }
}

void mpi_gather_settle(struct mpi_gather *g)
{
    drop_all(&g->answered);
}

void mpi_gather_begin(struct mpi_gather *g, uint32_t nnodes)
{
    drop_all(&g->answered);
    drop_all(&g->open);
    free(g->is_gone);
    g->is_gone = mem_alloc(nnodes, sizeof *g->is_gone);
    g->nnodes = nnodes;
    g->nopen = g->nbytes = 0;
}

void mpi_gather_free(struct mpi_gather *g)
{
    if (!g)
        return;
    mpi_gather_begin(g, 0);
    free(g->is_gone);
    free(g);
}

/* ---- meetings ---- */

static struct meeting *find(const struct mpi_gather *g, const char *operation)
{
    for (struct list *at = g->open.next; at != &g->open; at = at->next) {
        struct meeting *m = list_entry(at, struct meeting, link);
        if (strcmp(m->operation, operation) == 0)
            return m;
    }
    return NULL;
}

static struct meeting *open_meeting(struct mpi_gather *g, const struct gather *piece)
{
    struct meeting *m = mem_alloc(1, sizeof *m);
    m->operation = mem_strdup(piece->operation);
    m->nodes = mem_dup(piece->nodes, piece->nnodes * sizeof *m->nodes);
    m->nnodes = piece->nnodes;
    m->present = mem_alloc(piece->nnodes, sizeof *m->present);
    buf_init(&m->pieces, MPI_GATHER_BYTES_MAX);
    list_push(&g->open, &m->link);
    g->nopen++;
    return m;
}

static bool has(const uint32_t *nodes, uint32_t n, uint32_t node)
{
    for (uint32_t i = 0; i < n; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static void close_meeting(struct mpi_gather *g, struct meeting *m, struct mpi_answer *answer)
{
    list_remove(&m->link);
    list_push(&g->answered, &m->link);
    g->nopen--;
    g->nbytes -= m->pieces.len;
    *answer = (struct mpi_answer){
        .nodes = m->present,
        .nnodes = m->npresent,
        .gathered = {.operation = m->operation, .data = {m->pieces.data, m->pieces.len}}};
}

static void close_lost(struct mpi_gather *g, struct meeting *m, uint32_t missing,
                       struct mpi_answer *answer)
{
    close_meeting(g, m, answer);
    answer->missing = missing;
    answer->gathered.is_lost = true;
    answer->gathered.data = (struct str){NULL, 0};
}

/* ---- what may come ---- */

static int check_nodes(const struct mpi_gather *g, uint32_t node, const struct gather *piece,
                       struct err *e)
{
    for (uint32_t i = 0; i < piece->nnodes; i++)
        if (piece->nodes[i] >= g->nnodes || (i && piece->nodes[i] <= piece->nodes[i - 1]))
            return err_set(e, ERR_PROTOCOL,
                           "MPI: node %u names nodes that the job does not have", node);
    if (!has(piece->nodes, piece->nnodes, node))
        return err_set(e, ERR_PROTOCOL, "MPI: node %u comes where it does not take part", node);
    return 0;
}

static int check_bounds(const struct mpi_gather *g, const struct meeting *m,
                        const struct gather *piece, struct err *e)
{
    size_t n = piece->data.n + (m ? m->pieces.len : 0);
    if (n > MPI_GATHER_BYTES_MAX)
        return err_set(e, ERR_LIMIT,
                       "MPI: what the ranks tell each other at one fence or barrier has more "
                       "than %d MiB, and no more can travel between nodes",
                       MPI_GATHER_BYTES_MAX >> 20);
    if (!m && g->nopen == MPI_GATHER_OPEN_MAX)
        return err_set(e, ERR_LIMIT, "MPI: more than %d fences wait for nodes at a time",
                       MPI_GATHER_OPEN_MAX);
    if (g->nbytes + piece->data.n > MPI_GATHER_TOTAL_MAX)
        return err_set(e, ERR_LIMIT,
                       "MPI: more than %d MiB wait in fences that are not complete",
                       MPI_GATHER_TOTAL_MAX >> 20);
    return 0;
}

static int check_meeting(const struct meeting *m, uint32_t node, const struct gather *piece,
                         struct err *e)
{
    if (!m)
        return 0;
    if (m->nnodes != piece->nnodes
        || memcmp(m->nodes, piece->nodes, m->nnodes * sizeof *m->nodes) != 0)
        return err_set(e, ERR_PROTOCOL,
                       "MPI: nodes %u and %u do not agree on who takes part in a fence",
                       m->present[0], node);
    if (has(m->present, m->npresent, node))
        return err_set(e, ERR_PROTOCOL, "MPI: node %u comes twice to a fence", node);
    return 0;
}

/* Nothing comes of it: those that wait hear so, and who came last. */
static int refuse(struct mpi_gather *g, struct meeting *m, uint32_t node,
                  const struct gather *piece, struct mpi_answer *answer)
{
    const struct gather alone = {piece->operation, &node, 1, {false, 0}, {NULL, 0}};
    if (!m)
        m = open_meeting(g, &alone);
    if (!has(m->present, m->npresent, node) && m->npresent < m->nnodes)
        m->present[m->npresent++] = node;
    close_lost(g, m, node, answer);
    return -1;
}

static const uint32_t *find_gone(const struct mpi_gather *g, const struct meeting *m)
{
    for (uint32_t i = 0; i < m->nnodes; i++)
        if (g->is_gone[m->nodes[i]] && !has(m->present, m->npresent, m->nodes[i]))
            return &m->nodes[i];
    return NULL;
}

int mpi_gather_take(struct mpi_gather *g, uint32_t node, const struct gather *piece,
                    struct mpi_answer *answer, struct err *e)
{
    struct meeting *m = find(g, piece->operation);
    if (check_nodes(g, node, piece, e) < 0 || check_meeting(m, node, piece, e) < 0
        || check_bounds(g, m, piece, e) < 0)
        return refuse(g, m, node, piece, answer);
    if (!m)
        m = open_meeting(g, piece);
    m->present[m->npresent++] = node;
    buf_add(&m->pieces, piece->data.p, piece->data.n);
    g->nbytes += piece->data.n;
    const uint32_t *gone = find_gone(g, m);
    if (gone)
        close_lost(g, m, *gone, answer);
    else if (m->npresent == m->nnodes)
        close_meeting(g, m, answer);
    else
        return 0;
    return 1;
}

bool mpi_gather_leave(struct mpi_gather *g, uint32_t node, struct mpi_answer *answer)
{
    if (node >= g->nnodes)
        return false;
    g->is_gone[node] = true;
    for (struct list *at = g->open.next; at != &g->open; at = at->next) {
        struct meeting *m = list_entry(at, struct meeting, link);
        if (!has(m->nodes, m->nnodes, node) || has(m->present, m->npresent, node))
            continue;
        close_lost(g, m, node, answer);
        return true;
    }
    return false;
}

#include "launcher/io/pmix_fence.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

/* A fence that every rank of this node has reached, or one rank's wish; or, on the other side,
 * the wish of another node. */
struct fence {
    struct list link;
    struct pmix_fences *owner;
    char *operation, *data;
    uint32_t *nodes, nnodes;
    size_t ndata;
    struct maybe_u64 wanted;
    bool is_stale;            /* its generation is over */
    pmix_modex_cbfunc_t done; /* NULL: no client of ours waits */
    void *done_ctx;
};

struct pmix_fences {
    const struct pmix_api *api;
    const struct mpi_peers *peers;
    uv_async_t async;
    struct list out; /* given to the peers, not answered yet */

    uv_mutex_t lock;               /* for what follows */
    const struct mpi_world *world; /* NULL between generations */
    uint64_t nasked;
    struct list arrived; /* to be given to the peers */
    struct list inside;  /* libpmix will say what a rank has to tell */
};

static void fence_free(void *ctx)
{
    struct fence *f = ctx;
    free(f->nodes);
    free(f->operation);
    free(f->data);
    free(f);
}

static void free_all(struct list *fences)
{
    while (!list_is_empty(fences)) {
        struct fence *f = list_first(fences, struct fence, link);
        list_remove(&f->link);
        fence_free(f);
    }
}

/* ---- on libpmix's thread ---- */

static bool is_on_node(const struct mpi_node *node, pmix_rank_t rank)
{
    return rank == PMIX_RANK_WILDCARD
           || (rank >= node->first_rank && rank - node->first_rank < node->nranks);
}

static bool is_among(const struct mpi_node *node, const pmix_proc_t *procs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_on_node(node, procs[i].rank))
            return true;
    return false;
}

/* The nodes that some of the processes are on, and own, if that is one. */
static void find_nodes(struct fence *f, const struct mpi_layout *layout,
                       const pmix_proc_t *procs, size_t nprocs, uint32_t own)
{
    f->nodes = mem_alloc(layout->nnodes, sizeof *f->nodes);
    for (uint32_t i = 0; i < layout->nnodes; i++)
        if (i == own || is_among(&layout->nodes[i], procs, nprocs))
            f->nodes[f->nnodes++] = i;
}

static char *name_fence(const struct mpi_world *world, const pmix_proc_t *procs, size_t nprocs)
{
    struct buf text;
    buf_init(&text, 0);
    buf_addf(&text, "%s/fence", world->name);
    for (size_t i = 0; i < nprocs; i++)
        buf_addf(&text, "/%d", (int)procs[i].rank); /* -2: all */
    return buf_steal(&text);
}

static bool is_ours(const struct pmix_fences *p, const pmix_proc_t *procs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!p->world || strncmp(procs[i].nspace, p->world->name, sizeof procs[i].nspace) != 0)
            return false;
    return n > 0;
}

static struct fence *fence_new(struct pmix_fences *p, pmix_modex_cbfunc_t done, void *ctx)
{
    struct fence *f = mem_alloc(1, sizeof *f);
    f->owner = p;
    f->done = done;
    f->done_ctx = ctx;
    return f;
}

/* With the lock. */
static void arrive(struct pmix_fences *p, struct fence *f)
{
    list_push(&p->arrived, &f->link);
    uv_async_send(&p->async);
}

pmix_status_t pmix_fences_enter(struct pmix_fences *p, const pmix_proc_t *procs, size_t nprocs,
                                char *data, size_t ndata, pmix_modex_cbfunc_t done, void *ctx)
{
    uv_mutex_lock(&p->lock);
    bool is_fit = is_ours(p, procs, nprocs);
    if (is_fit) {
        struct fence *f = fence_new(p, done, ctx);
        find_nodes(f, p->world->layout, procs, nprocs, UINT32_MAX);
        f->operation = name_fence(p->world, procs, nprocs);
        f->data = data;
        f->ndata = ndata;
        arrive(p, f);
    }
    uv_mutex_unlock(&p->lock);
    if (!is_fit)
        free(data);
    return is_fit ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t pmix_fences_ask(struct pmix_fences *p, const pmix_proc_t *proc,
                              pmix_modex_cbfunc_t done, void *ctx)
{
    uv_mutex_lock(&p->lock);
    bool is_fit = is_ours(p, proc, 1) && proc->rank < p->world->layout->world_size;
    if (is_fit) {
        struct fence *f = fence_new(p, done, ctx);
        find_nodes(f, p->world->layout, proc, 1, p->world->node);
        f->wanted = (struct maybe_u64){true, proc->rank};
        f->operation = mem_printf("%s/modex/%u/%u/%llu", p->world->name, proc->rank,
                                  p->world->node, (unsigned long long)p->nasked++);
        arrive(p, f);
    }
    uv_mutex_unlock(&p->lock);
    return is_fit ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

/* What that rank has to tell; nothing, if it will not come to it. */
static void on_modex(pmix_status_t status, char *data, size_t n, void *ctx)
{
    struct fence *f = ctx;
    struct pmix_fences *p = f->owner;
    uv_mutex_lock(&p->lock);
    list_remove(&f->link);
    if (f->is_stale) {
        fence_free(f);
    } else {
        f->ndata = status == PMIX_SUCCESS ? n : 0;
        f->data = f->ndata ? mem_dup(data, n) : NULL; /* freed when this returns */
        arrive(p, f);
    }
    uv_mutex_unlock(&p->lock);
}

/* ---- on the loop's thread ---- */

/* The library reads the data on its own thread, and then has it freed. */
static void on_gathered(void *ctx, const char *all, size_t n)
{
    struct fence *f = ctx;
    list_remove(&f->link);
    if (!f->done) {
        fence_free(f);
        return;
    }
    pmix_status_t status = !all                       ? PMIX_ERR_LOST_CONNECTION
                           : f->wanted.is_known && !n ? PMIX_ERR_NOT_FOUND
                                                      : PMIX_SUCCESS;
    char *copy =
        status == PMIX_SUCCESS && n ? mem_dup(all, n) : NULL; /* may be what was given */
    free(f->data);
    f->data = copy;
    f->done(status, f->data, copy ? n : 0, f->done_ctx, fence_free, f);
}

/* The oldest of those that have arrived. */
static struct fence *take(struct pmix_fences *p)
{
    struct fence *f = NULL;
    uv_mutex_lock(&p->lock);
    if (!list_is_empty(&p->arrived)) {
        f = list_first(&p->arrived, struct fence, link);
        list_remove(&f->link);
    }
    uv_mutex_unlock(&p->lock);
    return f;
}

static void on_async(uv_async_t *async)
{
    struct pmix_fences *p = async->data;
    for (struct fence *f; (f = take(p)) != NULL;) {
        const struct gather piece = {f->operation,
                                     f->nodes,
                                     f->nnodes,
                                     f->done ? f->wanted : (struct maybe_u64){false, 0},
                                     {f->data, f->ndata}};
        list_push(&p->out, &f->link);
        p->peers->gather(p->peers->ctx, &piece, on_gathered, f);
    }
}

void pmix_fences_wanted(struct pmix_fences *p, const struct gather *wanted)
{
    pmix_proc_t proc = {.rank = (pmix_rank_t)wanted->wanted.value};
    struct fence *f = fence_new(p, NULL, NULL);
    f->operation = mem_strdup(wanted->operation);
    f->nodes = mem_dup(wanted->nodes, wanted->nnodes * sizeof *f->nodes);
    f->nnodes = wanted->nnodes;
    uv_mutex_lock(&p->lock);
    strncpy(proc.nspace, p->world->name, sizeof proc.nspace - 1);
    list_push(&p->inside, &f->link);
    uv_mutex_unlock(&p->lock);
    pmix_status_t status = p->api->dmodex_request(&proc, on_modex, f);
    if (status != PMIX_SUCCESS)
        on_modex(status, NULL, 0, f);
}

/* ---- life ---- */

struct pmix_fences *pmix_fences_new(const struct mpi_context *context,
                                    const struct pmix_api *api)
{
    struct pmix_fences *p = mem_alloc(1, sizeof *p);
    p->api = api;
    p->peers = context->peers;
    list_init(&p->out);
    list_init(&p->arrived);
    list_init(&p->inside);
    uv_mutex_init(&p->lock);
    uv_async_init(context->loop, &p->async, on_async);
    uv_unref((uv_handle_t *)&p->async);
    p->async.data = p;
    return p;
}

void pmix_fences_begin(struct pmix_fences *p, const struct mpi_world *world)
{
    uv_mutex_lock(&p->lock);
    p->world = world;
    uv_mutex_unlock(&p->lock);
}

void pmix_fences_end(struct pmix_fences *p)
{
    p->peers->forget(p->peers->ctx);
    free_all(&p->out);
    uv_mutex_lock(&p->lock);
    p->world = NULL;
    free_all(&p->arrived);
    for (struct list *at = p->inside.next; at != &p->inside; at = at->next)
        list_entry(at, struct fence, link)->is_stale = true;
    uv_mutex_unlock(&p->lock);
}

static void on_closed(uv_handle_t *handle)
{
    struct pmix_fences *p = handle->data;
    uv_mutex_destroy(&p->lock);
    free(p);
}

void pmix_fences_close(struct pmix_fences *p)
{
    pmix_fences_end(p);
    free_all(&p->inside);
    uv_close((uv_handle_t *)&p->async, on_closed);
}

#include "launcher/io/pmix_server.h"

#include <pmix_server.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/pmix_api.h"
#include "launcher/io/pmix_fence.h"
#include "launcher/io/pmix_job.h"

struct pmix_server;

/* What libpmix gives back with every call of that client. */
struct pmix_rank {
    struct pmix_server *server;
    enum mpi_state state;
    int abort_code;
};

struct pmix_server {
    struct pmix_api api;
    struct mpi_context context;
    struct mpi_world world;
    struct pmix_fences *fences;
    bool is_begun;
    struct pmix_rank **olds; /* of every generation: who was left behind may still call */
    size_t nolds, capolds;

    uv_mutex_t lock;         /* for what follows */
    struct pmix_rank *ranks; /* of this generation, in olds too */
    uint32_t nranks;
};

/* The one of this process, as the library has one. Its fence gives no other way to it. */
static struct pmix_server *the_server;

/* ---- on libpmix's thread ---- */

static void set_state(void *object, enum mpi_state state, int abort_code)
{
    struct pmix_rank *rank = object;
    if (!rank)
        return;
    uv_mutex_lock(&rank->server->lock);
    if (rank->state != MPI_STATE_ABORTED) {
        rank->state = state;
        rank->abort_code = abort_code;
    }
    uv_mutex_unlock(&rank->server->lock);
}

/* All three: done as soon as noted. The client goes on when this returns. */
static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t *info,
                                  size_t ninfo, pmix_op_cbfunc_t done, void *ctx)
{
    (void)proc, (void)info, (void)ninfo, (void)done, (void)ctx;
    set_state(object, MPI_STATE_INSIDE, 0);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *ctx)
{
    (void)proc, (void)done, (void)ctx;
    set_state(object, MPI_STATE_FINALIZED, 0);
    return PMIX_OPERATION_SUCCEEDED;
}

/* Whoever it wants ended: an abort ends the job. Its client exits with the code by itself. */
static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status,
                              const char *text, pmix_proc_t *procs, size_t nprocs,
                              pmix_op_cbfunc_t done, void *ctx)
{
    (void)proc, (void)text, (void)procs, (void)nprocs, (void)done, (void)ctx;
    set_state(object, MPI_STATE_ABORTED, status);
    return PMIX_OPERATION_SUCCEEDED;
}

/* A fence of one node alone the library answers itself. data is ours from here on. */
static pmix_status_t on_fence(const pmix_proc_t *procs, size_t nprocs, const pmix_info_t *info,
                              size_t ninfo, char *data, size_t ndata, pmix_modex_cbfunc_t done,
                              void *ctx)
{
    (void)info, (void)ninfo;
    return pmix_fences_enter(the_server->fences, procs, nprocs, data, ndata, done, ctx);
}

static pmix_status_t on_direct_modex(const pmix_proc_t *proc, const pmix_info_t *info,
                                     size_t ninfo, pmix_modex_cbfunc_t done, void *ctx)
{
    (void)info, (void)ninfo;
    return pmix_fences_ask(the_server->fences, proc, done, ctx);
}

/* A library newer than our headers reads a longer table: what we do not have is NULL. */
static union {
    pmix_server_module_t module;
    void *room[2 * sizeof(pmix_server_module_t) / sizeof(void *)];
} upcalls = {.module = {
                 .client_connected2 = on_connected,
                 .client_finalized = on_finalized,
                 .abort = on_abort,
                 .fence_nb = on_fence,
                 .direct_modex = on_direct_modex,
             }};

/* ---- the service ---- */

static int init_library(struct pmix_server *s, struct err *e)
{
    char *dir = mem_printf("%s/server", s->context.dir);
    struct pmix_list list = {NULL, 0, 0};
    mkdir(dir, 0700);
    pmix_list_text(&list, PMIX_SERVER_TMPDIR, dir);
    pmix_list_text(&list, PMIX_SYSTEM_TMPDIR, dir);
    pmix_list_text(&list, PMIX_SERVER_NSPACE, "muster");
    pmix_list_rank(&list, PMIX_SERVER_RANK, 0);
    pmix_list_text(&list, PMIX_HOSTNAME, s->context.host);
    int rc = pmix_check(&s->api, "PMIx_server_init",
                        s->api.server_init(&upcalls.module, list.items, list.len), e);
    pmix_list_fini(&list);
    free(dir);
    return rc;
}

static void server_free(struct pmix_server *s)
{
    the_server = NULL;
    pmix_fences_close(s->fences);
    uv_mutex_destroy(&s->lock);
    for (size_t i = 0; i < s->nolds; i++)
        free(s->olds[i]);
    free(s->olds);
    free(s);
}

static void *server_open(const struct mpi_context *context, struct err *e)
{
    struct pmix_server *s = mem_alloc(1, sizeof *s);
    s->context = *context;
    if (pmix_api_load(&s->api, e) < 0) {
        free(s);
        return NULL;
    }
    the_server = s;
    uv_mutex_init(&s->lock);
    s->fences = pmix_fences_new(context, &s->api);
    if (init_library(s, e) < 0) {
        server_free(s);
        return NULL;
    }
    log_debug("mpi", "%s", s->api.version());
    return s;
}

static void set_proc(const struct pmix_server *s, uint32_t local_rank, pmix_proc_t *proc)
{
    memset(proc, 0, sizeof *proc);
    strncpy(proc->nspace, s->world.name, sizeof proc->nspace - 1);
    proc->rank = s->world.layout->nodes[s->world.node].first_rank + local_rank;
}

static void server_end(void *service)
{
    struct pmix_server *s = service;
    if (s->is_begun) /* waits until the library has forgotten its clients */
        s->api.deregister_nspace(s->world.name, NULL, NULL);
    s->is_begun = false;
    pmix_fences_end(s->fences);
    s->ranks = NULL;
}

static int server_begin(void *service, const struct mpi_world *world, struct err *e)
{
    struct pmix_server *s = service;
    struct pmix_list list = {NULL, 0, 0};
    char *dir = mem_printf("%s/%s", s->context.dir, world->name);
    mkdir(dir, 0700);
    s->world = *world;
    pmix_fences_begin(s->fences, &s->world);
    s->nranks = world->layout->nodes[world->node].nranks;
    s->ranks = mem_alloc(s->nranks, sizeof *s->ranks);
    for (uint32_t i = 0; i < s->nranks; i++)
        s->ranks[i].server = s;
    array_grow(s->olds, s->nolds, s->capolds);
    s->olds[s->nolds++] = s->ranks;
    pmix_job_describe(world, dir, &list);
    int rc = pmix_check(
        &s->api, "PMIx_server_register_nspace",
        s->api.register_nspace(world->name, (int)s->nranks, list.items, list.len, NULL, NULL),
        e);
    s->is_begun = rc == 0;
    pmix_list_fini(&list);
    free(dir);
    return rc;
}

static void add_ours(const struct pmix_server *s, struct mpi_ticket *ticket)
{
    /* Open MPI 4 knows direct launch by Slurm, LSF and Flux only; its component for all the
     * rest, and Slurm's for what srun has not started, take a rank for a program that was
     * started alone. */
    mpi_ticket_add(ticket, true, mem_printf("OMPI_MCA_schizo=^orte,slurm"));
    if (!s->context.shm_dir)
        return;
    mpi_ticket_add(ticket, true,
                   mem_printf("OMPI_MCA_btl_vader_backing_directory=%s", s->context.shm_dir));
    mpi_ticket_add(ticket, true,
                   mem_printf("OMPI_MCA_btl_sm_backing_directory=%s", s->context.shm_dir));
}

static int server_join(void *service, uint32_t local_rank, struct mpi_ticket *ticket,
                       struct err *e)
{
    struct pmix_server *s = service;
    pmix_proc_t proc;
    char **env = NULL;
    set_proc(s, local_rank, &proc);
    if (pmix_check(&s->api, "PMIx_server_register_client",
                   s->api.register_client(&proc, geteuid(), getegid(), &s->ranks[local_rank],
                                          NULL, NULL),
                   e)
            < 0
        || pmix_check(&s->api, "PMIx_server_setup_fork", s->api.setup_fork(&proc, &env), e) < 0)
        return -1;
    for (char **entry = env; entry && *entry; entry++) {
        mpi_ticket_add(ticket, false, *entry);
    }
    free(env);
    add_ours(s, ticket);
    return 0;
}

static void server_joined(void *service, uint32_t local_rank)
{
    (void)service;
    (void)local_rank;
}

static enum mpi_state server_state(void *service, uint32_t local_rank, int *abort_code)
{
    struct pmix_server *s = service;
    uv_mutex_lock(&s->lock);
    enum mpi_state state = s->ranks[local_rank].state;
    *abort_code = s->ranks[local_rank].abort_code;
    uv_mutex_unlock(&s->lock);
    return state;
}

static void server_wanted(void *service, const struct gather *wanted)
{
    struct pmix_server *s = service;
    pmix_fences_wanted(s->fences, wanted);
}

static void server_close(void *service)
{
    struct pmix_server *s = service;
    server_end(s);
    s->api.server_finalize(); /* no call of the library's threads comes after it */
    server_free(s);
}

const struct mpi_service pmix_service = {
    .name = "PMIx",
    .open = server_open,
    .begin = server_begin,
    .join = server_join,
    .joined = server_joined,
    .state = server_state,
    .wanted = server_wanted,
    .end = server_end,
    .close = server_close,
};

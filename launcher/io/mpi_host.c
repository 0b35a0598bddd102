#include "launcher/io/mpi_host.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/mpi_files.h"
#include "launcher/io/mpi_program.h"
#include "launcher/io/mpi_service.h"
#include "launcher/io/pmi_server.h"
#include "launcher/io/pmix_server.h"

static const struct mpi_service *const services[] = {
    [MPI_MODE_AUTO] = NULL,
    [MPI_MODE_PMIX] = &pmix_service,
    [MPI_MODE_PMI] = &pmi_service,
    [MPI_MODE_NONE] = NULL,
};
static_assert(sizeof services / sizeof *services == MPI_MODE_COUNT, "one row a mode");

enum { NAME_MAX_BYTES = 120 }; /* of the job's id within a name: both protocols take 255 */

struct mpi_host {
    const struct options *opt;
    const struct facts *facts;
    const struct mpi_service *type; /* NULL = no MPI */
    void *service;                  /* NULL before it is opened */
    struct mpi_files files;

    struct mpi_link *link; /* to the other nodes */
    struct mpi_host_events events;

    char *name; /* of this generation; NULL between two */
    struct mpi_layout layout;
    struct err failure; /* why it did not begin */
    char **reasons;     /* by local rank; NULL = none */
    uint32_t nreasons;
    struct mpi_ticket ticket; /* of the worker being started */
    char **envp;
};

struct mpi_host *mpi_host_new(const struct options *opt, const struct facts *facts,
                              const struct mpi_host_events *events)
{
    struct mpi_host *m = mem_alloc(1, sizeof *m);
    m->opt = opt;
    m->facts = facts;
    m->ticket.fd = -1;
    m->link = mpi_link_new(events->ask, events->ctx);
    m->events = *events;
    err_set(&m->failure, ERR_PROTOCOL, "the head has not said where the MPI ranks are");
    return m;
}

enum mpi_mode mpi_host_choose(struct mpi_host *m, const char *program)
{
    enum mpi_mode mode = m->opt->mpi;
    if (mode == MPI_MODE_AUTO)
        mode = mpi_program_mode(program, m->facts);
    m->type = services[mode];
    return mode;
}

/* ---- a generation ---- */

/* "muster-ID-GENERATION", with nothing that means something to either protocol. */
static char *name_of(const struct order *order)
{
    char *name = mem_printf("muster-%.*s-%u", NAME_MAX_BYTES, order->job_id, order->generation);
    for (char *p = name; *p; p++) {
        bool is_plain = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z')
                        || (*p >= 'A' && *p <= 'Z') || *p == '-';
        if (!is_plain)
            *p = '_';
    }
    return name;
}

int mpi_host_open(struct mpi_host *m, uv_loop_t *loop, struct watch_set *watches,
                  struct guard *guard, struct err *e)
{
    if (!m->type || m->service)
        return 0;
    if (mpi_files_make(&m->files, guard, e) < 0)
        return -1;
    const struct mpi_context context = {
        .loop = loop,
        .watches = watches,
        .dir = m->files.dir,
        .shm_dir = m->files.shm_dir,
        .host = m->facts->host,
        .peers = mpi_link_peers(m->link),
        .ctx = m->events.ctx,
        .on_abort = m->events.on_abort,
    };
    m->service = m->type->open(&context, e);
    if (m->service)
        return 0;
    mpi_files_remove(&m->files);
    char why[sizeof e->text];
    memcpy(why, e->text, sizeof why);
    return err_set(e, ERR_USAGE, "%.180s; --mpi=none starts every worker as a job of its own",
                   why);
}

static void layout_copy(struct mpi_layout *to, const struct mpi_layout *from)
{
    struct mpi_node *nodes = mem_dup(from->nodes, from->nnodes * sizeof *nodes);
    for (uint32_t i = 0; i < from->nnodes; i++)
        nodes[i].host = mem_strdup(nodes[i].host);
    *to = (struct mpi_layout){nodes, from->nnodes, from->world_size};
}

static void layout_free(struct mpi_layout *layout)
{
    struct mpi_node *nodes = (struct mpi_node *)(uintptr_t)layout->nodes;
    for (uint32_t i = 0; i < layout->nnodes; i++)
        free((char *)(uintptr_t)nodes[i].host);
    free(nodes);
    *layout = (struct mpi_layout){NULL, 0, 0};
}

void mpi_host_begin(struct mpi_host *m, const struct node_plan *plan,
                    const struct mpi_layout *layout)
{
    if (!m->service)
        return;
    mpi_host_end(m);
    m->name = name_of(&plan->order);
    m->nreasons = plan->order.nworkers;
    m->reasons = mem_alloc(m->nreasons, sizeof *m->reasons);
    layout_copy(&m->layout, layout);
    const struct mpi_world world = {m->name, &m->layout, plan->order.node_rank};
    if (m->type->begin(m->service, &world, &m->failure) < 0)
        mpi_host_end(m);
}

static bool is_same_name(const char *entry, const char *other)
{
    size_t n = strcspn(entry, "=");
    return strncmp(entry, other, n) == 0 && other[n] == '=';
}

/* Whether the entry of the environment gives way to the ticket; an entry that wins takes the
 * variable out of it. */
static bool is_replaced(struct mpi_ticket *t, const char *entry)
{
    for (size_t i = 0; i < t->len; i++) {
        struct mpi_variable *v = &t->variables[i];
        if (!v->entry || !is_same_name(v->entry, entry))
            continue;
        if (!v->is_default)
            return true;
        free(v->entry);
        v->entry = NULL;
        return false;
    }
    return false;
}

static void merge(struct mpi_host *m, char *const *envp)
{
    size_t n = 0, k = 0;
    while (envp[n])
        n++;
    free(m->envp);
    m->envp = mem_alloc(n + m->ticket.len + 1, sizeof *m->envp);
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(&m->ticket, envp[i]))
            m->envp[k++] = envp[i];
    for (size_t i = 0; i < m->ticket.len; i++)
        if (m->ticket.variables[i].entry)
            m->envp[k++] = m->ticket.variables[i].entry;
}

int mpi_host_join(struct mpi_host *m, uint32_t local_rank, char *const **envp, int *fd,
                  struct err *e)
{
    *fd = -1;
    if (!m->service)
        return 0;
    if (!m->name) {
        *e = m->failure;
        return -1;
    }
    mpi_ticket_fini(&m->ticket);
    if (m->type->join(m->service, local_rank, &m->ticket, e) < 0)
        return -1;
    merge(m, *envp);
    *envp = m->envp;
    *fd = m->ticket.fd;
    return 0;
}

void mpi_host_joined(struct mpi_host *m, uint32_t local_rank)
{
    if (m->service && m->name)
        m->type->joined(m->service, local_rank);
}

const char *mpi_host_judge(struct mpi_host *m, uint32_t local_rank, struct worker_end *end)
{
    if (!m->service || !m->name)
        return NULL;
    int abort_code;
    struct buf why;
    enum mpi_state state = m->type->state(m->service, local_rank, &abort_code);
    buf_init(&why, 0);
    mpi_judge_end(state, abort_code, end, &why);
    if (m->type->ended && !worker_end_is_failure(end))
        m->type->ended(m->service, local_rank);
    free(m->reasons[local_rank]);
    m->reasons[local_rank] = why.len ? buf_steal(&why) : NULL;
    buf_fini(&why);
    return m->reasons[local_rank];
}

void mpi_host_end(struct mpi_host *m)
{
    if (!m->service || !m->name)
        return;
    m->type->end(m->service);
    for (uint32_t i = 0; i < m->nreasons; i++)
        free(m->reasons[i]);
    free(m->reasons);
    m->reasons = NULL;
    m->nreasons = 0;
    layout_free(&m->layout);
    free(m->name);
    m->name = NULL;
}

void mpi_host_wanted(struct mpi_host *m, const struct gather *wanted)
{
    if (m->service && m->name && m->type->wanted)
        m->type->wanted(m->service, wanted);
}

void mpi_host_gathered(struct mpi_host *m, const struct gathered *gathered)
{
    mpi_link_gathered(m->link, gathered);
}

void mpi_host_settle(struct mpi_host *m)
{
    mpi_link_settle(m->link);
}

void mpi_host_close(struct mpi_host *m)
{
    if (!m)
        return;
    mpi_host_end(m);
    if (m->service)
        m->type->close(m->service);
    mpi_link_free(m->link);
    mpi_files_remove(&m->files);
    mpi_ticket_fini(&m->ticket);
    free(m->envp);
    free(m);
}

#include "worker/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "worker/backend_host.h"
#include "worker/bench.h"
#include "worker/join_nccl.h"
#include "worker/status.h"

enum { STORE_CONNECT_MS = 60000, STORE_ANSWER_MS = 60000 };

static int refuse_library(const struct worker *w, const char *why, struct err *e)
{
    err_set(e, ERR_USAGE, "rank %u: --nccl: %s", w->env.rank, why);
    return STATUS_USAGE;
}

static int choose_backend(struct worker *w, struct err *e)
{
    const struct options *o = &w->options;
    char why[160] = "asked for";
    bool may_nccl = o->backend != BACKEND_HOST,
         has_gpu = may_nccl && bind_count(why, sizeof why) > 0;
    if (has_gpu && library_load(&w->library, o->nccl_path, why, sizeof why) == 0) {
        snprintf(w->why, sizeof w->why, "%s",
                 o->backend == BACKEND_NCCL ? "--backend nccl" : "GPUs and libnccl found");
        return 0;
    }
    /* What is named has to be there, even where it is not used. */
    if (o->nccl_path && (has_gpu || library_find(o->nccl_path, why, sizeof why) < 0))
        return refuse_library(w, why, e);
    if (o->backend == BACKEND_NCCL) {
        err_set(e, ERR_UNAVAILABLE, "rank %u: the NCCL backend is not available: %s",
                w->env.rank, why);
        return STATUS_BACKEND;
    }
    w->is_host = true;
    if (may_nccl)
        snprintf(w->why, sizeof w->why, "no NCCL: %s", why);
    else
        snprintf(w->why, sizeof w->why, "--backend host");
    return 0;
}

/* Rank 0, for all. */
static int check_group(const struct worker *w, struct err *e)
{
    if (bench_criticise(&w->options, w->env.world_size, e) < 0)
        return STATUS_USAGE;
    if (!w->is_host || w->env.world_size <= HOST_RANKS_MAX)
        return 0;
    err_set(e, ERR_UNAVAILABLE, "the host backend (%s) takes at most %d ranks", w->why,
            HOST_RANKS_MAX);
    return STATUS_BACKEND;
}

static int write_record(struct worker *w, struct buf *record, struct err *e)
{
    const struct device *d = &w->device;
    buf_addf(record, "host=%s\npid=%ld\nlocal_rank=%u\nnode=%u\nbackend=%s\ndevice=%d\n",
             w->host, (long)getpid(), w->env.local_rank, w->env.node_rank,
             w->is_host ? "host" : "nccl", d->ordinal);
    if (d->ordinal < 0 && w->env.gpu_uuid)
        buf_addf(record, "gpu=%s\n", w->env.gpu_uuid);
    if (d->ordinal >= 0)
        buf_addf(record, "gpu=%s\npci=%s\nname=%s\n", d->uuid, d->pci, d->name);
    if (w->library)
        library_describe(w->library, record);
    return phases_set_record(w->phases, buf_str(record), e);
}

/* What is known before the device is: whoever hangs from here on can be described. */
int worker_open(struct worker *w, struct err *e)
{
    const struct point at = {PHASE_started, -1};
    struct buf record;
    if (gethostname(w->host, sizeof w->host - 1) < 0)
        snprintf(w->host, sizeof w->host, "unknown");
    if (w->env.master_addr) {
        uint64_t ms = w->options.deadline_ms[PHASE_started];
        w->client = store_client_new(w->env.master_addr, w->env.master_port,
                                     ms ? ms : STORE_CONNECT_MS, STORE_ANSWER_MS, e);
        if (!w->client)
            return err_exit_status(e->code);
    }
    buf_init(&record, 0);
    w->phases = phases_new(&w->env, &w->options, w->client, e);
    if (!w->phases)
        return err_exit_status(e->code);
    bind_none(&w->device);
    phases_begin(w->phases, at, "", 0);
    int status = write_record(w, &record, e);
    buf_fini(&record);
    return status ? status : phases_meet(w->phases, at, e);
}

static void fill_rank(struct result_rank *k, uint32_t rank, const char *record)
{
    char number[16];
    uint64_t v;
    k->rank = rank;
    k->device = -1;
    phases_record_field(record, "host", k->host, sizeof k->host);
    phases_record_field(record, "pid", k->pid, sizeof k->pid);
    phases_record_field(record, "gpu", k->gpu_uuid, sizeof k->gpu_uuid);
    phases_record_field(record, "pci", k->pci, sizeof k->pci);
    phases_record_field(record, "name", k->name, sizeof k->name);
    phases_record_field(record, "local_rank", number, sizeof number);
    if (str_parse_u64(str_from(number), 0, UINT32_MAX, &v) == 0)
        k->local_rank = (uint32_t)v;
    phases_record_field(record, "device", number, sizeof number);
    if (str_parse_u64(str_from(number), 0, 1 << 20, &v) == 0)
        k->device = (int)v;
}

/* Differences between ranks that would end badly later on, found by rank 0. */
static int compare_field(const struct buf *records, uint32_t r, const char *key, bool is_fatal,
                         struct worker *w, struct err *e)
{
    char first[300], here[300];
    phases_record_field(buf_str(&records[0]), key, first, sizeof first);
    phases_record_field(buf_str(&records[r]), key, here, sizeof here);
    if (strcmp(first, here) == 0)
        return 0;
    if (is_fatal) {
        err_set(e, ERR_UNAVAILABLE, "rank 0 has %s %s, but rank %u %s", key, first, r, here);
        return STATUS_BACKEND;
    }
    buf_addf(&w->result.errors, "rank 0 has %s %s, but rank %u %s\n", key, first, r, here);
    return 0;
}

static int by_gpu(const void *a, const void *b)
{
    const struct result_rank *x = *(const struct result_rank *const *)a,
                             *y = *(const struct result_rank *const *)b;
    int order = strcmp(x->gpu_uuid, y->gpu_uuid);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static int find_shared_gpu(const struct worker *w, struct err *e)
{
    uint32_t n = w->env.world_size;
    const struct result_rank **sorted = mem_alloc(n, sizeof *sorted);
    int status = 0;
    for (uint32_t r = 0; r < n; r++)
        sorted[r] = &w->result.ranks[r];
    qsort(sorted, n, sizeof *sorted, by_gpu);
    for (uint32_t i = 1; i < n && !status; i++) {
        const struct result_rank *a = sorted[i - 1], *b = sorted[i];
        if (!*a->gpu_uuid || strcmp(a->gpu_uuid, b->gpu_uuid) != 0)
            continue;
        err_set(e, ERR_GPU_REQUEST,
                "ranks %u and %u use the same GPU, %s on host %s; NCCL needs one a rank",
                a->rank, b->rank, a->gpu_uuid, a->host);
        status = STATUS_DEVICE;
    }
    free(sorted);
    return status;
}

static int compare_records(struct worker *w, const struct buf *records, struct err *e)
{
    uint32_t n = w->env.world_size;
    int status = 0;
    w->result.world_size = n;
    w->result.ranks = mem_alloc(n, sizeof *w->result.ranks);
    for (uint32_t r = 0; r < n; r++)
        fill_rank(&w->result.ranks[r], r, buf_str(&records[r]));
    for (uint32_t r = 1; r < n && !status; r++) {
        status = compare_field(records, r, "backend", true, w, e);
        if (!status)
            status = compare_field(records, r, "nccl", false, w, e);
        if (!status)
            status = compare_field(records, r, "settings", false, w, e);
    }
    if (!status)
        status = find_shared_gpu(w, e);
    return status ? status : check_group(w, e);
}

/* "STATUS REFUSED VALUE", as rank 0 has written it. */
static int read_word(const struct buf *word, int *status, bool *is_refused, struct buf *value)
{
    struct str rest = {word->data, word->len}, first, second;
    uint64_t heard, flag;
    if (!str_split(&rest, ' ', &first) || !str_split(&rest, ' ', &second)
        || str_parse_u64(first, 0, 255, &heard) < 0 || str_parse_u64(second, 0, 1, &flag) < 0)
        return -1;
    *status = (int)heard;
    *is_refused = flag;
    if (value)
        buf_add(value, rest.p, rest.n);
    return 0;
}

/* Rank 0 decides, all hear the status and the value (NULL = there is none). A reason is printed
 * before, by rank 0 alone, and it ends first, so that a launcher's report shows it. */
static int spread(struct worker *w, struct point at, int status, struct buf *value,
                  struct err *e)
{
    struct buf word;
    bool is_refused = w->env.rank == 0 && status && *e->text;
    struct err own = {0};
    buf_init(&word, 0);
    if (w->env.rank == 0)
        buf_addf(&word, "%d %d %s", status, is_refused, value ? buf_str(value) : "");
    if (is_refused) {
        log_error("worker", "%s", e->text);
        err_set(e, ERR_OK, "%s", "");
    }
    int rc = phases_go(w->phases, at, &word, &own);
    if (rc) {
        *e = own;
    } else if (w->env.rank != 0 && read_word(&word, &status, &is_refused, value) < 0) {
        err_set(e, ERR_PROTOCOL, "rank 0 has said what nobody understands");
        rc = STATUS_PHASE;
    } else {
        rc = status;
        if (w->env.rank != 0 && is_refused)
            phases_give_way();
    }
    buf_fini(&word);
    return rc;
}

static struct buf *make_bufs(uint32_t n)
{
    struct buf *all = mem_alloc(n, sizeof *all);
    for (uint32_t r = 0; r < n; r++)
        buf_init(&all[r], 0);
    return all;
}

static void free_bufs(struct buf *all, uint32_t n)
{
    for (uint32_t r = 0; all && r < n; r++)
        buf_fini(&all[r]);
    free(all);
}

int worker_bind(struct worker *w, struct err *e)
{
    const struct point at = {PHASE_cuda_ok, -1};
    struct buf record, *all = NULL;
    phases_begin(w->phases, at, "", 0);
    int status = w->options.backend == BACKEND_HOST ? 0 : library_environment(w, e);
    bind_none(&w->device);
    if (!status)
        status = choose_backend(w, e);
    if (!status && !w->is_host)
        status = bind_select(&w->env, &w->device, e);
    if (status)
        return status;
    buf_init(&record, 0);
    status = write_record(w, &record, e);
    if (w->env.rank == 0)
        all = make_bufs(w->env.world_size);
    if (!status)
        status = phases_reach(w->phases, at, buf_str(&record), record.len, all, e);
    if (!status)
        status = spread(w, at, all ? compare_records(w, all, e) : 0, NULL, e);
    free_bufs(all, w->env.world_size);
    buf_fini(&record);
    return status;
}

/* The memory that the ranks of this node share, its name through the store. The host backend
 * cannot do without; for NCCL "-" means that all ranks meet through NCCL. */
static int join_shared(struct worker *w, char name[SHARED_NAME_MAX], struct err *e)
{
    char key[32];
    uint32_t n = w->env.local_world_size, world = w->env.world_size;
    size_t slot = w->is_host ? host_slot_bytes(world) : 0;
    uint32_t slots = w->is_host ? host_slots(world) : 0;
    snprintf(key, sizeof key, "shm/%u", w->env.node_rank);
    if (w->env.local_rank == 0) {
        w->shared = shared_create(n, slots, slot, name, e);
        if (!w->shared && w->is_host)
            return STATUS_BACKEND;
        if (!w->shared)
            snprintf(name, SHARED_NAME_MAX, "-");
        return phases_set(w->phases, key, name, strlen(name), e);
    }
    struct buf value;
    buf_init(&value, 0);
    int status = phases_get(w->phases, key, &value, e);
    snprintf(name, SHARED_NAME_MAX, "%s", buf_str(&value));
    buf_fini(&value);
    if (status || strcmp(name, "-") == 0)
        return status;
    w->shared = shared_open(name, n, slots, slot, e);
    return w->shared ? 0 : STATUS_BACKEND;
}

static bool needs_ring(const struct worker *w)
{
    return w->is_host && w->env.nodes > 1;
}

/* A node's leader says where it listens and which ranks the node has: "first count port token
 * address". */
static int open_ring(struct worker *w, struct err *e)
{
    char key[32];
    struct buf where;
    if (!needs_ring(w) || w->env.local_rank != 0)
        return 0;
    buf_init(&where, 0);
    buf_addf(&where, "%u %u ", w->env.rank, w->env.local_world_size);
    w->ring = ring_new(w->env.node_rank, w->env.nodes);
    int status = ring_listen(w->ring, w->env.master_addr, &where, e) < 0 ? STATUS_BACKEND : 0;
    snprintf(key, sizeof key, "ring/%u", w->env.node_rank);
    if (!status)
        status = phases_set(w->phases, key, buf_str(&where), where.len, e);
    buf_fini(&where);
    return status;
}

/* Reads what leader `node` said: its ranks into first_of, the rest into place. */
static int read_place(struct worker *w, uint32_t node, char place[160], struct err *e)
{
    char key[32];
    struct buf value;
    struct str first, count;
    uint64_t rank, ranks;
    snprintf(key, sizeof key, "ring/%u", node);
    buf_init(&value, 0);
    int status = phases_get(w->phases, key, &value, e);
    struct str rest = {value.data, value.len};
    bool known = !status && value.len && str_split(&rest, ' ', &first)
                 && str_split(&rest, ' ', &count)
                 && str_parse_u64(first, 0, UINT32_MAX, &rank) == 0
                 && str_parse_u64(count, 1, UINT32_MAX, &ranks) == 0;
    if (known && rank == w->first_of[node] && rank + ranks <= w->env.world_size) {
        w->first_of[node + 1] = (uint32_t)(rank + ranks);
        snprintf(place, 160, "%.*s", STR_ARG(rest));
    } else if (!status) {
        err_set(e, ERR_PROTOCOL, "the ranks of node %u do not follow those before", node);
        status = STATUS_BACKEND;
    }
    buf_fini(&value);
    return status;
}

static int join_ring(struct worker *w, struct err *e)
{
    char place[160], next[160] = "";
    uint32_t nodes = w->env.nodes;
    if (!w->ring)
        return 0;
    w->first_of = mem_alloc(nodes + 1, sizeof *w->first_of);
    for (uint32_t node = 0; node < nodes; node++) {
        int status = read_place(w, node, place, e);
        if (status)
            return status;
        if (node == (w->env.node_rank + 1) % nodes)
            snprintf(next, sizeof next, "%s", place);
    }
    return ring_join(w->ring, next, e) < 0 ? STATUS_BACKEND : 0;
}

static int connect_host(struct worker *w, struct err *e)
{
    int status = join_ring(w, e);
    const struct host_setup setup = {
        .shared = w->shared,
        .ring = w->ring,
        .rank = w->env.rank,
        .nranks = w->env.world_size,
        .local_rank = w->env.local_rank,
        .local_ranks = w->env.local_world_size,
        .node = w->env.node_rank,
        .nodes = w->env.nodes,
        .first_of = w->first_of,
    };
    if (!status)
        w->backend = backend_host_new(&setup);
    return status;
}

/* What a rank tells rank 0 when its communicator is there. */
struct ready {
    uint64_t limit_bytes;
    double init_s;
};

/* The largest buffer that every rank can have and the sweep needs: a multiple of 16. */
static uint64_t agree_size(struct worker *w, const struct buf *all)
{
    uint64_t least = 16ull * w->env.world_size,
             max = (bench_bytes(&w->options, w->is_host) + 15) / 16 * 16;
    for (uint32_t r = 0; r < w->env.world_size; r++) {
        struct ready said = {0};
        if (all[r].len == sizeof said)
            memcpy(&said, all[r].data, sizeof said);
        w->result.ranks[r].init_s = said.init_s;
        if (said.limit_bytes && said.limit_bytes < max)
            max = said.limit_bytes;
    }
    return max < least ? least : max - max % 16;
}

/* Rank 0, for all. */
static int choose_size(struct worker *w, const struct buf *said, struct buf *size,
                       struct err *e)
{
    uint64_t bytes = agree_size(w, said);
    buf_addf(size, "%llu", (unsigned long long)bytes);
    return bench_check_sizes(&w->options, w->is_host, bytes, e) < 0 ? STATUS_USAGE : 0;
}

static int agree_on_size(struct worker *w, struct point at, uint64_t began_ms, struct err *e)
{
    struct ready mine = {w->backend->ops->limit(w->backend),
                         (double)(now_ms() - began_ms) / 1000};
    struct buf size, *all = w->env.rank == 0 ? make_bufs(w->env.world_size) : NULL;
    buf_init(&size, 0);
    int status = phases_reach(w->phases, at, &mine, sizeof mine, all, e);
    if (!status)
        status = spread(w, at, all ? choose_size(w, all, &size, e) : 0, &size, e);
    if (!status
        && str_parse_u64((struct str){size.data, size.len}, 16, UINT64_MAX, &w->max_bytes)
               < 0) {
        err_set(e, ERR_PROTOCOL, "rank 0 gave no buffer size");
        status = STATUS_PHASE;
    }
    free_bufs(all, w->env.world_size);
    buf_fini(&size);
    return status;
}

int worker_join(struct worker *w, struct err *e)
{
    const struct point enter = {PHASE_init_enter, -1}, done = {PHASE_init_done, -1};
    char name[SHARED_NAME_MAX] = "";
    int status = w->is_host ? 0 : library_ids(w, e);
    if (status)
        return status;
    phases_begin(w->phases, enter, "", 0);
    status = join_shared(w, name, e);
    if (!status)
        status = open_ring(w, e);
    if (!status)
        status = phases_meet(w->phases, enter, e);
    shared_hide(w->shared);
    if (status)
        return status;
    phases_begin(w->phases, done, "", 0);
    uint64_t began_ms = now_ms();
    status = w->is_host ? connect_host(w, e) : library_connect(w, e);
    return status ? status : agree_on_size(w, done, began_ms, e);
}

int worker_agree(struct worker *w, int *status, struct err *e)
{
    const struct point at = {PHASE_verify, -1};
    phases_begin(w->phases, at, "", 0);
    int rc = phases_reach(w->phases, at, "", 0, NULL, e);
    if (rc)
        return rc;
    rc = spread(w, at, *status, NULL, e);
    if (w->env.rank != 0)
        *status = rc;
    return 0;
}

int worker_leave(struct worker *w, struct err *e)
{
    const struct point at = {PHASE_bye, -1};
    phases_begin(w->phases, at, "", 0);
    int status = w->backend->ops->close(w->backend, e);
    w->backend = NULL;
    return status ? status : phases_meet(w->phases, at, e);
}

void worker_close(struct worker *w)
{
    phases_free(w->phases);
    store_client_free(w->client);
    shared_close(w->shared);
    ring_free(w->ring);
    free(w->first_of);
    library_free(w->library);
    result_fini(&w->result);
}

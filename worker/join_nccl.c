#include "worker/join_nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/status.h"

#if MUSTER_HAVE_NCCL
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "worker/backend_nccl.h"
#include "worker/bootstrap_store.h"
#include "worker/probe.h"

enum { RAS_LINES = 200, RAS_VERSION = 22400, ABORT_MS = 10000 };

struct library {
    struct nccl api;
    struct bootstrap bootstrap;
    char version[24];
};

int library_environment(struct worker *w, struct err *e)
{
    return bootstrap_ras(w->phases, &w->env, &w->ras_port, e);
}

int library_load(struct library **out, const char *path, char *why, size_t size)
{
    struct err e;
    struct library *l = mem_alloc(1, sizeof *l);
    bootstrap_init(&l->bootstrap);
    if (nccl_load(&l->api, path, &e) < 0) {
        snprintf(why, size, "%s", e.text);
        free(l);
        return -1;
    }
    nccl_version_text(l->api.version, l->version);
    *out = l;
    return 0;
}

void library_free(struct library *l)
{
    if (!l)
        return;
    bootstrap_fini(&l->bootstrap);
    free(l); /* NCCL stays loaded: it may own threads */
}

/* Of "NAME=value" of all NCCL_* variables, whatever their order. The RAS address differs from
 * node to node on purpose. */
static uint64_t hash_settings(void)
{
    uint64_t sum = 0;
    for (char **v = environ; *v; v++) {
        if (strncmp(*v, "NCCL_", 5) != 0 || strncmp(*v, "NCCL_RAS_ADDR=", 14) == 0)
            continue;
        uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */
        for (const char *c = *v; *c; c++)
            h = (h ^ (unsigned char)*c) * 0x100000001b3ull;
        sum += h;
    }
    return sum;
}

void library_describe(const struct library *l, struct buf *record)
{
    buf_addf(record, "nccl=%s\nnccl_path=%s\nsettings=%016llx\n", l->version, l->api.path,
             (unsigned long long)hash_settings());
}

void library_version(const struct library *l, const char **version, const char **path)
{
    *version = l ? l->version : "";
    *path = l ? l->api.path : "";
}

void library_facts(const char *path, struct buf *out)
{
    struct nccl api;
    struct err e;
    char version[24];
    buf_addf(out, "nccl_header=%s\n", nccl_version_text(NCCL_VERSION_CODE, version));
    if (nccl_load(&api, path, &e) < 0)
        buf_addf(out, "nccl_error=%s\n", e.text);
    else
        buf_addf(out, "nccl_version=%s\nnccl_file=%s\n",
                 nccl_version_text(api.version, version), api.path);
}

/* In the watchdog's thread. */
static void report_hang(void *ctx)
{
    const struct worker *w = ctx;
    struct buf answer;
    struct err e;
    buf_init(&answer, 0);
    if (probe_ras(w->ras_port, &answer, &e) < 0)
        log_warn("ras", "NCCL's RAS does not answer: %s", e.text);
    struct str rest = {answer.data, answer.len}, line;
    for (int i = 0; i < RAS_LINES && answer.len && str_split(&rest, '\n', &line); i++)
        log_error("ras", "NCCL: %.*s", STR_ARG(line));
    buf_fini(&answer);
}

int library_ids(struct worker *w, struct err *e)
{
    struct library *l = w->library;
    struct bootstrap *b = &l->bootstrap;
    if (w->ras_port && l->api.version >= RAS_VERSION)
        phases_on_hang(w->phases, report_hang, w);
    int status = bootstrap_ids(b, w->phases, &w->env, &l->api, w->host, e);
    if (!status && w->env.rank == 0 && w->env.nodes > 1)
        log_warn("nccl", "NCCL bootstrap root: %s", b->root);
    return status ? status : bootstrap_reach(b, w->phases, &w->env, e);
}

int library_connect(struct worker *w, struct err *e)
{
    struct library *l = w->library;
    const struct nccl_setup setup = {
        .api = &l->api,
        .device = &w->device,
        .shared = w->shared,
        .rank = w->env.rank,
        .nranks = w->env.world_size,
        .nodes = w->env.nodes,
        .cuda_malloc = w->options.cuda_malloc,
        .verify_on_host = w->options.verify_on_host,
        .abort = {w->options.diagnose ? phases_is_aborting : NULL, phases_aborted, w->phases},
    };
    if (w->options.diagnose)
        phases_set_abort(w->phases, ABORT_MS);
    int status = backend_nccl_new(&setup, &w->backend, e);
    if (!status)
        status = backend_nccl_connect(w->backend, l->bootstrap.ids, l->bootstrap.n, e);
    if (status)
        err_wrap(e, "rank %u (host %s, %s)", w->env.rank, w->host, w->device.uuid);
    return status;
}
#else
int library_environment(struct worker *w, struct err *e)
{
    (void)w;
    (void)e;
    return 0;
}

int library_load(struct library **out, const char *path, char *why, size_t size)
{
    (void)out;
    (void)path;
    snprintf(why, size, "this muster-worker was built without CUDA and NCCL");
    return -1;
}

void library_free(struct library *l)
{
    (void)l;
}

void library_describe(const struct library *l, struct buf *record)
{
    (void)l;
    (void)record;
}

void library_version(const struct library *l, const char **version, const char **path)
{
    (void)l;
    *version = *path = "";
}

void library_facts(const char *path, struct buf *out)
{
    (void)path;
    (void)out;
}

static int unavailable(struct err *e)
{
    err_set(e, ERR_UNAVAILABLE, "this muster-worker was built without CUDA and NCCL");
    return STATUS_BACKEND;
}

int library_ids(struct worker *w, struct err *e)
{
    (void)w;
    return unavailable(e);
}

int library_connect(struct worker *w, struct err *e)
{
    (void)w;
    return unavailable(e);
}
#endif

int library_find(const char *path, char *why, size_t size)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        snprintf(why, size, "%s", dlerror());
        return -1;
    }
    dlclose(handle);
    return 0;
}

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/out_file.h"
#include "worker/bench.h"
#include "worker/bind.h"
#include "worker/join.h"
#include "worker/join_nccl.h"
#include "worker/result_table.h"
#include "worker/status.h"

static const char *from_environment(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static void print(const struct buf *text)
{
    fwrite(text->data, 1, text->len, stdout);
    fflush(stdout);
}

static bool is_json_on_stdout(const struct worker *w)
{
    return w->options.json && strcmp(w->options.json, "-") == 0;
}

static void print_head(struct worker *w)
{
    struct result *r = &w->result;
    struct buf text;
    if (w->env.rank != 0)
        return;
    r->nodes = w->env.nodes;
    r->job_id = w->env.job_id;
    r->backend = w->backend->ops->name;
    r->why = w->why;
    library_version(w->library, &r->nccl_version, &r->nccl_path);
    r->cuda_driver = w->device.driver;
    r->cuda_runtime = w->device.runtime;
    r->env = environ;
    buf_init(&text, 0);
    result_table_head(r, &text);
    if (!is_json_on_stdout(w))
        print(&text);
    buf_fini(&text);
}

static int sweep(struct worker *w, struct err *e)
{
    struct bench b = {
        .env = &w->env,
        .options = &w->options,
        .backend = w->backend,
        .phases = w->phases,
        .result = &w->result,
        .max_bytes = w->max_bytes,
        .is_host = w->is_host,
        .print = is_json_on_stdout(w) ? NULL : print,
    };
    print_head(w);
    int status = bench_run(&b, e);
    w->own_wrong = b.own_wrong;
    return status;
}

/* The host backend is never held against an expectation of GPUs. */
static void judge(struct worker *w)
{
    const struct options *o = &w->options;
    const struct result_limits limits = {
        .min_busbw_gbs = o->min_busbw_gbs,
        .expect_gbs = w->is_host ? 0 : o->expect_gbs,
        .warn_below = o->warn_below,
        .fail_below = o->fail_below,
    };
    if (w->is_host && o->expect_gbs > 0)
        buf_adds(&w->result.errors, "--expect is for GPUs: the host backend is not judged\n");
    result_judge(&w->result, &limits);
    if (result_is_empty(&w->result))
        w->result.status = STATUS_BACKEND;
}

/* On the way between ranks only, no exit status: whoever saw wrong data says so. */
enum { WRONG_SOMEWHERE = 255 };

/* Rank 0's judgement becomes the exit status of every rank, but for wrong data that some ranks
 * hold: the others have nothing to report, so that the launcher names the right one. */
static int verify(struct worker *w, int *verdict, struct err *e)
{
    if (w->env.rank == 0) {
        judge(w);
        bool is_somewhere = w->result.wrong && !w->result.is_wrong_everywhere;
        *verdict = is_somewhere ? WRONG_SOMEWHERE : w->result.status;
    }
    int status = worker_agree(w, verdict, e);
    if (*verdict == WRONG_SOMEWHERE)
        *verdict = w->own_wrong ? STATUS_WRONG : STATUS_PASS;
    return status;
}

static int write_file(const char *path, const struct buf *json, struct err *e)
{
    return out_file_write(path, json->data, json->len, e) < 0 ? err_wrap(e, "--json") : 0;
}

static int print_result(struct worker *w, struct err *e)
{
    struct buf json, text;
    int status = 0;
    if (w->env.rank != 0)
        return 0;
    w->result.duration_s = (double)(wall_ms() - w->result.started_ms) / 1000;
    buf_init(&json, 0);
    buf_init(&text, 0);
    result_json(&w->result, &json);
    result_table_links(&w->result, &text);
    result_table_end(&w->result, w->options.format, &text);
    print(is_json_on_stdout(w) ? &json : &text);
    if (w->options.json && !is_json_on_stdout(w) && write_file(w->options.json, &json, e) < 0)
        status = err_exit_status(e->code);
    if (!status)
        status = phases_set_result(w->phases, json.data, json.len, e);
    buf_fini(&text);
    buf_fini(&json);
    return status;
}

/* bind -> join -> sweep -> verify -> print -> leave. */
static int run(struct worker *w, int *verdict, struct err *e)
{
    int status = worker_open(w, e);
    if (!status)
        status = worker_bind(w, e);
    if (!status)
        status = worker_join(w, e);
    if (!status)
        status = sweep(w, e);
    if (!status)
        status = verify(w, verdict, e);
    if (!status)
        status = print_result(w, e);
    return status ? status : worker_leave(w, e);
}

static int fail(int status, const struct err *e)
{
    if (*e->text)
        log_error("worker", "%s", e->text);
    return status;
}

/* For the launcher, which never loads CUDA. A driver may hang: the launcher's end is its end.
 */
static int probe(const struct options *o)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct err e = {0};
    struct buf text;
    buf_init(&text, 0);
    int status = bind_facts(&text, &e);
    library_facts(o->nccl_path, &text);
    print(&text);
    buf_fini(&text);
    return status ? fail(status, &e) : 0;
}

int main(int argc, char **argv)
{
    struct worker w = {0};
    struct err e = {0};
    int verdict = 0;
    log_set_name("muster-worker");
    if (options_parse(&w.options, argc, argv, &e) < 0)
        return fail(err_exit_status(e.code), &e);
    if (w.options.help || w.options.version) {
        struct buf text;
        buf_init(&text, 0);
        if (w.options.help)
            options_help(&text);
        else
            buf_adds(&text, "muster-worker " MUSTER_VERSION "\n");
        print(&text);
        buf_fini(&text);
        return 0;
    }
    if (w.options.probe)
        return probe(&w.options);
    if (env_read(&w.env, from_environment, NULL, &e) < 0)
        return fail(err_exit_status(e.code), &e);
    result_init(&w.result);
    w.result.started_ms = wall_ms();
    int status = run(&w, &verdict, &e);
    if (status) {
        fail(status, &e);
        fflush(stdout);
        _exit(status); /* after an error a library's own exit handlers may hang */
    }
    worker_close(&w);
    return verdict;
}

/* muster logs: what the ranks of a running job have written, from its files of --log-dir. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/cmd/cmd.h"
#include "launcher/cmd/job_pick.h"
#include "launcher/core/log_paths.h"
#include "launcher/core/rank_set.h"
#include "launcher/io/control_client.h"
#include "launcher/io/log_reader.h"

enum { STREAMS = 2, LOOK_MS = 200 };

struct readers {
    struct log_reader *list;
    size_t n;
};

static char *path_of(const struct control_status *job, uint32_t rank, int stream)
{
    struct buf path;
    buf_init(&path, 0);
    log_path_format(job->layout, job->log_dir, stream ? LOG_KIND_ERR : LOG_KIND_OUT, rank,
                    job->ranks[rank].local_rank, &path);
    return buf_steal(&path);
}

static void open_all(const struct jobs_options *opt, const struct control_status *job,
                     struct readers *out)
{
    out->list = mem_alloc(job->nranks * STREAMS, sizeof *out->list);
    out->n = 0;
    for (uint32_t rank = 0; rank < job->nranks; rank++)
        for (int stream = 0; stream < STREAMS; stream++)
            if (!opt->ranks || rank_set_has(opt->ranks, rank))
                log_reader_init(&out->list[out->n++], path_of(job, rank, stream),
                                job->nranks > 1 ? mem_printf("[%u] ", (unsigned)rank)
                                                : mem_strdup(""),
                                stream ? stderr : stdout);
}

static size_t read_on(struct readers *r)
{
    size_t nfound = 0;
    for (size_t i = 0; i < r->n; i++)
        nfound += log_reader_go_on(&r->list[i]);
    fflush(stdout);
    return nfound;
}

static void close_all(struct readers *r)
{
    for (size_t i = 0; i < r->n; i++)
        log_reader_fini(&r->list[i]);
    free(r->list);
    *r = (struct readers){0};
}

/* The files of the attempt that runs now; false once the job has ended. */
static bool follow_restart(const struct jobs_options *opt, const char *path,
                           struct control_status *job, struct readers *r)
{
    struct err e;
    struct control_status now;
    if (control_ask(path, CONTROL_STATUS, &now, &e) < 0)
        return e.code == ERR_TIMEOUT; /* suspended */
    bool is_other = now.log_dir && strcmp(now.log_dir, job->log_dir) != 0 && now.nranks;
    if (is_other) {
        read_on(r);
        close_all(r);
        open_all(opt, &now, r);
    }
    control_status_fini(is_other ? job : &now);
    if (is_other)
        *job = now;
    return true;
}

static void follow(const struct jobs_options *opt, const char *path, struct control_status *job,
                   struct readers *r)
{
    while (follow_restart(opt, path, job, r)) {
        read_on(r);
        poll(NULL, 0, LOOK_MS);
    }
    read_on(r); /* all is written before the socket goes */
}

/* What --rank may name, and whether there are files at all. */
static int check(const struct jobs_options *opt, const struct control_status *job,
                 struct err *e)
{
    if (job->log_root)
        return err_set(e, ERR_USAGE,
                       "job %s: each of its nodes keeps its own files, below %s on that host",
                       job->job_id, job->log_root);
    if (!job->log_dir)
        return err_set(e, ERR_USAGE,
                       "job %s keeps no files of its output; start it with --log-dir DIR",
                       job->job_id);
    if (opt->ranks && rank_set_last(opt->ranks) >= job->nranks)
        return err_set(e, ERR_USAGE, "--rank: job %s has no rank %u; its ranks are 0 to %zu",
                       job->job_id, (unsigned)rank_set_last(opt->ranks), job->nranks - 1);
    return 0;
}

static int show(const struct jobs_options *opt, const char *path, struct control_status *job,
                struct err *e)
{
    struct readers readers;
    if (check(opt, job, e) < 0)
        return cmd_fail(e);
    open_all(opt, job, &readers);
    size_t nfound = read_on(&readers);
    if (opt->is_followed)
        follow(opt, path, job, &readers);
    close_all(&readers);
    if (nfound || opt->is_followed)
        return 0;
    err_set(e, ERR_UNAVAILABLE, "no files of these ranks are in %s on this host", job->log_dir);
    return cmd_fail(e);
}

int cmd_logs(char *const *args)
{
    struct err e;
    struct jobs_options opt;
    struct control_status job;
    char *path;
    int status = job_command_begin(JOBS_LOGS, COMMAND_logs, args, &opt);
    if (status >= 0)
        return status;
    if (job_pick(&opt, CONTROL_STATUS, &path, &job, &e) < 0)
        return cmd_fail(&e);
    status = show(&opt, path, &job, &e);
    control_status_fini(&job);
    free(path);
    return status;
}

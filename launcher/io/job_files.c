#include "launcher/io/job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/log_paths.h"
#include "launcher/core/streams.h"
#include "launcher/io/folder.h"

enum { SAME_NAME_MAX = 1000, SEARCH_DESCRIPTORS = 8 };

static int fail(const char *dir, int why, struct err *e)
{
    return err_set(e, ERR_USAGE, "--log-dir: cannot make %s: %s", dir, strerror(why));
}

static int make_dir(const char *path, struct err *e)
{
    return mkdir(path, 0777) < 0 && errno != EEXIST ? fail(path, errno, e) : 0;
}

/* mkdir -p of everything above the last name. */
static int make_parents(const char *path, struct err *e)
{
    char *copy = mem_strdup(path);
    int rc = 0;
    for (char *slash = strchr(copy + 1, '/'); slash && rc == 0;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        rc = make_dir(copy, e);
        *slash = '/';
    }
    free(copy);
    return rc;
}

/* ROOT/JOB and what follows the id: nothing, or a mark and (if positive) a number. */
static char *job_path(const char *root, const char *job_id, const char *mark, int number)
{
    struct buf path;
    buf_init(&path, 0);
    buf_addf(&path, "%s/", root);
    log_job_name_format(job_id, &path);
    buf_adds(&path, mark);
    if (*mark && number > 0)
        buf_addf(&path, "%d", number);
    return buf_steal(&path);
}

/* A folder of our own: logs of an earlier job with this name are kept. */
static int make_job_dir(struct job_files *f, const struct options *opt,
                        const struct order *order, struct err *e)
{
    for (int i = 1; i < SAME_NAME_MAX; i++) {
        char *path = job_path(opt->log_dir, order->job_id, i == 1 ? "" : "-", i);
        if (make_parents(path, e) < 0) {
            free(path);
            return -1;
        }
        if (mkdir(path, 0777) == 0) {
            f->job_dir = path;
            return 0;
        }
        int why = errno;
        if (why != EEXIST)
            fail(path, why, e);
        free(path);
        if (why != EEXIST)
            return -1;
    }
    return err_set(e, ERR_USAGE, "--log-dir: %s has too many folders called %s", opt->log_dir,
                   order->job_id);
}

static void make_temp_dir(struct job_files *f, const char *name)
{
    const char *tmp = getenv("TMPDIR");
    f->temp_dir = mem_printf("%s/%sXXXXXX", tmp && *tmp ? tmp : "/tmp", name);
    if (!mkdtemp(f->temp_dir)) { /* no tracebacks then; the job can do without */
        free(f->temp_dir);
        f->temp_dir = NULL;
    }
}

/* ---- torchrun's tree ---- */

static bool has_streams(const struct options *opt, const struct order *order)
{
    for (uint32_t i = 0; i < order->nworkers; i++)
        if (streams_logged(opt, i))
            return true;
    return false;
}

/* ROOT/<id>_<random>: a new one for each job. */
static int make_random_dir(struct job_files *f, const struct options *opt,
                           const struct order *order, struct err *e)
{
    if (!opt->log_dir && !f->temp_dir)
        make_temp_dir(f, "torchelastic_");
    const char *root = opt->log_dir ? opt->log_dir : f->temp_dir;
    if (!root)
        return has_streams(opt, order)
                   ? err_set(e, ERR_USAGE,
                             "no folder for the workers' files can be made in "
                             "$TMPDIR; name one with --log-dir")
                   : 0;
    char *path = job_path(root, order->job_id, "_XXXXXX", 0);
    int rc = make_parents(path, e);
    if (rc == 0 && !mkdtemp(path))
        rc = fail(path, errno, e);
    if (rc == 0)
        f->job_dir = path;
    else
        free(path);
    return rc;
}

/* Nothing is deleted: a second attempt of the same number gets a name of its own. */
static int make_attempt_dir(struct job_files *f, const struct order *order, struct err *e)
{
    struct buf path;
    buf_init(&path, 0);
    for (uint32_t again = 0; again < SAME_NAME_MAX; again++) {
        buf_reset(&path);
        buf_addf(&path, "%s/", f->job_dir);
        log_attempt_format(f->layout, order->generation, again, &path);
        if (mkdir(buf_str(&path), 0777) == 0) {
            free(f->dir);
            f->dir = buf_steal(&path);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    int rc = fail(buf_str(&path), errno, e);
    buf_fini(&path);
    return rc;
}

static int make_worker_dirs(const struct job_files *f, uint32_t n, struct err *e)
{
    struct buf path;
    buf_init(&path, 0);
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        buf_reset(&path);
        if (log_worker_dir_format(f->layout, f->dir, i, &path))
            rc = make_dir(buf_str(&path), e);
    }
    buf_fini(&path);
    return rc;
}

static struct log_file *open_kind(const struct job_files *f, uint32_t rank, enum log_kind kind,
                                  struct err *e)
{
    struct buf path;
    buf_init(&path, 0);
    log_path_format(f->layout, f->dir, kind, rank, rank - f->first_rank, &path);
    struct log_file *log = log_file_open(buf_str(&path), f->log_size, e);
    buf_fini(&path);
    return log;
}

static int open_filtered(struct job_files *f, const struct options *opt, struct err *e)
{
    static const enum log_kind kinds[] = {LOG_KIND_FILTERED_OUT, LOG_KIND_FILTERED_ERR};
    for (int i = 0; i < 2; i++) {
        log_file_close(f->filtered[i]);
        f->filtered[i] = NULL;
        if (opt->torchrun.filters[i]
            && !(f->filtered[i] = open_kind(f, f->first_rank, kinds[i], e)))
            return -1;
    }
    return 0;
}

static int prepare_torchrun(struct job_files *f, const struct options *opt,
                            const struct order *order, struct err *e)
{
    f->layout = LOG_LAYOUT_TORCHRUN;
    if (opt->log_dir && strcmp(opt->log_dir, "/dev/null") == 0)
        return 0;
    if (!f->job_dir && make_random_dir(f, opt, order, e) < 0)
        return -1;
    if (!f->job_dir)
        return 0;
    if (make_attempt_dir(f, order, e) < 0 || make_worker_dirs(f, order->nworkers, e) < 0)
        return -1;
    return open_filtered(f, opt, e);
}

/* ---- all ---- */

int job_files_prepare(struct job_files *f, const struct options *opt, const struct order *order,
                      struct err *e)
{
    f->first_rank = order->first_rank;
    f->log_size = opt->log_size;
    if (opt->torchrun.is_on)
        return prepare_torchrun(f, opt, order, e);
    if (!opt->log_dir) {
        if (!f->temp_dir)
            make_temp_dir(f, "muster-");
        else if (order->generation) /* what an earlier one has said is not said by this */
            folder_empty(f->temp_dir);
        return 0;
    }
    if (!f->job_dir && make_job_dir(f, opt, order, e) < 0)
        return -1;
    free(f->dir);
    f->dir = mem_printf("%s/%u", f->job_dir, order->generation);
    if (make_dir(f->dir, e) < 0)
        return -1;
    return access(f->dir, W_OK) < 0 ? fail(f->dir, errno, e) : 0;
}

const char *job_files_error_dir(const struct job_files *f)
{
    return f->dir || f->layout == LOG_LAYOUT_TORCHRUN ? f->dir : f->temp_dir;
}

char *job_files_error_path(const struct job_files *f, uint32_t rank)
{
    const char *dir = job_files_error_dir(f);
    if (!dir)
        return NULL;
    struct buf path;
    buf_init(&path, 0);
    log_path_format(f->layout, dir, LOG_KIND_ERROR_JSON, rank, rank - f->first_rank, &path);
    return buf_steal(&path);
}

int job_files_open(const struct job_files *f, uint32_t rank, unsigned streams,
                   struct log_file *logs[2], struct err *e)
{
    logs[0] = logs[1] = NULL;
    if (!f->dir)
        return 0;
    if (streams & STREAM_OUT && !(logs[0] = open_kind(f, rank, LOG_KIND_OUT, e)))
        return -1;
    if (!(streams & STREAM_ERR) || (logs[1] = open_kind(f, rank, LOG_KIND_ERR, e)) != NULL)
        return 0;
    log_file_close(logs[0]);
    logs[0] = NULL;
    return -1;
}

static int find_log(const char *path, const struct stat *st, int type, struct FTW *at)
{
    const char *name = path + at->base;
    return type == FTW_F && st->st_size > 0 && strcmp(name, "error.json") != 0;
}

/* Whether somebody will want to read what is there. */
static bool is_worth_keeping(const struct job_files *f)
{
    return f->keeps_temp && f->layout == LOG_LAYOUT_TORCHRUN
           && nftw(f->temp_dir, find_log, SEARCH_DESCRIPTORS, FTW_PHYS) == 1;
}

void job_files_fini(struct job_files *f)
{
    log_file_close(f->filtered[0]);
    log_file_close(f->filtered[1]);
    if (f->temp_dir && is_worth_keeping(f))
        log_info("node", "the workers' output is in %s", f->job_dir);
    else if (f->temp_dir && rmdir(f->temp_dir) < 0) /* a worker left something in it */
        folder_remove(f->temp_dir);
    free(f->job_dir);
    free(f->dir);
    free(f->temp_dir);
}

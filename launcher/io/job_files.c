#include "launcher/io/job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/rank_set.h"

enum { SAME_NAME_MAX = 1000, REMOVE_DESCRIPTORS = 8 };

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

/* The job's id as the name of one folder: it may not lead out of the log folder. */
static char *folder_name(const char *job_id)
{
    char *name = mem_strdup(job_id);
    if (*name == '.')
        *name = '_';
    for (char *p = name; *p; p++)
        if (*p == '/')
            *p = '_';
    return name;
}

/* A folder of our own: logs of an earlier job with this name are kept. */
static int make_job_dir(struct job_files *f, const struct options *opt,
                        const struct order *order, struct err *e)
{
    for (int i = 1; i < SAME_NAME_MAX; i++) {
        char *name = folder_name(order->job_id);
        char *path = i == 1 ? mem_printf("%s/%s", opt->log_dir, name)
                            : mem_printf("%s/%s-%d", opt->log_dir, name, i);
        free(name);
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

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0; /* what cannot be removed does not keep the rest */
}

static int remove_below(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return at->level ? remove_one(path, st, type, at) : 0;
}

static void make_temp_dir(struct job_files *f)
{
    const char *tmp = getenv("TMPDIR");
    f->temp_dir = mem_printf("%s/muster-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(f->temp_dir)) { /* no tracebacks then; the job can do without */
        free(f->temp_dir);
        f->temp_dir = NULL;
    }
}

int job_files_prepare(struct job_files *f, const struct options *opt, const struct order *order,
                      struct err *e)
{
    if (!opt->log_dir) {
        if (!f->temp_dir)
            make_temp_dir(f);
        else if (order->generation) /* what an earlier one has said is not said by this */
            nftw(f->temp_dir, remove_below, REMOVE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
        return 0;
    }
    f->log_size = opt->log_size;
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
    return f->dir ? f->dir : f->temp_dir;
}

char *job_files_error_path(const struct job_files *f, uint32_t rank)
{
    const char *dir = job_files_error_dir(f);
    return dir ? mem_printf("%s/rank-%u.error.json", dir, rank) : NULL;
}

static struct log_file *open_one(const struct job_files *f, uint32_t rank, const char *suffix,
                                 struct err *e)
{
    char *path = mem_printf("%s/rank-%u.%s", f->dir, rank, suffix);
    struct log_file *log = log_file_open(path, f->log_size, e);
    free(path);
    return log;
}

int job_files_open(const struct job_files *f, uint32_t rank, unsigned streams,
                   struct log_file *logs[2], struct err *e)
{
    logs[0] = logs[1] = NULL;
    if (!f->dir)
        return 0;
    if (streams & STREAM_OUT && !(logs[0] = open_one(f, rank, "out", e)))
        return -1;
    if (!(streams & STREAM_ERR) || (logs[1] = open_one(f, rank, "err", e)) != NULL)
        return 0;
    log_file_close(logs[0]);
    logs[0] = NULL;
    return -1;
}

void job_files_fini(struct job_files *f)
{
    if (f->temp_dir && rmdir(f->temp_dir) < 0) /* a worker left something in it */
        nftw(f->temp_dir, remove_one, REMOVE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    free(f->job_dir);
    free(f->dir);
    free(f->temp_dir);
}

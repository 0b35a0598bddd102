#include "launcher/io/findings.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/error_file.h"
#include "launcher/io/kernel_log.h"
#include "launcher/io/oom.h"

struct finding {
    char *error, *cause;
};

struct findings {
    struct oom_count oom;          /* before the first worker */
    struct kernel_log *kernel_log; /* likewise; NULL = cannot be read */
    bool copies_first;
    char *first_error; /* error.json of the first failure, stamped with its exit code */
    uint32_t nworkers;
    struct finding workers[]; /* by local rank */
};

struct findings *findings_new(uint32_t nworkers, bool copies_first, bool has_gpus)
{
    struct findings *f = mem_alloc(1, sizeof *f + nworkers * sizeof f->workers[0]);
    f->nworkers = nworkers;
    f->copies_first = copies_first;
    oom_count_read("", &f->oom);
    f->kernel_log = has_gpus ? kernel_log_open("") : NULL;
    return f;
}

void findings_free(struct findings *f)
{
    for (uint32_t i = 0; f && i < f->nworkers; i++) {
        free(f->workers[i].error);
        free(f->workers[i].cause);
    }
    if (!f)
        return;
    free(f->first_error);
    kernel_log_close(f->kernel_log);
    free(f);
}

/* Where a core went, in the kernel's own words. */
static char *core_cause(void)
{
    char pattern[128] = "";
    int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, pattern, sizeof pattern - 1);
    if (fd >= 0)
        close(fd);
    pattern[n > 0 ? n : 0] = '\0';
    pattern[strcspn(pattern, "\n")] = '\0';
    if (!*pattern)
        return NULL;
    return *pattern == '|'
               ? mem_printf("the core went to the program %s (kernel.core_pattern)",
                            pattern + 1)
               : mem_printf("the core is a file %s, relative to the worker's folder "
                            "(kernel.core_pattern)",
                            pattern);
}

static char *find_cause(const struct findings *f, const struct worker_end *end,
                        const char *gpu_pci)
{
    char *xid = kernel_log_cause(f->kernel_log, gpu_pci);
    if (xid)
        return xid;
    if (end->kind == END_SIGNAL && end->core)
        return core_cause();
    struct oom_count now;
    oom_count_read("", &now);
    oom_sizes_read("", &now);
    /* A worker that ends by itself may have lost a child; others on this machine lost what is
     * none of our business. */
    if (end->kind != END_SIGNAL || end->code != SIGKILL)
        now.has_machine = now.has_failcnt = false;
    return oom_cause(&f->oom, &now);
}

void findings_look(struct findings *f, uint32_t local_rank, uint32_t rank,
                   const struct worker_end *end, const char *gpu_pci,
                   const struct job_files *files)
{
    struct finding *found = &f->workers[local_rank];
    found->cause = find_cause(f, end, gpu_pci);
    char *path = job_files_error_path(files, rank);
    if (!path)
        return;
    found->error = error_file_read(path);
    if (found->error && f->copies_first && !f->first_error)
        f->first_error =
            error_file_stamp(path, end->kind == END_SIGNAL ? 128 + end->code : end->code);
    free(path);
}

struct evidence findings_of(const struct findings *f, uint32_t local_rank, const char *tail)
{
    const struct finding *found = &f->workers[local_rank];
    return (struct evidence){tail, found->error, found->cause};
}

int findings_hand_on(const struct findings *f, const char *path, struct err *e)
{
    return f && f->first_error ? error_file_write(path, f->first_error, e) : 0;
}

#include "launcher/io/evidence_gather.h" /* of which this is the part about the host */

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/io/root_file.h"

static const int64_t SHM_BYTES = 64 * 1024 * 1024; /* of one rank: more would be felt */

/* ---- /dev/shm ---- */

/* errno of a file of that size, which is gone again. */
static int try_file(const char *folder, int64_t bytes)
{
    char *path = mem_printf("%s/muster-doctor-XXXXXX", folder);
    int fd = mkostemp(path, O_CLOEXEC), why = fd < 0 ? errno : 0;
    if (fd >= 0) {
        unlink(path);
        why = posix_fallocate(fd, 0, bytes);
        close(fd);
    }
    free(path);
    return why;
}

static void gather_shm(const char *root, struct host_evidence *ev)
{
    char *folder = mem_printf("%s/dev/shm", root);
    struct statvfs v;
    if (statvfs(folder, &v) == 0) {
        evidence_set(&ev->shm_free, (int64_t)(v.f_bavail * v.f_frsize));
        evidence_set(&ev->shm_errno, try_file(folder, SHM_BYTES));
    }
    free(folder);
}

/* ---- logind ---- */

/* The last RemoveIPC= of a file counts; NULL if there is none. */
static char *removeipc_of(const char *root, const char *path)
{
    struct buf text;
    char *value = NULL;
    buf_init(&text, 0);
    struct str line, rest = {NULL, 0};
    if (root_read(root, path, &text) == 0 && text.len)
        rest = (struct str){text.data, text.len};
    while (str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (!str_starts(line, "RemoveIPC="))
            continue;
        free(value);
        value = mem_printf("%.*s", (int)line.n - 10, line.p + 10);
    }
    buf_fini(&text);
    return value;
}

struct logind {
    const char *root, *folder;
    struct host_evidence *ev;
};

static void read_logind(const struct logind *l, const char *path)
{
    char *value = removeipc_of(l->root, path);
    if (value) {
        bool is_off = strcasecmp(value, "no") == 0 || strcmp(value, "0") == 0
                      || strcasecmp(value, "false") == 0 || strcasecmp(value, "off") == 0;
        evidence_set(&l->ev->removeipc, !is_off);
        evidence_set_text(&l->ev->removeipc_file, path);
    }
    free(value);
}

static void on_dropin(void *ctx, const char *name)
{
    const struct logind *l = ctx;
    size_t n = strlen(name);
    char *path = mem_printf("%s/%s", l->folder, name);
    if (n > 5 && strcmp(name + n - 5, ".conf") == 0)
        read_logind(l, path);
    free(path);
}

/* The user's name, as /etc/passwd has it: logind names its files by it. */
static char *user_name(const char *root, unsigned uid)
{
    struct buf text;
    char *name = NULL;
    buf_init(&text, 0);
    struct str line, rest = {NULL, 0};
    if (root_read(root, "/etc/passwd", &text) == 0 && text.len)
        rest = (struct str){text.data, text.len};
    while (!name && str_split(&rest, '\n', &line)) {
        struct str fields = line, first, second, third;
        uint64_t id;
        if (str_split(&fields, ':', &first) && str_split(&fields, ':', &second)
            && str_split(&fields, ':', &third) && str_parse_u64(third, 0, UINT32_MAX, &id) == 0
            && id == uid)
            name = mem_printf("%.*s", STR_ARG(first));
    }
    buf_fini(&text);
    return name;
}

static bool has_line(const char *root, const char *path, const char *start)
{
    struct buf text;
    bool is_there = false;
    buf_init(&text, 0);
    struct str line, rest = {NULL, 0};
    if (root_read(root, path, &text) == 0 && text.len)
        rest = (struct str){text.data, text.len};
    while (!is_there && str_split(&rest, '\n', &line))
        is_there = str_starts(line, start) && line.n > strlen(start);
    buf_fini(&text);
    return is_there;
}

static void gather_logind(const char *root, struct host_evidence *ev)
{
    static const char *const folders[] = {"/usr/lib/systemd/logind.conf.d",
                                          "/run/systemd/logind.conf.d",
                                          "/etc/systemd/logind.conf.d"};
    struct logind l = {.root = root, .ev = ev};
    evidence_set(&ev->uid, getuid());
    if (!root_exists(root, "/run/systemd/users")) {
        evidence_set(&ev->removeipc, 0); /* there is no logind */
        return;
    }
    evidence_set(&ev->removeipc, 1);
    evidence_set_text(&ev->removeipc_file, "by default");
    read_logind(&l, "/etc/systemd/logind.conf");
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        l.folder = folders[i];
        root_each(root, folders[i], on_dropin, &l);
    }
    char *name = user_name(root, getuid());
    char *linger = mem_printf("/var/lib/systemd/linger/%s", name ? name : "");
    char *user = mem_printf("/run/systemd/users/%u", (unsigned)getuid());
    if (name)
        evidence_set(&ev->lingers, root_exists(root, linger));
    evidence_set(&ev->has_session, has_line(root, user, "SESSIONS="));
    free(user);
    free(linger);
    free(name);
}

/* ---- system calls and limits ---- */

/* Neither changes anything: the policy of a page that nobody uses. */
static void gather_numa(struct host_evidence *ev)
{
    int mode, why = 0;
    long page = sysconf(_SC_PAGESIZE);
    void *at =
        mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    if (syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) < 0)
        why = errno;
    else if (syscall(SYS_mbind, at, (size_t)page, MPOL_DEFAULT, NULL, 0, 0) < 0)
        why = errno;
    munmap(at, (size_t)page);
    evidence_set(&ev->numa_errno, why == ENOSYS ? 0 : why);
}

static int64_t limit_value(rlim_t limit)
{
    return limit == RLIM_INFINITY || limit > INT64_MAX ? -1 : (int64_t)limit;
}

static void gather_limits(struct host_evidence *ev)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        evidence_set(&ev->memlock, limit_value(limit.rlim_cur));
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        evidence_set(&ev->nofile, limit_value(limit.rlim_cur));
        evidence_set(&ev->nofile_hard, limit_value(limit.rlim_max));
    }
}

static void on_group(void *ctx, const char *name)
{
    (void)name;
    ++*(int64_t *)ctx;
}

static void gather_kernel(const char *root, struct host_evidence *ev)
{
    int64_t groups = 0;
    struct utsname name;
    if (root_each(root, "/sys/kernel/iommu_groups", on_group, &groups) == 0
        || !root_exists(root, "/sys/kernel/iommu_groups"))
        evidence_set(&ev->iommu_groups, groups);
    char *cmdline = root_line(root, "/proc/cmdline");
    char *release = root_line(root, "/proc/sys/kernel/osrelease");
    evidence_set_text(&ev->cmdline, cmdline);
    evidence_set_text(&ev->kernel, release);
    if (!release && uname(&name) == 0)
        evidence_set_text(&ev->kernel, name.release);
    free(release);
    free(cmdline);
}

void evidence_gather_host(const struct evidence_request *r, struct host_evidence *ev)
{
    gather_shm(r->root, ev);
    gather_logind(r->root, ev);
    gather_numa(ev);
    gather_limits(ev);
    gather_kernel(r->root, ev);
    evidence_set(&ev->has_nvidia0, root_exists(r->root, "/dev/nvidia0"));
    evidence_set(&ev->has_uvm, root_exists(r->root, "/dev/nvidia-uvm"));
}

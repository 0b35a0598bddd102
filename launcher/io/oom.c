#include "launcher/io/oom.h"

#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

enum { FILE_BYTES = 16 * 1024 };

static bool read_text(const char *path, char text[FILE_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t len = 0;
    ssize_t n;
    while (len < FILE_BYTES - 1 && (n = read(fd, text + len, FILE_BYTES - 1 - len)) > 0)
        len += (size_t)n;
    close(fd);
    text[len] = '\0';
    return true;
}

/* The value of a line "NAME VALUE". */
static bool find_number(const char *text, const char *name, uint64_t *value)
{
    struct str rest = str_from(text), line, word;
    while (str_split(&rest, '\n', &line))
        if (str_split(&line, ' ', &word) && str_eq(word, name))
            return line.p && str_parse_u64(line, 0, UINT64_MAX, value) == 0;
    return false;
}

/* A file of one number and a newline. */
static bool read_number(const char *path, uint64_t *value)
{
    char text[FILE_BYTES];
    struct str line, rest;
    if (!read_text(path, text))
        return false;
    rest = str_from(text);
    return str_split(&rest, '\n', &line) && str_parse_u64(line, 0, UINT64_MAX, value) == 0;
}

static bool has_word(struct str list, const char *word)
{
    struct str part;
    while (str_split(&list, ',', &part))
        if (str_eq(part, word))
            return true;
    return false;
}

/* Folder of muster's own cgroup: of the one hierarchy of version 2 ("0::/path"), or of version
 * 1's controller ("4:cpu,memory:/path"). NULL if there is none. */
static char *group_folder(const char *root, const char *controller)
{
    char text[FILE_BYTES];
    char *path = mem_printf("%s/proc/self/cgroup", root), *folder = NULL;
    struct str rest = STR_LIT(""), line, number, list;
    if (read_text(path, text))
        rest = str_from(text);
    while (!folder && str_split(&rest, '\n', &line)) {
        if (!str_split(&line, ':', &number) || !str_split(&line, ':', &list) || !line.n)
            continue;
        if (controller ? has_word(list, controller) : str_eq(number, "0") && !list.n)
            folder = mem_printf("%s/sys/fs/cgroup%s%s%.*s", root, controller ? "/" : "",
                                controller ? controller : "", STR_ARG(line));
    }
    free(path);
    return folder;
}

/* The tightest limit from this folder up to the root of the hierarchy. */
static uint64_t read_limit(const char *folder, size_t root_length)
{
    uint64_t limit = UINT64_MAX, one;
    char *path = mem_strdup(folder);
    while (strlen(path) > root_length) {
        char *file = mem_printf("%s/memory.max", path);
        if (read_number(file, &one) && one < limit)
            limit = one;
        free(file);
        *strrchr(path, '/') = '\0';
    }
    free(path);
    return limit;
}

/* What has no limit says a number near 2^63. */
static bool read_limit_v1(const char *folder, uint64_t *limit)
{
    char *file = mem_printf("%s/memory.limit_in_bytes", folder);
    bool is_read = read_number(file, limit);
    if (is_read && *limit >> 62)
        *limit = UINT64_MAX;
    free(file);
    return is_read;
}

/* Folder of version 1's memory controller; a container has its cgroup mounted as the root. */
static char *group_folder_v1(const char *root)
{
    uint64_t limit;
    char *folder = group_folder(root, "memory");
    if (!folder || read_limit_v1(folder, &limit))
        return folder;
    free(folder);
    return mem_printf("%s/sys/fs/cgroup/memory", root);
}

static bool read_events(const char *root, struct oom_count *c)
{
    char text[FILE_BYTES];
    char *folder = group_folder(root, NULL);
    if (!folder)
        return false;
    char *events = mem_printf("%s/memory.events", folder);
    bool is_read = read_text(events, text) && find_number(text, "oom_kill", &c->group);
    free(events);
    free(folder);
    return is_read;
}

/* The number of hits matters where nobody counts who died. */
static void read_control_v1(const char *root, struct oom_count *c)
{
    char text[FILE_BYTES];
    uint64_t under = 0;
    char *folder = group_folder_v1(root);
    if (!folder)
        return;
    char *control = mem_printf("%s/memory.oom_control", folder);
    char *failcnt = mem_printf("%s/memory.failcnt", folder);
    if (read_text(control, text)) {
        c->has_group = find_number(text, "oom_kill", &c->group);
        c->is_under_oom = find_number(text, "under_oom", &under) && under;
    }
    c->has_failcnt = !c->has_group && read_number(failcnt, &c->failcnt);
    free(failcnt);
    free(control);
    free(folder);
}

void oom_count_read(const char *root, struct oom_count *c)
{
    char text[FILE_BYTES];
    *c = (struct oom_count){.limit = UINT64_MAX};
    c->has_group = read_events(root, c);
    if (!c->has_group)
        read_control_v1(root, c);
    if (c->has_group) /* whatever killer it was, it counted */
        return;
    char *path = mem_printf("%s/proc/vmstat", root);
    c->has_machine = read_text(path, text) && find_number(text, "oom_kill", &c->machine);
    free(path);
}

static bool read_peak(const char *folder, const char *name, uint64_t *peak)
{
    char *path = mem_printf("%s/%s", folder, name);
    bool is_read = read_number(path, peak);
    free(path);
    return is_read;
}

void oom_sizes_read(const char *root, struct oom_count *c)
{
    char *folder = group_folder(root, NULL), *folder_v1 = NULL;
    c->limit = UINT64_MAX;
    c->peak = 0;
    if (folder)
        c->limit = read_limit(folder, strlen(root) + strlen("/sys/fs"));
    if (!(folder && read_peak(folder, "memory.peak", &c->peak))
        && (folder_v1 = group_folder_v1(root))) {
        if (c->limit == UINT64_MAX)
            read_limit_v1(folder_v1, &c->limit);
        read_peak(folder_v1, "memory.max_usage_in_bytes", &c->peak);
    }
    free(folder_v1);
    free(folder);
}

static void add_size(struct buf *out, const char *label, uint64_t bytes)
{
    if (bytes < (1u << 30))
        buf_addf(out, ", %s %.1f MiB", label, (double)bytes / (1 << 20));
    else
        buf_addf(out, ", %s %.1f GiB", label, (double)bytes / (1 << 30));
}

static bool has_grown(bool is_known, uint64_t before, uint64_t after)
{
    return is_known && after > before;
}

static void add_sizes(const struct oom_count *after, struct buf *out)
{
    if (after->limit != UINT64_MAX)
        add_size(out, "limit", after->limit);
    if (after->peak)
        add_size(out, "peak", after->peak);
    buf_addc(out, ')');
}

static void add_group(const struct oom_count *before, const struct oom_count *after,
                      struct buf *out)
{
    buf_addf(out, "%s (oom_kill %llu -> %llu",
             after->limit != UINT64_MAX
                 ? "the cgroup's memory limit was hit"
                 : "the kernel's out-of-memory killer ended processes of this cgroup",
             (unsigned long long)before->group, (unsigned long long)after->group);
    add_sizes(after, out);
}

/* Before Linux 4.13 version 1 did not count who died. */
static void add_failcnt(const struct oom_count *before, const struct oom_count *after,
                        struct buf *out)
{
    buf_addf(out,
             "probably the cgroup's memory limit, which was hit (memory.failcnt %llu -> "
             "%llu%s",
             (unsigned long long)before->failcnt, (unsigned long long)after->failcnt,
             after->is_under_oom ? ", under_oom" : "");
    add_sizes(after, out);
}

char *oom_cause(const struct oom_count *before, const struct oom_count *after)
{
    struct buf out;
    buf_init(&out, 0);
    bool has_group = before->has_group && after->has_group;
    if (has_grown(has_group, before->group, after->group))
        add_group(before, after, &out);
    else if (!has_group && before->has_failcnt && after->has_failcnt
             && (after->failcnt > before->failcnt || after->is_under_oom))
        add_failcnt(before, after, &out);
    else if (has_grown(before->has_machine && after->has_machine, before->machine,
                       after->machine))
        buf_addf(&out,
                 "the kernel's out-of-memory killer was at work on this machine (oom_kill %llu "
                 "-> %llu in /proc/vmstat)",
                 (unsigned long long)before->machine, (unsigned long long)after->machine);
    if (out.len)
        return buf_steal(&out);
    buf_fini(&out);
    return NULL;
}

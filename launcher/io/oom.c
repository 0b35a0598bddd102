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

/* Folder of muster's own cgroup, version 2; NULL if there is none. */
static char *group_folder(const char *root)
{
    char text[FILE_BYTES];
    char *path = mem_printf("%s/proc/self/cgroup", root), *folder = NULL;
    struct str rest = STR_LIT(""), line;
    if (read_text(path, text))
        rest = str_from(text);
    while (!folder && str_split(&rest, '\n', &line))
        if (line.n > 3 && memcmp(line.p, "0::", 3) == 0)
            folder = mem_printf("%s/sys/fs/cgroup%.*s", root, (int)line.n - 3, line.p + 3);
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

static void read_group(const char *root, struct oom_count *c)
{
    char text[FILE_BYTES];
    char *folder = group_folder(root);
    if (!folder)
        return;
    char *events = mem_printf("%s/memory.events", folder);
    char *peak = mem_printf("%s/memory.peak", folder);
    c->has_group = read_text(events, text) && find_number(text, "oom_kill", &c->group);
    c->limit = read_limit(folder, strlen(root) + strlen("/sys/fs"));
    if (!read_number(peak, &c->peak))
        c->peak = 0;
    free(peak);
    free(events);
    free(folder);
}

void oom_count_read(const char *root, struct oom_count *c)
{
    char text[FILE_BYTES];
    *c = (struct oom_count){.limit = UINT64_MAX};
    read_group(root, c);
    char *path = mem_printf("%s/proc/vmstat", root);
    c->has_machine = read_text(path, text) && find_number(text, "oom_kill", &c->machine);
    free(path);
}

static void add_size(struct buf *out, const char *label, uint64_t bytes)
{
    if (bytes < (1u << 30))
        buf_addf(out, ", %s %.1f MiB", label, (double)bytes / (1 << 20));
    else
        buf_addf(out, ", %s %.1f GiB", label, (double)bytes / (1 << 30));
}

char *oom_cause(const struct oom_count *before, const struct oom_count *after)
{
    struct buf out;
    buf_init(&out, 0);
    if (before->has_group && after->has_group && after->group > before->group) {
        bool has_limit = after->limit != UINT64_MAX;
        buf_addf(&out, "%s (oom_kill %llu -> %llu",
                 has_limit ? "the cgroup's memory limit was hit"
                           : "the kernel's out-of-memory killer ended processes of this cgroup",
                 (unsigned long long)before->group, (unsigned long long)after->group);
        if (has_limit)
            add_size(&out, "limit", after->limit);
        if (after->peak)
            add_size(&out, "peak", after->peak);
        buf_addc(&out, ')');
    } else if (before->has_machine && after->has_machine && after->machine > before->machine) {
        buf_addf(&out,
                 "the kernel's out-of-memory killer was at work on this machine (oom_kill %llu "
                 "-> %llu in /proc/vmstat)",
                 (unsigned long long)before->machine, (unsigned long long)after->machine);
    } else {
        buf_fini(&out);
        return NULL;
    }
    return buf_steal(&out);
}

#include "launcher/io/root_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

enum { FILE_MAX = 8 << 20 };

int root_read(const char *root, const char *path, struct buf *out)
{
    char *full = mem_printf("%s%s", root, path), part[4096];
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = -1;
    free(full);
    while (fd >= 0 && out->len < FILE_MAX && (n = read(fd, part, sizeof part)) > 0)
        buf_add(out, part, (size_t)n);
    if (fd >= 0)
        close(fd);
    return n < 0 ? -1 : 0;
}

char *root_line(const char *root, const char *path)
{
    struct buf text;
    char *line = NULL;
    buf_init(&text, 0);
    if (root_read(root, path, &text) == 0) {
        const char *s = buf_str(&text);
        struct str first = str_trim((struct str){s, strcspn(s, "\n")});
        line = mem_printf("%.*s", STR_ARG(first));
    }
    buf_fini(&text);
    return line;
}

bool root_exists(const char *root, const char *path)
{
    char *full = mem_printf("%s%s", root, path);
    bool is_there = access(full, F_OK) == 0;
    free(full);
    return is_there;
}

int root_open_errno(const char *root, const char *path)
{
    char *full = mem_printf("%s%s", root, path);
    int fd = open(full, O_RDWR | O_CLOEXEC | O_NONBLOCK), why = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    free(full);
    return why;
}

int root_each(const char *root, const char *path, void (*on_entry)(void *ctx, const char *name),
              void *ctx)
{
    char *full = mem_printf("%s%s", root, path);
    struct dirent **entries;
    int n = scandir(full, &entries, NULL, versionsort);
    free(full);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.')
            on_entry(ctx, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return n < 0 ? -1 : 0;
}

/* ---- libraries ---- */

static char *in_folder(const char *root, struct str folder, const char *name)
{
    char *path = mem_printf("%.*s/%s", STR_ARG(folder), name);
    if (folder.n && root_exists(root, path))
        return path;
    free(path);
    return NULL;
}

/* The cache holds paths as text, each with a NUL behind it. */
static char *in_cache(const char *root, const char *name)
{
    struct buf cache;
    char *found = NULL, *key = mem_printf("/%s", name);
    size_t n = strlen(key) + 1;
    buf_init(&cache, 0);
    if (root_read(root, "/etc/ld.so.cache", &cache) == 0)
        for (size_t at = 0; !found && at + n <= cache.len; at++) {
            if (memcmp(cache.data + at, key, n) != 0)
                continue;
            size_t begin = at;
            while (begin > 0 && cache.data[begin - 1])
                begin--;
            if (root_exists(root, cache.data + begin))
                found = mem_strdup(cache.data + begin);
        }
    buf_fini(&cache);
    free(key);
    return found;
}

char *root_library(const char *root, const char *name)
{
    static const char usual[] =
        "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:"
        "/usr/lib:/lib64:/usr/local/nvidia/lib64:/usr/lib/wsl/lib";
    struct str rest = str_from(getenv("LD_LIBRARY_PATH")), folder;
    char *found = NULL;
    while (!found && str_split(&rest, ':', &folder))
        found = in_folder(root, folder, name);
    if (!found)
        found = in_cache(root, name);
    rest = str_from(usual);
    while (!found && str_split(&rest, ':', &folder))
        found = in_folder(root, folder, name);
    return found;
}

#include "launcher/io/script_line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

enum { LINE_MAX_BYTES = 256 }; /* what execve reads (BINPRM_BUF_SIZE) */

static size_t read_head(const char *path, char *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, head, LINE_MAX_BYTES);
    if (fd >= 0)
        close(fd);
    return n < 0 ? 0 : (size_t)n;
}

/* What the line names, as execve takes it: up to a blank. */
static void first_word(struct str line, char *out)
{
    size_t n = 0;
    line = str_trim(line);
    while (n < line.n && line.p[n] && line.p[n] != ' ' && line.p[n] != '\t')
        n++;
    memcpy(out, line.p, n);
    out[n] = '\0';
}

int script_line_check(const char *path, struct err *e)
{
    char head[LINE_MAX_BYTES], interpreter[LINE_MAX_BYTES];
    struct str rest = {head, read_head(path, head)}, line;
    bool is_cut = !memchr(head, '\n', rest.n) && rest.n == sizeof head;
    struct stat st;
    if (!str_starts(rest, "#!") || is_cut || !str_split(&rest, '\n', &line))
        return 0;
    if (line.p[line.n - 1] == '\r')
        return err_set(e, ERR_NOT_EXECUTABLE,
                       "%s: cannot be executed: its lines end as on Windows (CR LF); "
                       "sed -i 's/\\r$//' mends the file",
                       path);
    first_word((struct str){line.p + 2, line.n - 2}, interpreter);
    if (!*interpreter)
        return 0;
    if (stat(interpreter, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(e, ERR_NOT_FOUND,
                       "%s: its first line names the interpreter %s, which is not there", path,
                       interpreter);
    if (access(interpreter, X_OK) < 0)
        return err_set(e, ERR_NOT_EXECUTABLE,
                       "%s: its first line names %s, which cannot be executed: %s", path,
                       interpreter, strerror(errno));
    return 0;
}

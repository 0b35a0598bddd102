#include "launcher/io/error_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

enum { LINE_BYTES = 300 }; /* of the exception's text, and of a frame */

/* ---- the file ---- */

static int read_all(int fd, struct buf *text)
{
    char *room;
    ssize_t n = 0;
    while ((room = buf_reserve(text, 4096)) != NULL && (n = read(fd, room, 4096)) != 0) {
        if (n < 0 && errno != EINTR)
            return -1;
        buf_commit(text, n > 0 ? (size_t)n : 0);
    }
    return room ? 0 : -1;
}

/* The file's bytes; NULL with why it cannot be had, or with NULL if there is nothing. */
static const char *read_file(const char *path, struct buf *text)
{
    struct stat st;
    /* A worker may have put anything there: not waiting for the writer of a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? NULL : strerror(errno);
    const char *why = NULL;
    if (fstat(fd, &st) < 0)
        why = strerror(errno);
    else if (!S_ISREG(st.st_mode))
        why = "it is not a regular file";
    else if (st.st_size > ERROR_FILE_MAX || read_all(fd, text) < 0)
        why = "it is too large";
    close(fd);
    return why;
}

static json_t *load(const char *path, const char **why)
{
    struct buf text;
    buf_init(&text, ERROR_FILE_MAX + 4096);
    json_t *root = NULL;
    json_error_t bad;
    *why = read_file(path, &text);
    if (!*why && text.len) {
        root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &bad);
        if (!root)
            *why = "it is not JSON";
    }
    buf_fini(&text);
    return root;
}

/* ---- what it says ---- */

/* The first line of s, safe for a terminal, cut between characters. */
static void add_line(struct buf *out, struct str s)
{
    struct str line;
    str_split(&s, '\n', &line);
    size_t n = line.n < LINE_BYTES ? line.n : LINE_BYTES;
    while (n && n < line.n && ((unsigned char)line.p[n] & 0xc0) == 0x80)
        n--;
    for (size_t i = 0; i < n; i++)
        buf_addc(out, (unsigned char)line.p[i] < ' ' || line.p[i] == 0x7f ? '?' : line.p[i]);
    if (n < line.n)
        buf_adds(out, "...");
}

struct frame_line {
    struct str file, line, function;
};

/* `  File "/a/train.py", line 17, in main` */
static bool parse_frame(struct str text, struct frame_line *f)
{
    const char *end = text.p + text.n, *p = text.p;
    static const char head[] = "  File \"", middle[] = "\", line ", tail[] = ", in ";
    if (text.n < sizeof head || memcmp(p, head, sizeof head - 1) != 0)
        return false;
    p += sizeof head - 1;
    const char *line = memmem(p, (size_t)(end - p), middle, sizeof middle - 1);
    if (!line)
        return false;
    f->file = (struct str){p, (size_t)(line - p)};
    line += sizeof middle - 1;
    const char *in = memmem(line, (size_t)(end - line), tail, sizeof tail - 1);
    if (!in)
        return false;
    f->line = (struct str){line, (size_t)(in - line)};
    in += sizeof tail - 1;
    f->function = (struct str){in, (size_t)(end - in)};
    return true;
}

static bool is_library(struct str file)
{
    static const char *const places[] = {"/site-packages/", "/dist-packages/", "/lib/python"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (memmem(file.p, file.n, places[i], strlen(places[i])))
            return true;
    return file.n && file.p[0] == '<';
}

/* The innermost frame of the last traceback, one of the user's where there is one. */
static bool find_frame(const char *callstack, struct frame_line *found)
{
    struct str rest = str_from(callstack), line;
    struct frame_line f;
    bool has_any = false, has_own = false;
    while (str_split(&rest, '\n', &line)) {
        if (str_eq(line, "Traceback (most recent call last):"))
            has_any = has_own = false; /* an earlier one was the cause of this */
        if (!parse_frame(line, &f) || (has_own && is_library(f.file)))
            continue;
        *found = f;
        has_any = true;
        has_own = !is_library(f.file);
    }
    return has_any;
}

static void add_frame(struct buf *out, const char *callstack)
{
    struct frame_line f;
    if (!callstack || !find_frame(callstack, &f))
        return;
    const char *slash = memrchr(f.file.p, '/', f.file.n);
    if (slash) {
        f.file.n -= (size_t)(slash + 1 - f.file.p);
        f.file.p = slash + 1;
    }
    buf_adds(out, "  ");
    add_line(out, f.file);
    buf_addc(out, ':');
    add_line(out, f.line);
    buf_adds(out, " in ");
    add_line(out, f.function);
}

char *error_file_read(const char *path)
{
    const char *why;
    json_t *root = load(path, &why);
    if (!root && !why)
        return NULL;
    const json_t *message = json_object_get(root, "message"), *text = message;
    if (json_is_object(message))
        text = json_object_get(message, "message");
    struct buf out;
    buf_init(&out, 0);
    if (json_is_string(text)) {
        add_line(&out, str_from(json_string_value(text)));
        add_frame(&out, json_string_value(json_object_get(json_object_get(message, "extraInfo"),
                                                          "py_callstack")));
        buf_adds(&out, " (error.json)");
    } else {
        buf_addf(&out, "error.json is unreadable: %s", why ? why : "it has no message");
    }
    json_decref(root);
    return buf_steal(&out);
}

/* ---- for an outer launcher ---- */

char *error_file_stamp(const char *path, int error_code)
{
    const char *why;
    json_t *root = load(path, &why);
    json_t *message = json_object_get(root, "message");
    char *text = NULL;
    if (json_is_string(message)) {
        json_t *whole = json_object();
        json_object_set(whole, "message", message);
        json_object_set_new(root, "message", whole);
        message = whole;
    }
    if (json_is_object(message)) {
        json_object_set_new(message, "errorCode", json_integer(error_code));
        text = json_dumps(root, JSON_ENCODE_ANY);
    }
    json_decref(root);
    return text;
}

int error_file_write(const char *path, const char *text, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return err_sys(e, errno, "cannot write %s", path);
    size_t left = strlen(text);
    int rc = 0;
    while (left && rc == 0) {
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno != EINTR)
            rc = err_sys(e, errno, "cannot write %s", path);
        text += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return rc;
}

#include "launcher/core/host_fault.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { TEXT_SIZE = 512, SHOWN_MAX = 92, BEFORE_MAX = 60 };

static const char *const names[] = {[HOST_OK] = "OK",
#define X(name) [HOST_E_##name] = "E_" #name,
                                    HOST_ERRORS(X)
#undef X
};
static_assert(sizeof names / sizeof names[0] == HOST_ERROR_COUNT, "one name a class");

const char *host_error_name(enum host_error class)
{
    return names[class];
}

void host_fault_init(struct host_fault *f)
{
    *f = (struct host_fault){HOST_OK, 0, 0, {0}};
    buf_init(&f->text, 0);
}

void host_fault_fini(struct host_fault *f)
{
    buf_fini(&f->text);
}

static void add_place(const struct host_source *src, uint32_t line, uint32_t col,
                      struct buf *out)
{
    buf_adds(out, src->name);
    if (src->is_option && col)
        buf_addf(out, ", column %u", col);
    else if (line)
        buf_addf(out, ":%u:%u", line, col);
    buf_adds(out, ": ");
}

/* The line, every byte one column wide, and a caret; a long line is cut on both sides. */
static void add_line(struct str line, uint32_t col, struct buf *out)
{
    size_t at = col - 1, from = at > BEFORE_MAX ? at - BEFORE_MAX : 0;
    size_t to = line.n - from > SHOWN_MAX ? from + SHOWN_MAX : line.n;
    const char *before = from ? "..." : "";
    buf_addf(out, "    %s", before);
    for (size_t i = from; i < to; i++) {
        char c = line.p[i];
        buf_addc(out, c == '\t' ? ' ' : c < 0x20 || c > 0x7e ? '?' : c);
    }
    buf_addf(out, "%s\n    %s%*s^\n", to < line.n ? "..." : "", before[0] ? "   " : "",
             (int)(at - from), "");
}

/* What is quoted may have tabs, and a file's name anything. */
static void make_one_line(struct buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if ((unsigned char)text->data[i] < 0x20 || text->data[i] == 0x7f)
            text->data[i] = text->data[i] == '\t' ? ' ' : '?';
}

static int fail(const struct host_source *src, enum host_error class, uint32_t line,
                uint32_t col, const char *message)
{
    struct buf text;
    buf_init(&text, 0);
    add_place(src, line, col, &text);
    buf_adds(&text, message);
    make_one_line(&text);
    err_set(src->e, ERR_HOSTFILE, "%s", buf_str(&text));
    if (src->fault) {
        struct host_fault *f = src->fault;
        f->class = class;
        f->line = line;
        f->col = col;
        buf_reset(&f->text);
        buf_addf(&f->text, "%s\n", buf_str(&text));
    }
    buf_fini(&text);
    return -1;
}

int host_fail(const struct host_source *src, enum host_error class, const char *at,
              const char *fmt, ...)
{
    char message[TEXT_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    if (!at)
        return fail(src, class, 0, 0, message);
    uint32_t col = (uint32_t)(at - src->line.p) + 1;
    fail(src, class, src->number, col, message);
    if (src->fault)
        add_line(src->line, col, &src->fault->text);
    return -1;
}

int host_fail_at(const struct host_source *src, enum host_error class, uint32_t line,
                 uint32_t col, const char *fmt, ...)
{
    char message[TEXT_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return fail(src, class, line, col, message);
}

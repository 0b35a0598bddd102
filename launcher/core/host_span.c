#include "launcher/core/host_span.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number that contains the byte at which a and b differ. */
static struct str number_around(const char *s, size_t at)
{
    size_t begin = at, end = at;
    while (begin > 0 && is_digit(s[begin - 1]))
        begin--;
    while (is_digit(s[end]))
        end++;
    return (struct str){s + begin, end - begin};
}

static bool is_next(const char *a, const char *b)
{
    size_t at = 0;
    uint64_t left, right;
    while (a[at] && a[at] == b[at])
        at++;
    struct str x = number_around(a, at), y = number_around(b, at);
    return str_parse_u64(x, 0, UINT32_MAX, &left) == 0
           && str_parse_u64(y, 0, UINT32_MAX, &right) == 0 && right == left + 1
           && (x.n == y.n || (*x.p != '0' && *y.p != '0')) && strcmp(x.p + x.n, y.p + y.n) == 0;
}

static void flush(struct host_span *span, struct buf *out)
{
    if (!span->n)
        return;
    buf_adds(out, span->first);
    if (span->n > 1)
        buf_addf(out, "%s%s", span->n == 2 ? ", " : "-", span->last);
    span->n = 0;
}

void host_span_add(struct host_span *span, const char *name, struct buf *out)
{
    if (!span->n || !is_next(span->last, name)) {
        bool is_more = span->n > 0;
        flush(span, out);
        if (is_more)
            buf_adds(out, ", ");
        span->first = name;
    }
    span->last = name;
    span->n++;
}

void host_span_end(struct host_span *span, struct buf *out)
{
    flush(span, out);
}

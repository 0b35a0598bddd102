#include "launcher/core/http_request.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const statuses[] = {
#define X(name, number, reason) [HTTP_##name] = #number " " reason,
    HTTP_STATUSES(X)
#undef X
};
static_assert(sizeof statuses / sizeof statuses[0] == HTTP_STATUS_COUNT, "one row a status");

const char *http_status_text(enum http_status status)
{
    return statuses[status];
}

static enum http_progress refuse(enum http_status status, enum http_status *why)
{
    *why = status;
    return HTTP_REFUSED;
}

/* tchar of RFC 9110: what a method and the name of a field are made of. */
static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.p[i]) && (!s.p[i] || !strchr("!#$%&'*+-.^_`|~", s.p[i])))
            return false;
    return s.n > 0;
}

static bool is_visible(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] == 0x7f)
            return false;
    return s.n > 0;
}

/* The next line without its CRLF; a CR or LF alone is not its end. *is_ok: false if there is
 * such a one. */
static bool take_line(struct str *rest, struct str *line, bool *is_ok)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!end)
        return false;
    size_t n = (size_t)(end - rest->p);
    *is_ok = n > 0 && rest->p[n - 1] == '\r' && !memchr(rest->p, '\r', n - 1);
    *line = (struct str){rest->p, n - (n > 0)};
    rest->p += n + 1;
    rest->n -= n + 1;
    return true;
}

/* "NAME: VALUE"; a line that goes on the one before it is none. */
static bool read_field(struct str line, struct str *name)
{
    struct str rest = line;
    if (!str_split(&rest, ':', name) || !rest.p || !is_token(*name))
        return false;
    for (size_t i = 0; i < rest.n; i++)
        if (((unsigned char)rest.p[i] < ' ' && rest.p[i] != '\t') || rest.p[i] == 0x7f)
            return false;
    return true;
}

/* Of a target "/path?query", or "http://host/path" as a proxy is asked; p NULL = neither. */
static struct str path_of(struct str target)
{
    static const char scheme[] = "http://";
    struct str path = target;
    if (target.n >= sizeof scheme - 1
        && strncasecmp(target.p, scheme, sizeof scheme - 1) == 0) {
        path.p += sizeof scheme - 1;
        path.n -= sizeof scheme - 1;
        const char *slash = path.n ? memchr(path.p, '/', path.n) : NULL;
        if (!slash)
            return (struct str){NULL, 0};
        path = (struct str){slash, path.n - (size_t)(slash - path.p)};
    }
    const char *query = path.n ? memchr(path.p, '?', path.n) : NULL;
    if (query)
        path.n = (size_t)(query - path.p);
    return path.n && path.p[0] == '/' ? path : (struct str){NULL, 0};
}

static bool is_version(struct str s, char *minor)
{
    if (s.n != 8 || !str_starts(s, "HTTP/") || !isdigit((unsigned char)s.p[5]) || s.p[6] != '.'
        || !isdigit((unsigned char)s.p[7]))
        return false;
    *minor = s.p[7];
    return true;
}

/* HTTP_OK, or what is wrong with it. */
static enum http_status read_first(struct str line, struct http_request *out, bool *needs_host)
{
    struct str method, target;
    char minor;
    if (!str_split(&line, ' ', &method) || !str_split(&line, ' ', &target) || !line.p
        || !is_token(method) || !is_visible(target) || !is_version(line, &minor))
        return HTTP_BAD_REQUEST;
    if (line.p[5] != '1')
        return HTTP_BAD_VERSION;
    out->is_head = str_eq(method, "HEAD");
    out->path = path_of(target);
    *needs_host = minor != '0';
    if (!out->is_head && !str_eq(method, "GET"))
        return HTTP_BAD_METHOD;
    return out->path.p ? HTTP_OK : HTTP_BAD_REQUEST;
}

/* Once a line is wrong the rest is not awaited. */
static enum http_progress read_head(struct str rest, struct http_request *out,
                                    enum http_status *why)
{
    struct str line, name;
    bool is_ok = true, needs_host = false;
    unsigned nhosts = 0;
    if (!take_line(&rest, &line, &is_ok))
        return HTTP_MORE;
    enum http_status first = is_ok ? read_first(line, out, &needs_host) : HTTP_BAD_REQUEST;
    if (first != HTTP_OK)
        return refuse(first, why);
    while (take_line(&rest, &line, &is_ok)) {
        if (is_ok && !line.n)
            return nhosts == 1 || (!nhosts && !needs_host) ? HTTP_WHOLE
                                                           : refuse(HTTP_BAD_REQUEST, why);
        if (!is_ok || !read_field(line, &name))
            return refuse(HTTP_BAD_REQUEST, why);
        nhosts += name.n == 4 && strncasecmp(name.p, "host", 4) == 0;
    }
    return HTTP_MORE;
}

enum http_progress http_request_read(struct str got, struct http_request *out,
                                     enum http_status *why)
{
    bool is_full = got.n >= HTTP_HEAD_MAX;
    if (is_full)
        got.n = HTTP_HEAD_MAX;
    *out = (struct http_request){0};
    enum http_progress rc = read_head(got, out, why);
    return rc == HTTP_MORE && is_full ? refuse(HTTP_TOO_LARGE, why) : rc;
}

void http_answer_format(enum http_status status, const char *type, size_t body_bytes,
                        const char *date, struct buf *out)
{
    buf_addf(out,
             "HTTP/1.1 %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n",
             statuses[status], date, type, body_bytes);
    if (status == HTTP_BAD_METHOD)
        buf_adds(out, "Allow: GET, HEAD\r\n");
    buf_adds(out, "\r\n");
}

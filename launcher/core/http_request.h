/* http_request.h - the head of an HTTP/1 request, as far as somebody needs it who serves a few
 * pages to be read. Pure; strict (RFC 9112): what two readers could understand in two ways is
 * refused. Why no library does it: docs/design/0017-metrics.md.
 */
#ifndef MUSTER_LAUNCHER_CORE_HTTP_REQUEST_H
#define MUSTER_LAUNCHER_CORE_HTTP_REQUEST_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum { HTTP_HEAD_MAX = 8192 }; /* bytes of a request's head, with the empty line */

/* X(name, number, reason): what is answered. */
#define HTTP_STATUSES(X)                                                                       \
    X(OK, 200, "OK")                                                                           \
    X(BAD_REQUEST, 400, "Bad Request")                                                         \
    X(NOT_FOUND, 404, "Not Found")                                                             \
    X(BAD_METHOD, 405, "Method Not Allowed")                                                   \
    X(TOO_LARGE, 431, "Request Header Fields Too Large")                                       \
    X(BUSY, 503, "Service Unavailable")                                                        \
    X(BAD_VERSION, 505, "HTTP Version Not Supported")

enum http_status {
#define X(name, number, reason) HTTP_##name,
    HTTP_STATUSES(X)
#undef X
        HTTP_STATUS_COUNT
};

struct http_request {
    bool is_head;    /* HEAD, not GET: the answer has no body */
    struct str path; /* of the target, without its query; begins with / */
};

enum http_progress {
    HTTP_MORE,    /* the head is not there whole */
    HTTP_WHOLE,   /* *out is it; the path points into got */
    HTTP_REFUSED, /* *why: what to answer */
};

/* got: all that has come, from its first byte; at most HTTP_HEAD_MAX bytes of it are looked at.
 * A body is nobody's business. */
enum http_progress http_request_read(struct str got, struct http_request *out,
                                     enum http_status *why);

/* Appends the head of an answer whose body has so many bytes; after it the connection ends.
 * date: an IMF-fixdate of RFC 9110. */
void http_answer_format(enum http_status status, const char *type, size_t body_bytes,
                        const char *date, struct buf *out);

/* "404 Not Found", for a body. */
const char *http_status_text(enum http_status status);

#endif

#include "launcher/core/link_reader.h"

#include <string.h>

int link_reader_bad(struct link_reader *r, const char *what, const char *why)
{
    err_set(r->e, ERR_PROTOCOL, "a message of a peer: %s: %s", what, why);
    return -1;
}

int link_reader_number(struct link_reader *r, unsigned size, uint64_t *out, const char *what)
{
    uint64_t v = 0;
    if (r->in.n < size)
        return link_reader_bad(r, what, "is cut off");
    for (unsigned i = 0; i < size; i++)
        v |= (uint64_t)(unsigned char)r->in.p[i] << (8 * i);
    r->in.p += size;
    r->in.n -= size;
    *out = v;
    return 0;
}

int link_reader_bounded(struct link_reader *r, unsigned size, uint64_t min, uint64_t max,
                        uint64_t *out, const char *what)
{
    if (link_reader_number(r, size, out, what) < 0)
        return -1;
    return *out >= min && *out <= max ? 0 : link_reader_bad(r, what, "is out of range");
}

int link_reader_text(struct link_reader *r, uint32_t max, const char **out, const char *what)
{
    uint64_t n;
    if (link_reader_number(r, 4, &n, what) < 0)
        return -1;
    if (n > max)
        return link_reader_bad(r, what, "is too long");
    if (n >= r->in.n)
        return link_reader_bad(r, what, "is cut off");
    if (memchr(r->in.p, '\0', n) || r->in.p[n] != '\0')
        return link_reader_bad(r, what, "is no text that ends where it says");
    *out = r->in.p;
    r->in.p += n + 1;
    r->in.n -= n + 1;
    return 0;
}

int link_reader_count(struct link_reader *r, uint32_t max, size_t least, size_t *n,
                      const char *what)
{
    uint64_t v;
    if (link_reader_bounded(r, 4, 0, max, &v, what) < 0)
        return -1;
    *n = (size_t)v;
    return v <= r->in.n / least ? 0 : link_reader_bad(r, what, "is cut off");
}

int link_reader_bytes(struct link_reader *r, uint32_t max, struct str *out, const char *what)
{
    size_t n;
    if (link_reader_count(r, max, 1, &n, what) < 0)
        return -1;
    *out = (struct str){r->in.p, n};
    r->in = (struct str){r->in.p + n, r->in.n - n};
    return 0;
}

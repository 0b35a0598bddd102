#include "launcher/core/listen_addr.h"

#include <string.h>

static const char here[] = "127.0.0.1";

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

/* Loopback, with the port that stands alone. */
static int parse_port(struct str text, struct str port, struct addr *out, struct err *e)
{
    uint64_t number;
    if (str_parse_u64(port, 0, UINT16_MAX, &number) < 0)
        return err_set(e, ERR_USAGE,
                       "'%.*s' is no place to listen: [HOST]:PORT with a port up to 65535, as "
                       "in :9410",
                       STR_ARG(text));
    memcpy(out->host, here, sizeof here);
    out->port = (uint16_t)number;
    return 0;
}

int listen_addr_parse(struct str text, struct addr *out, struct err *e)
{
    if (text.n && text.p[0] == ':' && !memchr(text.p + 1, ':', text.n - 1))
        return parse_port(text, (struct str){text.p + 1, text.n - 1}, out, e);
    if (!text.n || is_number(text))
        return parse_port(text, text, out, e);
    return addr_parse(text, -1, out, e);
}

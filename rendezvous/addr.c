#include "rendezvous/addr.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

struct ip {
    unsigned char bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    bool is_v6;
};

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '-' || c == '_';
}

/* Behind '%': the name or number of an interface. */
static bool is_zone(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_name_byte(p[i]) && p[i] != '.' && p[i] != '@')
            return false;
    return n > 0 && n < 16;
}

static bool ip_parse(struct str host, struct ip *out)
{
    char text[INET6_ADDRSTRLEN];
    const char *zone = host.n ? memchr(host.p, '%', host.n) : NULL;
    size_t n = zone ? (size_t)(zone - host.p) : host.n;
    if (n >= sizeof text || (zone && !is_zone(zone + 1, host.n - n - 1)))
        return false;
    if (n)
        memcpy(text, host.p, n);
    text[n] = '\0';
    memcpy(out->bytes, mapped, sizeof mapped);
    if (!zone && inet_pton(AF_INET, text, out->bytes + sizeof mapped) == 1) {
        out->is_v6 = false;
        return true;
    }
    if (inet_pton(AF_INET6, text, out->bytes) != 1)
        return false;
    out->is_v6 = memcmp(out->bytes, mapped, sizeof mapped) != 0;
    return true;
}

static bool ip_from(const char *host, struct ip *out)
{
    return ip_parse(str_from(host), out);
}

/* ---- text */

static bool is_digits(struct str s)
{
    uint64_t ignored;
    return s.n && str_parse_u64(s, 0, UINT64_MAX, &ignored) == 0;
}

/* A name: labels of RFC 1123 and '_'; a resolver reads one whose last label is a number as an
 * address. */
static int check_name(struct str host, struct err *e)
{
    struct str rest = host, label;
    if (host.n > ADDR_HOST_MAX)
        return err_set(e, ERR_USAGE, "a host name of %zu bytes; at most %d", host.n,
                       ADDR_HOST_MAX);
    while (str_split(&rest, '.', &label)) {
        if (!label.n && !rest.p && host.n > 1)
            break; /* "host.example.org." */
        bool is_ok = label.n > 0 && label.n <= 63 && label.p[0] != '-';
        for (size_t i = 0; i < label.n && is_ok; i++)
            is_ok = is_name_byte(label.p[i]);
        if (!is_ok)
            return err_set(e, ERR_USAGE,
                           "\"%.*s\" is no host: a name of letters, digits, - _ and dots, "
                           "or an address",
                           STR_ARG(host));
        if (!rest.p && is_digits(label))
            return err_set(e, ERR_USAGE, "\"%.*s\" is no IPv4 address, and no name either",
                           STR_ARG(host));
    }
    return 0;
}

static int parse_port(struct str text, struct str port, struct addr *out, struct err *e)
{
    uint64_t value;
    if (str_parse_u64(port, 0, UINT16_MAX, &value) < 0)
        return err_set(e, ERR_USAGE, "\"%.*s\": \"%.*s\" is no port; a number up to 65535",
                       STR_ARG(text), STR_ARG(port));
    out->port = (uint16_t)value;
    return 0;
}

/* Splits at the colon; port.p is NULL if there is none. */
static int split(struct str text, struct str *host, struct str *port, struct err *e)
{
    struct ip ip;
    *port = (struct str){NULL, 0};
    *host = text;
    if (text.p[0] == '[') {
        const char *end = memchr(text.p, ']', text.n);
        if (!end)
            return err_set(e, ERR_USAGE, "\"%.*s\": no ] after the IPv6 address",
                           STR_ARG(text));
        *host = (struct str){text.p + 1, (size_t)(end - text.p) - 1};
        struct str rest = {end + 1, text.n - host->n - 2};
        if (!ip_parse(*host, &ip) || !memchr(host->p, ':', host->n))
            return err_set(e, ERR_USAGE, "\"%.*s\": in brackets stands an IPv6 address",
                           STR_ARG(text));
        if (rest.n && rest.p[0] != ':')
            return err_set(e, ERR_USAGE, "\"%.*s\": after ] comes :PORT or nothing",
                           STR_ARG(text));
        if (rest.n)
            *port = (struct str){rest.p + 1, rest.n - 1};
        return 0;
    }
    const char *colon = memchr(text.p, ':', text.n);
    if (!colon || ip_parse(text, &ip))
        return 0;
    *host = (struct str){text.p, (size_t)(colon - text.p)};
    *port = (struct str){colon + 1, text.n - host->n - 1};
    if (memchr(port->p, ':', port->n))
        return err_set(
            e, ERR_USAGE,
            "\"%.*s\" has several colons and is no IPv6 address; HOST:PORT or [IPv6]:PORT",
            STR_ARG(text));
    return 0;
}

int addr_parse(struct str text, int default_port, struct addr *out, struct err *e)
{
    struct str host, port;
    struct ip ip;
    text = str_trim(text);
    if (!text.n)
        return err_set(e, ERR_USAGE, "an empty address; HOST:PORT is expected");
    if (memchr(text.p, '\0', text.n))
        return err_set(e, ERR_USAGE, "an address with a NUL byte");
    if (split(text, &host, &port, e) < 0)
        return -1;
    if (!host.n)
        return err_set(e, ERR_USAGE, "\"%.*s\" names no host; HOST:PORT is expected",
                       STR_ARG(text));
    if (host.n > ADDR_HOST_MAX || !ip_parse(host, &ip))
        if (check_name(host, e) < 0)
            return -1;
    if (!port.p && default_port < 0)
        return err_set(e, ERR_USAGE, "\"%.*s\" has no port; HOST:PORT is expected",
                       STR_ARG(text));
    memcpy(out->host, host.p, host.n);
    out->host[host.n] = '\0';
    out->port = (uint16_t)(default_port < 0 ? 0 : default_port);
    return port.p ? parse_port(text, port, out, e) : 0;
}

void addr_format(const struct addr *a, struct buf *out)
{
    buf_addf(out, strchr(a->host, ':') ? "[%s]:%u" : "%s:%u", a->host, a->port);
}

/* ---- questions */

bool addr_is_numeric(const char *host)
{
    struct ip ip;
    return ip_from(host, &ip);
}

bool addr_is_loopback(const char *host)
{
    static const unsigned char one[16] = {[15] = 1};
    static const char *const names[] = {
        "localhost",  "localhost.localdomain", "localhost.localdomain.",
        "localhost.", "ip6-localhost",         "ip6-loopback"};
    struct ip ip;
    if (ip_from(host, &ip))
        return ip.is_v6 ? memcmp(ip.bytes, one, sizeof one) == 0 : ip.bytes[12] == 127;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(host, names[i]) == 0)
            return true;
    return false;
}

bool addr_is_link_local(const char *host)
{
    struct ip ip;
    if (!ip_from(host, &ip))
        return false;
    return ip.is_v6 ? ip.bytes[0] == 0xfe && (ip.bytes[1] & 0xc0) == 0x80
                    : ip.bytes[12] == 169 && ip.bytes[13] == 254;
}

static bool is_unspecified(const char *host)
{
    static const unsigned char zero[16];
    struct ip ip;
    if (!ip_from(host, &ip))
        return false;
    return ip.is_v6 ? memcmp(ip.bytes, zero, 16) == 0 : memcmp(ip.bytes + 12, zero, 4) == 0;
}

bool addr_is_same_host(const char *a, const char *b)
{
    struct ip x, y;
    bool is_ip = ip_from(a, &x);
    if (is_ip != ip_from(b, &y))
        return false;
    if (!is_ip)
        return strcasecmp(a, b) == 0;
    const char *zone_a = strchr(a, '%'), *zone_b = strchr(b, '%');
    return memcmp(x.bytes, y.bytes, sizeof x.bytes) == 0
           && strcmp(zone_a ? zone_a : "", zone_b ? zone_b : "") == 0;
}

bool addr_is_same(const struct addr *a, const struct addr *b)
{
    return a->port == b->port && addr_is_same_host(a->host, b->host);
}

/* ---- subnets */

static bool subnet_parse(struct str text, struct ip *net, unsigned *bits)
{
    struct str host, rest = str_trim(text);
    uint64_t value;
    if (!str_split(&rest, '/', &host) || !rest.p || memchr(host.p, '%', host.n)
        || !ip_parse(host, net))
        return false;
    unsigned shift = memchr(host.p, ':', host.n) ? 0 : 96;
    if (str_parse_u64(rest, 0, 128 - shift, &value) < 0)
        return false;
    *bits = (unsigned)value + shift;
    return true;
}

bool addr_is_subnet(struct str text)
{
    struct ip net;
    unsigned bits;
    return subnet_parse(text, &net, &bits);
}

bool addr_in_subnet(const char *host, struct str subnet)
{
    struct ip ip, net;
    unsigned bits;
    if (!subnet_parse(subnet, &net, &bits) || !ip_from(host, &ip) || ip.is_v6 != net.is_v6)
        return false;
    unsigned whole = bits / 8, left = bits % 8;
    if (memcmp(ip.bytes, net.bytes, whole) != 0)
        return false;
    unsigned mask = left ? (0xffu << (8 - left)) & 0xffu : 0;
    return !left || ((unsigned)(ip.bytes[whole] ^ net.bytes[whole]) & mask) == 0;
}

/* ---- candidates */

static bool list_has(struct addr_list list, const char *host)
{
    for (size_t i = 0; i < list.len; i++)
        if (addr_is_same_host(list.items[i].host, host))
            return true;
    return false;
}

enum pick { PICK_ANY, PICK_REMOTE, PICK_LOOPBACK };

static bool is_picked(const struct addr_sources *from, enum pick pick, const char *host)
{
    switch (pick) {
    case PICK_ANY:
        return true;
    case PICK_REMOTE:
        return !addr_is_loopback(host) && !addr_is_link_local(host) && !is_unspecified(host)
               && !list_has(from->shared, host);
    case PICK_LOOPBACK:
        return addr_is_loopback(host);
    }
    return false;
}

static size_t add(const struct addr_sources *from, struct addr_list list, enum pick pick,
                  uint16_t port, struct addr *out, size_t n)
{
    for (size_t i = 0; i < list.len && n < ADDR_CANDIDATES_MAX; i++) {
        const char *host = list.items[i].host;
        if (!is_picked(from, pick, host) || list_has((struct addr_list){out, n}, host))
            continue;
        out[n] = list.items[i];
        out[n++].port = port;
    }
    return n;
}

size_t addr_candidates(const struct addr_sources *from, uint16_t port,
                       struct addr out[ADDR_CANDIDATES_MAX])
{
    if (from->chosen.len)
        return add(from, from->chosen, PICK_ANY, port, out, 0);
    const struct addr_list lists[] = {from->ssh, from->route, from->own};
    size_t n = 0;
    for (int pick = PICK_REMOTE; pick <= PICK_LOOPBACK; pick++)
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
            n = add(from, lists[i], (enum pick)pick, port, out, n);
    return n;
}

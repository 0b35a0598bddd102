#include "launcher/core/host_name.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_text.h"

enum { LABEL_MAX = 63, NAME_MAX_LEN = HOST_NAME_SIZE - 1, USER_MAX = 32, DIGITS_MAX = 18 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_word_byte(char c)
{
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_';
}

static bool all_of(struct str s, const char *set)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr(set, s.p[i]))
            return false;
    return s.n > 0;
}

static bool is_address(int family, struct str s)
{
    char text[INET6_ADDRSTRLEN + 1];
    unsigned char address[16];
    if (!s.n || s.n >= sizeof text || memchr(s.p, '\0', s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(family, text, address) == 1;
}

bool host_is_ipv6(struct str s)
{
    return is_address(AF_INET6, s);
}

static const char *label_fault(struct str s)
{
    if (!s.n)
        return "a label between dots is empty";
    if (s.n > LABEL_MAX)
        return "a label has at most 63 characters";
    if (s.p[0] == '-' || s.p[s.n - 1] == '-')
        return "no label may begin or end with '-'";
    return NULL;
}

/* Bytes that no name has, with what was probably meant. */
static const char *byte_fault(char c)
{
    switch (c) {
    case ',':
        return "one word names one host or a range such as n[1-2]";
    case '#':
        return "a comment needs a blank before it";
    case '@':
        return "only one user may stand before a host";
    case '%':
        return "the zone of an address means something on one machine only";
    case '[':
    case ']':
    case ':':
        return "brackets hold an IPv6 address, as in [fd00::2]:4, or a range, as in n[1-2]";
    default:
        return "a name has letters, digits, '-', '_' and dots";
    }
}

/* What the resolver would take for a number: digits, or 0x and hexadecimal ones. */
static bool is_number(struct str s)
{
    if (s.n >= 2 && s.p[0] == '0' && lower(s.p[1]) == 'x')
        return s.n == 2 || all_of((struct str){s.p + 2, s.n - 2}, "0123456789abcdefABCDEF");
    return all_of(s, "0123456789");
}

const char *host_name_fault(struct str s)
{
    struct str rest = s, label = {NULL, 0};
    if (!s.n)
        return "the name is missing";
    if (host_is_ipv6(s) || is_address(AF_INET, s))
        return NULL;
    if (s.p[0] == '-')
        return "ssh would take it for an option";
    if (s.n > NAME_MAX_LEN)
        return "a name has at most 253 characters";
    for (size_t i = 0; i < s.n; i++)
        if (!is_word_byte(s.p[i]) && s.p[i] != '-' && s.p[i] != '.')
            return byte_fault(s.p[i]);
    while (str_split(&rest, '.', &label)) {
        const char *fault = label_fault(label);
        if (fault)
            return fault;
    }
    return is_number(label) ? "the resolver would read a number as an address; write all four "
                              "parts of an IPv4 address, or a name"
                            : NULL;
}

const char *host_user_fault(struct str s)
{
    if (!s.n)
        return "the user is missing";
    if (s.p[0] == '-')
        return "ssh would take it for an option";
    if (s.n > USER_MAX)
        return "a user has at most 32 characters";
    if (!is_word_byte(s.p[0]) || is_digit(s.p[0]))
        return "a user begins with a letter or '_'";
    for (size_t i = 0; i < s.n; i++)
        if (!is_word_byte(s.p[i]) && s.p[i] != '-' && s.p[i] != '.')
            return "a user has letters, digits, '-', '_' and dots";
    return NULL;
}

bool host_name_eq(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

/* Whether s begins with "[" and holds an address rather than a range. */
static bool is_bracketed(struct str s)
{
    if (!s.n || s.p[0] != '[')
        return false;
    const char *close = memchr(s.p, ']', s.n);
    return memchr(s.p, ':', close ? (size_t)(close - s.p) : s.n) != NULL;
}

const char *host_part(struct str word, struct str *hosts)
{
    struct str rest = word;
    *hosts = word;
    if (host_is_ipv6(word) || (is_bracketed(word) && !memchr(word.p, ']', word.n)))
        return NULL;
    host_split(&rest, ':', hosts);
    return rest.p ? rest.p - 1 : NULL;
}

/* A or A-B. */
static bool take_range(struct str s, struct host_range *out)
{
    struct str low;
    str_split(&s, '-', &low);
    if (low.n > DIGITS_MAX || str_parse_u64(low, 0, UINT64_MAX, &out->first) != 0)
        return false;
    out->width = (int)low.n;
    out->last = out->first;
    if (!s.p)
        return true;
    return s.n <= DIGITS_MAX && str_parse_u64(s, out->first, UINT64_MAX, &out->last) == 0;
}

static int fail_many(const struct host_source *src, const char *at)
{
    return host_fail(src, HOST_E_TOOMANY, at,
                     "this makes more than %d hosts; a list has at most %d", HOSTS_MAX,
                     HOSTS_MAX);
}

/* The ranges between open and the "]" behind it; multiplies out->count. */
static int read_bracket(const struct host_source *src, const char *open, struct str inside,
                        struct host_names *out)
{
    struct host_bracket *b = &out->brackets[out->nbrackets - 1];
    struct str item;
    uint64_t count = 0;
    b->first_range = out->nranges;
    while (str_split(&inside, ',', &item)) {
        struct host_range range = {0};
        if (!take_range(item, &range))
            return host_fail(src, HOST_E_BRACKET, item.p,
                             "\"%.*s\" cannot stand in brackets; write numbers and ascending "
                             "ranges, as in [1-4,7]",
                             (int)(item.n < 40 ? item.n : 40), item.p);
        count += range.last - range.first + 1;
        if (count > HOSTS_MAX || count * out->count > HOSTS_MAX)
            return fail_many(src, open);
        array_grow(out->ranges, out->nranges, out->ranges_cap);
        out->ranges[out->nranges++] = range;
        b->nranges++;
    }
    out->count *= (uint32_t)count;
    return 0;
}

static int read_brackets(const struct host_source *src, struct str s, struct host_names *out)
{
    for (;;) {
        size_t n = 0;
        while (n < s.n && s.p[n] != '[' && s.p[n] != ']')
            n++;
        if (n == s.n)
            break;
        const char *open = s.p + n, *close = *open == '[' ? memchr(open, ']', s.n - n) : NULL;
        if (!close)
            return host_fail(src, HOST_E_BRACKET, open,
                             *open == '[' ? "this bracket is never closed; write n[1-4]"
                                          : "nothing was opened that this could close; write "
                                            "n[1-4]");
        array_grow(out->brackets, out->nbrackets, out->brackets_cap);
        out->brackets[out->nbrackets++] = (struct host_bracket){.before = {s.p, n}};
        struct str inside = {open + 1, (size_t)(close - open) - 1};
        if (read_bracket(src, open, inside, out) != 0)
            return -1;
        s = (struct str){close + 1, s.n - (size_t)(close + 1 - s.p)};
    }
    out->tail = s;
    return 0;
}

static void rewind_names(struct host_names *names)
{
    names->left = names->count;
    for (size_t i = 0; i < names->nbrackets; i++) {
        struct host_bracket *b = &names->brackets[i];
        b->at_range = b->first_range;
        b->at = names->ranges[b->at_range].first;
    }
}

static void step_odometer(struct host_names *names)
{
    for (size_t i = names->nbrackets; i-- > 0;) {
        struct host_bracket *b = &names->brackets[i];
        if (b->at++ < names->ranges[b->at_range].last)
            return;
        b->at_range++;
        bool is_over = b->at_range == b->first_range + b->nranges;
        if (is_over)
            b->at_range = b->first_range;
        b->at = names->ranges[b->at_range].first;
        if (!is_over)
            return;
    }
}

/* Appends to the n bytes of out what fits; returns the length it would have. */
static size_t add_part(char *out, size_t n, struct str part)
{
    if (n + part.n <= NAME_MAX_LEN)
        memcpy(out + n, part.p, part.n);
    return n + part.n;
}

/* Length of the present name; out holds it if that is at most NAME_MAX_LEN. */
static size_t write_name(const struct host_names *names, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < names->nbrackets && n <= NAME_MAX_LEN; i++) {
        const struct host_bracket *b = &names->brackets[i];
        char digits[24];
        int width = names->ranges[b->at_range].width;
        int ndigits =
            snprintf(digits, sizeof digits, "%0*llu", width, (unsigned long long)b->at);
        n = add_part(out, n, b->before);
        n = add_part(out, n, (struct str){digits, (size_t)ndigits});
    }
    return add_part(out, n, names->tail);
}

bool host_names_next(struct host_names *names, char out[HOST_NAME_SIZE])
{
    if (!names->left)
        return false;
    out[write_name(names, out)] = '\0';
    names->left--;
    step_odometer(names);
    return true;
}

/* Every name in turn, so that an error is found before anything is added anywhere. */
static int check_names(const struct host_source *src, struct str hosts,
                       struct host_names *names)
{
    char name[HOST_NAME_SIZE];
    for (uint32_t i = 0; i < names->count; i++) {
        size_t n = write_name(names, name);
        const char *fault = n > NAME_MAX_LEN
                                ? "a name has at most 253 characters"
                                : host_name_fault((struct str){n ? name : hosts.p, n});
        struct str shown = n > NAME_MAX_LEN ? hosts : (struct str){name, n};
        if (fault)
            return host_fail(src, HOST_E_HOSTNAME, hosts.p, "\"%.*s\" names no host: %s",
                             (int)(shown.n < 80 ? shown.n : 80), shown.p, fault);
        step_odometer(names);
    }
    return 0;
}

int host_names_parse(const struct host_source *src, struct str hosts, struct host_names *out)
{
    *out = (struct host_names){.count = 1};
    if (is_bracketed(hosts)) {
        struct str inside = {hosts.p + 1, hosts.n > 1 ? hosts.n - 2 : 0};
        if (hosts.p[hosts.n - 1] != ']' || !host_is_ipv6(inside))
            return host_fail(
                src, HOST_E_HOSTNAME, hosts.p,
                "\"%.*s\" is no IPv6 address in brackets; write [fd00::2], without "
                "a zone",
                (int)(hosts.n < 80 ? hosts.n : 80), hosts.p);
        out->tail = inside;
    } else if (read_brackets(src, hosts, out) != 0) {
        host_names_fini(out);
        return -1;
    }
    rewind_names(out);
    if (check_names(src, hosts, out) != 0) {
        host_names_fini(out);
        return -1;
    }
    rewind_names(out);
    return 0;
}

void host_names_fini(struct host_names *names)
{
    free(names->brackets);
    free(names->ranges);
    *names = (struct host_names){0};
}

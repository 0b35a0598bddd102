#include "base/str.h"

#include <string.h>

struct str str_from(const char *s)
{
    return (struct str){s, s ? strlen(s) : 0};
}

bool str_eq(struct str a, const char *b)
{
    return a.n == strlen(b) && memcmp(a.p, b, a.n) == 0;
}

bool str_starts(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
    while (s.n && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool str_split(struct str *rest, char sep, struct str *part)
{
    if (!rest->p)
        return false;
    const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    if (!at) {
        *part = *rest;
        *rest = (struct str){NULL, 0};
        return true;
    }
    *part = (struct str){rest->p, (size_t)(at - rest->p)};
    rest->n -= part->n + 1;
    rest->p = at + 1;
    return true;
}

int str_parse_u64(struct str s, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;
    if (!s.n)
        return -1;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(v, 10, &v)
            || __builtin_add_overflow(v, digit, &v))
            return -1;
    }
    if (v < min || v > max)
        return -1;
    *out = v;
    return 0;
}

int str_parse_duration_ms(struct str s, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"", 1000}};
    size_t digits = 0;
    while (digits < s.n && ((s.p[digits] >= '0' && s.p[digits] <= '9') || s.p[digits] == '.'))
        digits++;
    struct str unit = {s.p + digits, s.n - digits};
    uint64_t scale = 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (str_eq(unit, units[i].unit))
            scale = units[i].ms;
    if (!scale)
        return -1;
    struct str whole = {s.p, digits}, fraction = {NULL, 0};
    const char *dot = digits ? memchr(s.p, '.', digits) : NULL;
    if (dot) {
        whole.n = (size_t)(dot - s.p);
        fraction = (struct str){dot + 1, digits - whole.n - 1};
    }
    uint64_t ms;
    if (str_parse_u64(whole, 0, UINT64_MAX / 3600000 / 2, &ms) < 0)
        return -1;
    ms *= scale;
    if (dot) {
        uint64_t value;
        if (fraction.n > 9 || str_parse_u64(fraction, 0, UINT64_MAX, &value) < 0)
            return -1;
        uint64_t part = value * scale;
        for (size_t i = 0; i < fraction.n; i++)
            part /= 10;
        ms += part;
    }
    *out = ms;
    return 0;
}

int str_parse_bool(struct str s, bool *out)
{
    static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"0", "false",
                                                                                "no", "off"};
    for (size_t i = 0; i < 4; i++) {
        if (str_eq(s, yes[i]) || str_eq(s, no[i])) {
            *out = str_eq(s, yes[i]);
            return 0;
        }
    }
    return -1;
}

size_t str_utf8_len(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t k = !n            ? 0
               : u[0] < 0x80 ? 1
               : u[0] < 0xc2 ? 0
               : u[0] < 0xe0 ? 2
               : u[0] < 0xf0 ? 3
               : u[0] < 0xf5 ? 4
                             : 0;
    if (!k || k > n)
        return 0;
    for (size_t i = 1; i < k; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    bool is_bad = (u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f)
                  || (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f);
    return is_bad ? 0 : k;
}

enum { WORD_MAX = 64 };

unsigned str_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > WORD_MAX || m > WORD_MAX)
        return (unsigned)(n > m ? n : m);
    unsigned row[3][WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
                && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

#include "launcher/core/host_text.h"

bool host_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What a byte that may not stand here probably is. */
static const char *explain(unsigned char c)
{
    if (c == 0xfe || c == 0xff || c == 0)
        return "save the file as plain text (UTF-8), not as UTF-16";
    if (c == '\r')
        return "lines end in LF or CR LF";
    if (c >= 0x80)
        return "only ASCII may stand outside comments; a blank copied from a web page may not "
               "be one";
    return "only printable characters, blanks and tabs may stand outside comments";
}

int host_check_bytes(const struct host_source *src, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < 0x20 && c != '\t') || c > 0x7e)
            return host_fail(src, HOST_E_CHAR, s.p + i, "byte 0x%02x may not stand here; %s", c,
                             explain(c));
    }
    return 0;
}

struct str host_trim(struct str s)
{
    struct str t = s;
    while (t.n && host_is_blank(t.p[0])) {
        t.p++;
        t.n--;
    }
    while (t.n && host_is_blank(t.p[t.n - 1]))
        t.n--;
    return t.n ? t : (struct str){s.p, 0};
}

struct str host_take_word(struct str *rest)
{
    while (rest->n && host_is_blank(rest->p[0])) {
        rest->p++;
        rest->n--;
    }
    struct str word = {rest->p, 0};
    while (word.n < rest->n && !host_is_blank(rest->p[word.n]))
        word.n++;
    rest->p += word.n;
    rest->n -= word.n;
    return word;
}

bool host_split(struct str *rest, char sep, struct str *part)
{
    bool is_inside = false;
    if (!rest->p)
        return false;
    for (size_t i = 0; i < rest->n; i++) {
        char c = rest->p[i];
        if (c == '[' || c == ']')
            is_inside = c == '[';
        if (c != sep || is_inside)
            continue;
        *part = (struct str){rest->p, i};
        *rest = (struct str){rest->p + i + 1, rest->n - i - 1};
        return true;
    }
    *part = *rest;
    *rest = (struct str){NULL, 0};
    return true;
}

int host_number(const struct host_source *src, struct str s, uint32_t max, const char *what,
                uint32_t *out)
{
    uint64_t v;
    if (!s.n)
        return host_fail(src, HOST_E_NUMBER, s.p,
                         "the number of %s is missing; write one from 1 to %u", what, max);
    if (str_parse_u64(s, 0, UINT32_MAX, &v) != 0)
        return host_fail(src, HOST_E_NUMBER, s.p,
                         "\"%.*s\" is no number of %s; write one from 1 to %u",
                         (int)(s.n < 60 ? s.n : 60), s.p, what, max);
    if (v < 1 || v > max)
        return host_fail(src, HOST_E_RANGE, s.p,
                         "%llu is no possible number of %s; write one from 1 to %u",
                         (unsigned long long)v, what, max);
    *out = (uint32_t)v;
    return 0;
}

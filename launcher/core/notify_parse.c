#include "launcher/core/notify_parse.h"

#include <string.h>

#include "base/str.h"

static void copy_text(struct str s, char *out, size_t size)
{
    size_t n = s.n < size - 1 ? s.n : size - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f ? '?' : s.p[i];
    out[n] = '\0';
}

static int parse_flag(struct str value, struct notify_message *out)
{
    out->is_alive = true;
    return str_eq(value, "1") ? 0 : -1;
}

static int parse_number(struct str value, struct maybe_u64 *out)
{
    out->is_known = true;
    return str_parse_u64(value, 0, INT64_MAX, &out->value);
}

/* "+save", "+save:10m", "-save" */
static int parse_section(struct str value, struct notify_message *out)
{
    struct str rest = value, name;
    if (value.n < 2 || (value.p[0] != '+' && value.p[0] != '-') || value.p[1] == ':')
        return -1;
    str_split(&rest, ':', &name);
    if (rest.p
        && (value.p[0] == '-' || str_parse_duration_ms(rest, &out->section_ms) < 0
            || !out->section_ms))
        return -1;
    copy_text(name, out->section, sizeof out->section);
    out->is_alive = true;
    return 0;
}

static int parse_line(struct str line, struct notify_message *out)
{
    struct str value = line, key;
    if (!str_split(&value, '=', &key) || !value.p)
        return line.n ? -1 : 0;
    if (str_eq(key, "HEARTBEAT") || str_eq(key, "READY"))
        return parse_flag(value, out);
    if (str_eq(key, "SECTION"))
        return parse_section(value, out);
    if (str_eq(key, "RANK"))
        return parse_number(value, &out->rank);
    if (str_eq(key, "STATUS")) {
        copy_text(value, out->status, sizeof out->status);
        return 0;
    }
    if (!str_eq(key, "STEP"))
        return 0;
    out->is_alive = true;
    return parse_number(value, &out->step);
}

int notify_parse(const char *bytes, size_t n, struct notify_message *out, struct err *e)
{
    *out = (struct notify_message){0};
    struct str rest = {n ? bytes : NULL, n}, line;
    while (str_split(&rest, '\n', &line)) {
        if (parse_line(line, out) == 0)
            continue;
        *out = (struct notify_message){0};
        char shown[64];
        copy_text(line, shown, sizeof shown);
        return err_set(e, ERR_USAGE,
                       "'%s' is not understood; as in HEARTBEAT=1, STEP=17, SECTION=+save, "
                       "STATUS=text",
                       shown);
    }
    return 0;
}

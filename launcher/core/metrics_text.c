#include "launcher/core/metrics_text.h"

#include <string.h>

#include "base/str.h"

static const char *const types[] = {
    [METRICS_GAUGE] = "gauge",
    [METRICS_COUNTER] = "counter",
};

/* One character of text, at least one byte; returns how many. */
static size_t add_special(const char *text, size_t n, bool has_quotes, struct buf *out)
{
    size_t len = str_utf8_len(text, n);
    if (*text == '\n')
        buf_adds(out, "\\n");
    else if (*text == '\\' || (*text == '"' && has_quotes))
        buf_addf(out, "\\%c", *text);
    else if (len)
        buf_add(out, text, len);
    else
        buf_addc(out, '?');
    return len ? len : 1;
}

static bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '\\' && c != '"';
}

/* has_quotes: the text stands in quotes. */
static void add_escaped(const char *text, bool has_quotes, struct buf *out)
{
    size_t n = strlen(text);
    while (n) {
        size_t plain = 0;
        while (plain < n && is_plain(text[plain]))
            plain++;
        buf_add(out, text, plain);
        if (plain < n)
            plain += add_special(text + plain, n - plain, has_quotes, out);
        text += plain;
        n -= plain;
    }
}

static void add_number(uint64_t n, struct buf *out)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    buf_add(out, digits + at, sizeof digits - at);
}

void metrics_family(struct metrics_text *t, const char *name, enum metrics_type type,
                    const char *help)
{
    t->name = name;
    t->type = type;
    t->help = help;
    t->has_head = false;
}

void metrics_begin(struct metrics_text *t)
{
    if (!t->has_head) {
        buf_addf(t->out, "# HELP %s ", t->name);
        add_escaped(t->help, false, t->out);
        buf_addf(t->out, "\n# TYPE %s %s\n", t->name, types[t->type]);
    }
    t->has_head = true;
    t->mark = '{';
    buf_adds(t->out, t->name);
}

static void begin_label(struct metrics_text *t, const char *key)
{
    buf_addc(t->out, t->mark);
    buf_adds(t->out, key);
    buf_adds(t->out, "=\"");
    t->mark = ',';
}

void metrics_label(struct metrics_text *t, const char *key, const char *value)
{
    begin_label(t, key);
    add_escaped(value ? value : "", true, t->out);
    buf_addc(t->out, '"');
}

void metrics_label_number(struct metrics_text *t, const char *key, uint64_t value)
{
    begin_label(t, key);
    add_number(value, t->out);
    buf_addc(t->out, '"');
}

/* With three digits behind the point. */
static void add_thousandths(uint64_t n, struct buf *out)
{
    const char part[] = {'.', (char)('0' + n / 100 % 10), (char)('0' + n / 10 % 10),
                         (char)('0' + n % 10)};
    add_number(n / 1000, out);
    buf_add(out, part, sizeof part);
}

void metrics_end(struct metrics_text *t, uint64_t value, enum metrics_unit unit)
{
    buf_adds(t->out, t->mark == ',' ? "} " : " ");
    switch (unit) {
    case METRICS_ONE:
        add_number(value, t->out);
        break;
    case METRICS_MILLI:
        add_thousandths(value, t->out);
        break;
    case METRICS_MIBI:
        add_number(value >> 20, t->out);
        break;
    }
    buf_addc(t->out, '\n');
}

#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { COLUMNS = 16 };

struct table {
    FILE *file;
    char *header, *line;
    size_t cap;
    int ncolumns;
    const char *names[COLUMNS];
    char *fields[COLUMNS];
    struct str decoded[COLUMNS];
    bool is_decoded[COLUMNS];
};

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "table: %s: %s\n", what, detail);
    exit(99);
}

static int split(char *line, char **out)
{
    int n = 0;
    for (char *part; (part = strsep(&line, "\t"));) {
        if (n == COLUMNS)
            die("too many columns", part);
        out[n++] = part;
    }
    return n;
}

static bool next_line(struct table *t)
{
    while (getline(&t->line, &t->cap, t->file) > 0) {
        t->line[strcspn(t->line, "\n")] = '\0';
        if (t->line[0] != '#' && t->line[0])
            return true;
    }
    return false;
}

struct table *table_open(const char *name)
{
    struct table *t = mem_alloc(1, sizeof *t);
    char *path = mem_printf("%s/vectors/hostfile/%s", TESTS_DIR, name), *names[COLUMNS];
    t->file = fopen(path, "r");
    if (!t->file || !next_line(t))
        die("cannot read", path);
    t->header = mem_strdup(t->line);
    t->ncolumns = split(t->header, names);
    for (int i = 0; i < t->ncolumns; i++)
        t->names[i] = names[i];
    free(path);
    return t;
}

void table_close(struct table *t)
{
    fclose(t->file);
    free(t->header);
    free(t->line);
    free(t);
}

bool table_next(struct table *t)
{
    if (!next_line(t))
        return false;
    if (split(t->line, t->fields) != t->ncolumns)
        die("wrong number of columns", t->fields[0]);
    memset(t->is_decoded, 0, sizeof t->is_decoded);
    return true;
}

static struct str decode(char *field)
{
    static const char names[] = "tns\\", bytes[] = "\t\n \\";
    char *out = field;
    if (strcmp(field, "\\N") == 0)
        return (struct str){NULL, 0};
    if (strcmp(field, "\\e") == 0)
        return (struct str){memset(field, 0, 2), 0};
    for (char *in = field; *in; in++) {
        if (*in != '\\') {
            *out++ = *in;
        } else if (*++in == 'x') {
            char hex[3] = {in[1], in[2], '\0'};
            *out++ = (char)strtoul(hex, NULL, 16);
            in += 2;
        } else {
            const char *at = strchr(names, *in);
            if (!at)
                die("unknown escape", in);
            *out++ = bytes[at - names];
        }
    }
    *out = '\0';
    return (struct str){field, (size_t)(out - field)};
}

struct str table_bytes(struct table *t, const char *column)
{
    for (int i = 0; i < t->ncolumns; i++) {
        if (strcmp(t->names[i], column) != 0)
            continue;
        if (!t->is_decoded[i])
            t->decoded[i] = decode(t->fields[i]);
        t->is_decoded[i] = true;
        return t->decoded[i];
    }
    die("no such column", column);
    return (struct str){NULL, 0};
}

const char *table_text(struct table *t, const char *column)
{
    return table_bytes(t, column).p;
}

int table_int(struct table *t, const char *column, int absent)
{
    struct str s = table_bytes(t, column);
    uint64_t v;
    if (!s.p)
        return absent;
    if (str_parse_u64(s, 0, INT32_MAX, &v) != 0)
        die("not a number", column);
    return (int)v;
}

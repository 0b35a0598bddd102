#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/tsv.h"

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

struct table *table_open(const char *name)
{
    struct table *t = mem_alloc(1, sizeof *t);
    char *names[COLUMNS];
    t->file = tsv_open("hostfile", name);
    if (!tsv_next(t->file, &t->line, &t->cap))
        tsv_die("empty", name);
    t->header = mem_strdup(t->line);
    t->ncolumns = tsv_split(t->header, "\t", names, COLUMNS);
    for (int i = 0; i < t->ncolumns; i++)
        t->names[i] = names[i];
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
    if (!tsv_next(t->file, &t->line, &t->cap))
        return false;
    if (tsv_split(t->line, "\t", t->fields, COLUMNS) != t->ncolumns)
        tsv_die("wrong number of columns", t->fields[0]);
    memset(t->is_decoded, 0, sizeof t->is_decoded);
    return true;
}

struct str table_bytes(struct table *t, const char *column)
{
    for (int i = 0; i < t->ncolumns; i++) {
        if (strcmp(t->names[i], column) != 0)
            continue;
        if (!t->is_decoded[i])
            t->decoded[i] = tsv_decode(t->fields[i]);
        t->is_decoded[i] = true;
        return t->decoded[i];
    }
    tsv_die("no such column", column);
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
        tsv_die("not a number", column);
    return (int)v;
}

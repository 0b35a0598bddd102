#include "vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/io/probe_fake.h"
#include "tests/unit/tsv.h"

struct vector *vector_open(const char *name)
{
    struct vector *v = mem_alloc(1, sizeof *v);
    FILE *file = tsv_open("devices", name);
    char *line = NULL, *names[VECTOR_COLUMNS];
    size_t cap = 0;
    if (!tsv_next(file, &line, &cap))
        tsv_die("empty", name);
    v->header = mem_strdup(line);
    v->ncolumns = tsv_split(v->header, "\t", names, VECTOR_COLUMNS);
    for (int i = 0; i < v->ncolumns; i++)
        v->names[i] = names[i];
    while (tsv_next(file, &line, &cap)) {
        struct vector_row *row = &v->rows[v->nrows++];
        row->line = mem_strdup(line);
        if (tsv_split(row->line, "\t", row->fields, VECTOR_COLUMNS) != v->ncolumns)
            tsv_die("wrong number of columns", row->fields[0]);
    }
    free(line);
    fclose(file);
    return v;
}

void vector_close(struct vector *v)
{
    for (int i = 0; i < v->nrows; i++)
        free(v->rows[i].line);
    free(v->header);
    free(v);
}

static char *raw(const struct vector *v, int row, const char *column)
{
    for (int i = 0; i < v->ncolumns; i++)
        if (!strcmp(v->names[i], column))
            return v->rows[row].fields[i];
    tsv_die("no such column", column);
}

/* Decoded copies live in a small pool that the process keeps: rows can be read repeatedly. */
static char *keep(const char *text)
{
    static char pool[1 << 20];
    static size_t used;
    size_t n = strlen(text) + 3;
    if (used + n > sizeof pool)
        used = 0;
    char *at = pool + used;
    used += n;
    return strcpy(at, text);
}

const char *vector_get(const struct vector *v, int row, const char *column)
{
    return tsv_decode(keep(raw(v, row, column))).p;
}

int vector_int(const struct vector *v, int row, const char *column, int absent)
{
    const char *s = vector_get(v, row, column);
    return s ? atoi(s) : absent;
}

int vector_list(const struct vector *v, int row, const char *column, char sep, bool by_rank,
                const char *out[VECTOR_LIST])
{
    char *text = keep(raw(v, row, column)), *parts[VECTOR_LIST];
    if (!by_rank && !strcmp(text, "\\N"))
        return -1;
    if (!by_rank && !strcmp(text, "\\e"))
        return 0;
    int n = tsv_split(text, (char[]){sep, '\0'}, parts, VECTOR_LIST);
    for (int i = 0; i < n; i++)
        out[i] = tsv_decode(keep(parts[i])).p;
    return n;
}

struct inventory vector_inventory(const char *name)
{
    struct err e;
    struct inventory inv = {0};
    if (probe_fake(TESTS_DIR "/vectors/devices/inventories.json", name, &inv, &e) != 0)
        tsv_die(name, e.text);
    return inv;
}

#include "vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/io/probe_fake.h"

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "vectors: %s: %s\n", what, detail);
    exit(99);
}

static int split(char *line, const char *sep, char **out, int max)
{
    int n = 0;
    for (char *part; (part = strsep(&line, sep));) {
        if (n == max)
            die("too many parts", part);
        out[n++] = part;
    }
    return n;
}

struct vector *vector_open(const char *name)
{
    struct vector *v = mem_alloc(1, sizeof *v);
    char *path = mem_printf("%s/vectors/devices/%s", TESTS_DIR, name), *line = NULL;
    FILE *file = fopen(path, "r");
    if (!file)
        die("cannot open", path);
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, file)) > 0;) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        char *names[VECTOR_COLUMNS];
        if (!v->header) {
            v->header = mem_strdup(line);
            v->ncolumns = split(v->header, "\t", names, VECTOR_COLUMNS);
            for (int i = 0; i < v->ncolumns; i++)
                v->names[i] = names[i];
            continue;
        }
        struct vector_row *row = &v->rows[v->nrows++];
        row->line = mem_strdup(line);
        if (split(row->line, "\t", row->fields, VECTOR_COLUMNS) != v->ncolumns)
            die("wrong number of columns", row->fields[0]);
    }
    free(line);
    fclose(file);
    free(path);
    return v;
}

void vector_close(struct vector *v)
{
    for (int i = 0; i < v->nrows; i++)
        free(v->rows[i].line);
    free(v->header);
    free(v);
}

char *vector_decode(char *field)
{
    static const char names[] = "tns\\", bytes[] = "\t\n \\";
    char *out = field;
    if (!strcmp(field, "\\N"))
        return NULL;
    if (!strcmp(field, "\\e"))
        return memset(field, 0, 2);
    for (const char *in = field; *in; in++)
        *out++ = *in == '\\' ? bytes[strchr(names, *++in) - names] : *in;
    *out = '\0';
    return field;
}

static char *raw(const struct vector *v, int row, const char *column)
{
    for (int i = 0; i < v->ncolumns; i++)
        if (!strcmp(v->names[i], column))
            return v->rows[row].fields[i];
    die("no such column", column);
    return NULL;
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
    return vector_decode(keep(raw(v, row, column)));
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
    int n = split(text, (char[]){sep, '\0'}, parts, VECTOR_LIST);
    for (int i = 0; i < n; i++)
        out[i] = vector_decode(keep(parts[i]));
    return n;
}

struct inventory vector_inventory(const char *name)
{
    struct err e;
    struct inventory inv = {0};
    if (probe_fake(TESTS_DIR "/vectors/devices/inventories.json", name, &inv, &e) != 0)
        die(name, e.text);
    return inv;
}

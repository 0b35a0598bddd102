#include "launcher/core/hosts_gpus.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_span.h"

enum { HOST_MAX = 30 }; /* a longer list of hosts has a line of its own */

static const char *const titles[] = {
#define X(id, title) [HOSTS_GPUS_##id] = title,
    HOSTS_GPUS_COLUMNS(X)
#undef X
};

static bool is_alike(const struct hosts_gpus *a, const struct hosts_gpus *b)
{
    if (a->nrows != b->nrows)
        return false;
    for (size_t r = 0; r < a->nrows; r++)
        for (int c = 0; c < HOSTS_GPUS_COLUMN_COUNT; c++)
            if (strcmp(a->rows[r].cells[c], b->rows[r].cells[c]) != 0)
                return false;
    return true;
}

/* groups[i]: the first host that host i is like. */
static void find_groups(const struct hosts_gpus *list, size_t n, size_t *groups)
{
    for (size_t i = 0; i < n; i++) {
        groups[i] = 0;
        while (groups[groups[i]] != groups[i] || !is_alike(&list[groups[i]], &list[i]))
            groups[i]++;
    }
}

static void add_hosts(const struct hosts_gpus *list, size_t n, const size_t *groups,
                      size_t group, struct buf *out)
{
    struct host_span span = {0};
    for (size_t i = group; i < n; i++)
        if (groups[i] == group)
            host_span_add(&span, list[i].host, out);
    host_span_end(&span, out);
}

struct widths {
    size_t host, cells[HOSTS_GPUS_COLUMN_COUNT];
};

static void widen(size_t *width, size_t n)
{
    *width = n > *width ? n : *width;
}

static void add_cells(const struct widths *w, const char *const *cells, struct buf *out)
{
    for (int c = 0; c < HOSTS_GPUS_COLUMN_COUNT; c++) {
        bool is_last = c + 1 == HOSTS_GPUS_COLUMN_COUNT;
        buf_addf(out, "  %-*s", is_last ? 0 : (int)w->cells[c], cells[c]);
    }
    buf_addc(out, '\n');
}

static void add_group(const struct hosts_gpus *h, const char *names, const struct widths *w,
                      struct buf *out)
{
    bool has_line = strlen(names) > HOST_MAX;
    if (has_line)
        buf_addf(out, "%s\n", names);
    if (!h->nrows)
        buf_addf(out, "%-*s  none\n", (int)w->host, has_line ? "" : names);
    for (size_t r = 0; r < h->nrows; r++) {
        buf_addf(out, "%-*s", (int)w->host, r || has_line ? "" : names);
        add_cells(w, (const char *const *)h->rows[r].cells, out);
    }
}

static void measure(const struct hosts_gpus *list, size_t n, const size_t *groups,
                    struct widths *w)
{
    struct buf names;
    buf_init(&names, 0);
    *w = (struct widths){.host = strlen("host")};
    for (int c = 0; c < HOSTS_GPUS_COLUMN_COUNT; c++)
        w->cells[c] = strlen(titles[c]);
    for (size_t i = 0; i < n; i++) {
        if (groups[i] != i)
            continue;
        buf_reset(&names);
        add_hosts(list, n, groups, i, &names);
        if (names.len <= HOST_MAX)
            widen(&w->host, names.len);
        for (size_t r = 0; r < list[i].nrows; r++)
            for (int c = 0; c < HOSTS_GPUS_COLUMN_COUNT; c++)
                widen(&w->cells[c], strlen(list[i].rows[r].cells[c]));
    }
    buf_fini(&names);
}

void hosts_gpus_render(const struct hosts_gpus *list, size_t n, struct buf *out)
{
    if (!n)
        return;
    size_t *groups = mem_alloc(n, sizeof *groups);
    struct widths w;
    struct buf names;
    buf_init(&names, 0);
    find_groups(list, n, groups);
    measure(list, n, groups, &w);
    buf_addf(out, "%-*s", (int)w.host, "host");
    add_cells(&w, titles, out);
    for (size_t i = 0; i < n; i++) {
        if (groups[i] != i)
            continue;
        buf_reset(&names);
        add_hosts(list, n, groups, i, &names);
        add_group(&list[i], buf_str(&names), &w, out);
    }
    buf_fini(&names);
    free(groups);
}

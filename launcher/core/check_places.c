#include "launcher/core/check_places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void check_places_fini(struct check_places *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->names[i]);
    free(p->names);
    free(p->group);
}

static size_t place_of(struct check_places *p, const char *name)
{
    size_t i = 0;
    while (i < p->n && strcmp(p->names[i], name) != 0)
        i++;
    if (i == p->n)
        p->names[p->n++] = mem_strdup(name);
    return i;
}

void check_places_find(const struct check_result *r, size_t ranks, size_t max,
                       struct check_places *out)
{
    *out = (struct check_places){.names = mem_alloc(ranks, sizeof *out->names),
                                 .group = mem_alloc(ranks, sizeof *out->group)};
    for (size_t i = 0; i < ranks; i++) {
        const char *host = i < r->nranks ? r->ranks[i].host : NULL;
        char *name = ranks <= max ? mem_printf("%zu", i) : mem_strdup(host ? host : "?");
        out->group[i] = place_of(out, name);
        free(name);
    }
}

void check_places_mean(const struct check_matrix *m, const struct check_places *p,
                       struct check_matrix *out)
{
    size_t *count = mem_alloc(p->n * p->n, sizeof *count);
    check_matrix_set(out, p->n);
    for (size_t i = 0; i < m->n * m->n; i++) {
        size_t cell = p->group[i / m->n] * p->n + p->group[i % m->n];
        if (i / m->n == i % m->n || !isfinite(m->at[i]))
            continue;
        double sum = count[cell] ? out->at[cell] * (double)count[cell] : 0;
        out->at[cell] = (sum + m->at[i]) / (double)(count[cell] + 1);
        count[cell]++;
    }
    free(count);
}

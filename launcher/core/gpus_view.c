#include "launcher/core/gpus_view.h"

#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/gpus_words.h"
#include "launcher/core/node_plan.h"

static int position_of(const struct gpus_view *v, struct gpu_unit u)
{
    for (int i = 0; v->has_seen && i < v->seen.nunits; i++)
        if (gpu_unit_eq(v->seen.units[i], u))
            return i;
    return -1;
}

/* The ranks that a unit would get, as a list. */
static char *ranks_of(const struct gpus_view *v, struct gpu_unit u)
{
    const struct device_choice *c = &v->choice;
    struct buf list;
    buf_init(&list, 0);
    for (int r = 0; v->has_choice && c->units_known && r < c->nranks; r++) {
        int first = c->ranks[r].first_unit;
        for (int i = first; first >= 0 && i < first + c->gpus_per_proc && i < c->nunits; i++)
            if (gpu_unit_eq(c->units[i], u))
                buf_addf(&list, "%s%d", list.len ? "," : "", r);
    }
    if (list.len)
        return buf_steal(&list);
    buf_fini(&list);
    return NULL;
}

static void add_row(struct gpus_view *v, struct gpu_unit u, size_t *cap)
{
    array_grow(v->rows, (size_t)v->nrows, *cap);
    v->rows[v->nrows++] = (struct gpus_row){u, position_of(v, u), ranks_of(v, u)};
}

static void add_rows(struct gpus_view *v)
{
    size_t cap = 0;
    for (int d = 0; v->inv && d < v->inv->ndevices; d++) {
        add_row(v, (struct gpu_unit){d, -1}, &cap);
        for (int m = 0; m < v->inv->devices[d].nmig; m++)
            add_row(v, (struct gpu_unit){d, m}, &cap);
    }
}

static bool has_request(const struct options *opt)
{
    for (int id = 0; id <= OPTION_SKIP_UNHEALTHY; id++)
        if (opt->origin[id] != ORIGIN_DEFAULT)
            return true;
    return false;
}

void gpus_view_init(struct gpus_view *v, const struct options *opt, const struct facts *facts,
                    const struct gpus_source *source)
{
    *v = (struct gpus_view){
        .opt = opt, .facts = facts, .inv = facts->inventory, .source = *source};
    v->fault.e = &v->seen_err;
    v->has_request = has_request(opt);
    const struct ambient ambient = node_plan_ambient(facts);
    if (v->inv)
        v->has_seen = ambient_enumerate(&ambient, v->inv, &v->seen, &v->fault) == 0;
    v->has_choice =
        node_plan_resolve(opt, facts, (int)opt->nproc, &v->choice, &v->refusal) == 0;
    add_rows(v);
    gpus_words(v);
}

void gpus_view_fini(struct gpus_view *v)
{
    for (int i = 0; i < v->nrows; i++)
        free(v->rows[i].ranks);
    free(v->rows);
    for (size_t i = 0; i < v->nwords; i++)
        free(v->words[i]);
    free(v->words);
    if (v->has_seen)
        visible_fini(&v->seen);
    if (v->has_choice)
        device_choice_fini(&v->choice);
}

int gpus_view_status(const struct gpus_view *v)
{
    if (!v->inv || (!v->inv->ndevices && v->source.nbus > 0))
        return err_exit_status(ERR_PREFLIGHT);
    return v->has_request && !v->has_choice ? err_exit_status(v->refusal.code) : 0;
}

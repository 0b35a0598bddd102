#include "launcher/core/restart.h"

#include "launcher/core/rank_set.h"

enum { CODE_MAX = 255 };

bool restart_codes_are_valid(const char *text)
{
    return rank_set_is_valid(text) && !rank_set_has(text, 0) && rank_set_last(text) <= CODE_MAX;
}

static bool is_never(const struct options *opt, const struct worker_end *end)
{
    if (end->kind == END_EXEC)
        return true;
    return end->kind == END_EXIT
           && (end->code == RESTART_NEVER_CODE
               || (opt->no_restart_codes
                   && rank_set_has(opt->no_restart_codes, (uint32_t)end->code)));
}

/* Doubled with each failure in a row; the first wait is none unless one is asked for. */
static uint64_t delay(const struct options *opt, uint32_t nsoon)
{
    uint32_t doublings = nsoon - 1;
    if (opt->origin[OPTION_RESTART_DELAY] == ORIGIN_DEFAULT) {
        if (nsoon == 1)
            return 0;
        doublings--;
    }
    uint64_t ms = opt->restart_delay_ms;
    uint64_t most = opt->restart_delay_max_ms;
    for (; doublings && ms && ms < most; doublings--)
        ms = ms > most / 2 ? most : ms * 2;
    return ms < most ? ms : most;
}

enum restart_answer restart_decide(struct restart *r, const struct options *opt,
                                   uint32_t generation, const struct worker_end *end,
                                   uint64_t lived_ms, uint64_t *delay_ms)
{
    uint64_t proved_ms = opt->min_uptime_ms ? opt->min_uptime_ms : opt->restart_delay_max_ms;
    bool is_soon = lived_ms < proved_ms;
    *delay_ms = 0;
    if (generation >= opt->max_restarts)
        return RESTART_SPENT;
    if (is_never(opt, end))
        return RESTART_CODE;
    r->ncrashes = opt->min_uptime_ms && is_soon ? r->ncrashes + 1 : 0;
    r->nsoon = is_soon ? r->nsoon + 1 : 1;
    if (r->ncrashes >= RESTART_CRASHES_MAX)
        return RESTART_CRASHES;
    *delay_ms = delay(opt, r->nsoon);
    return RESTART_YES;
}

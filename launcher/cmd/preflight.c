#include "launcher/cmd/preflight.h"

#include <stdlib.h>

#include "base/mem.h"

static const unsigned where[] = {
    [PREFLIGHT_HOST] = RULE_HOST,
    [PREFLIGHT_ALL] = RULE_HOST | RULE_WORKER | RULE_ACROSS,
};

/* The world is all ranks of all hosts. */
static void count_world(struct evidence_set *set)
{
    int64_t world = 0;
    for (size_t i = 0; i < set->n; i++)
        world += set->hosts[i].ranks.value;
    for (size_t i = 0; i < set->n && set->n > 1; i++)
        evidence_set(&set->hosts[i].world, world);
}

int preflight_look(const struct options *opt, enum preflight_depth depth, struct preflight *out,
                   struct err *e)
{
    const struct doctor_choice choice = {.only = opt->only.items,
                                         .skip = opt->skip.items,
                                         .where = where[depth],
                                         .is_strict = opt->is_strict};
    *out = (struct preflight){0};
    if (doctor_choice_check(&choice, e) < 0
        || doctor_look(opt, depth == PREFLIGHT_ALL, &out->set, &out->nlost, e) < 0)
        return -1;
    count_world(&out->set);
    out->hosts = mem_alloc(out->set.n, sizeof *out->hosts);
    for (size_t i = 0; i < out->set.n; i++)
        out->hosts[i] = &out->set.hosts[i];
    doctor_judge(&choice, out->hosts, out->set.n, &out->findings);
    return 0;
}

int preflight_status(const struct preflight *p)
{
    int status = finding_list_status(&p->findings);
    return status == 0 && p->nlost ? err_exit_status(ERR_UNAVAILABLE) : status;
}

void preflight_fini(struct preflight *p)
{
    finding_list_fini(&p->findings);
    evidence_set_fini(&p->set);
    free(p->hosts);
}

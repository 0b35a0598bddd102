#include "launcher/io/launch_paths.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/spawn.h"

void launch_paths_fini(struct launch_paths *p)
{
    for (uint32_t i = 0; i < p->nwrappers; i++)
        free(p->wrappers[i]);
    free(p->wrappers);
    free(p->program);
    *p = (struct launch_paths){0};
}

/* A script that is missing: the interpreter would say so with a status of its own. */
static int check_script(const struct options *opt, const struct node_plan *plan, struct err *e)
{
    const char *script = opt->program[0];
    if (opt->is_module || strcmp(plan->argv[0], script) == 0 || access(script, F_OK) == 0)
        return 0;
    return err_set(e, ERR_NOT_FOUND, "%s: no such program", script);
}

/* An interpreter that is not there was chosen by muster, not named by who reads this. */
static int fail_program(const struct options *opt, const struct node_plan *plan, struct err *e)
{
    if (strcmp(plan->argv[0], opt->program[0]) == 0)
        return -1;
    struct err why = *e;
    return err_set(e, why.code, "%s; %s runs under it, %s names another", why.text,
                   opt->program[0], opt->torchrun.is_on ? "PYTHON_EXEC" : "PYTHON");
}

/* Who is put before the program, by rank, must be there as well. */
static int find_wrappers(struct launch_paths *p, const struct facts *facts,
                         const struct node_plan *plan, struct err *e)
{
    p->nwrappers = plan->order.nworkers;
    p->wrappers = mem_alloc(p->nwrappers, sizeof *p->wrappers);
    const char *last = NULL;
    for (uint32_t i = 0; i < p->nwrappers; i++) {
        if (!plan->workers[i].wrapped)
            continue;
        const char *name = plan->workers[i].wrapped[0];
        if (last && strcmp(name, plan->workers[i - 1].wrapped[0]) == 0)
            p->wrappers[i] = mem_strdup(last);
        else
            p->wrappers[i] = spawn_find(name, facts, e);
        if (!p->wrappers[i])
            return err_wrap(e, "--wrap");
        last = i + 1 < p->nwrappers && plan->workers[i + 1].wrapped ? p->wrappers[i] : NULL;
    }
    return 0;
}

int launch_paths_find(struct launch_paths *p, const struct options *opt,
                      const struct facts *facts, const struct node_plan *plan, struct err *e)
{
    launch_paths_fini(p);
    p->program = spawn_find(plan->argv[0], facts, e);
    if (!p->program)
        return fail_program(opt, plan, e);
    if (check_script(opt, plan, e) < 0)
        return -1;
    return opt->wrap ? find_wrappers(p, facts, plan, e) : 0;
}

const char *launch_paths_of(const struct launch_paths *p, const struct worker_plan *w)
{
    return w->wrapped ? p->wrappers[w->local_rank] : p->program;
}

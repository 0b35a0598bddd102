#include "launcher/core/doctor_judge.h"

#include <string.h>

#include "launcher/core/doctor_rules.h"

static bool has(const char *const *list, const char *id)
{
    for (; list && *list; list++)
        if (strcmp(*list, id) == 0)
            return true;
    return false;
}

static bool is_judged(const struct rule *rule)
{
    return rule->check || rule->compare;
}

static int check_list(const char *option, const char *const *list, struct err *e)
{
    for (; list && *list; list++) {
        const struct rule *rule = doctor_rule_find(*list);
        if (!rule)
            return err_set(e, ERR_USAGE,
                           "%s %s: there is no such rule; the nearest is %s (`muster explain` "
                           "lists all)",
                           option, *list, doctor_rule_nearest(*list)->id);
        if (!is_judged(rule))
            return err_set(e, ERR_USAGE,
                           "%s %s: that is seen in a running job only, not by doctor", option,
                           *list);
    }
    return 0;
}

int doctor_choice_check(const struct doctor_choice *choice, struct err *e)
{
    return check_list("--only", choice->only, e) < 0 ? -1
                                                     : check_list("--skip", choice->skip, e);
}

static bool is_chosen(const struct doctor_choice *choice, const struct rule *rule)
{
    bool is_limited = choice->only && *choice->only;
    return is_judged(rule) && (rule->where & choice->where)
           && (!is_limited || has(choice->only, rule->id)) && !has(choice->skip, rule->id);
}

void doctor_judge(const struct doctor_choice *choice, const struct host_evidence *const *hosts,
                  size_t n, struct finding_list *out)
{
    size_t nrules;
    const struct rule *rules = doctor_rules(&nrules);
    for (size_t r = 0; r < nrules; r++) {
        if (!is_chosen(choice, &rules[r]))
            continue;
        for (size_t i = 0; rules[r].check && i < n; i++)
            rules[r].check(&rules[r], hosts[i], out);
        if (rules[r].compare)
            rules[r].compare(&rules[r], hosts, n, out);
    }
    if (choice->is_strict)
        finding_list_harden(out);
    finding_list_merge(out);
    finding_list_order(out);
}

static bool is_quiet(enum finding_level level)
{
    return level == FINDING_NOTE || level == FINDING_UNKNOWN;
}

static void count(size_t n, const char *one, const char *many, struct buf *out)
{
    if (n)
        buf_addf(out, "%s%zu %s", out->len ? ", " : "", n, n == 1 ? one : many);
}

static void summary(const struct finding_list *list, size_t nhosts, bool is_verbose,
                    struct buf *out)
{
    struct buf counts;
    if (nhosts == 0) {
        buf_adds(out, "no host could be asked: nothing was judged\n");
        return;
    }
    size_t notes = finding_list_count(list, FINDING_NOTE);
    size_t unknown = finding_list_count(list, FINDING_UNKNOWN);
    buf_init(&counts, 0);
    count(finding_list_count(list, FINDING_ERROR), "error", "errors", &counts);
    count(finding_list_count(list, FINDING_WARNING), "warning", "warnings", &counts);
    if (!counts.len)
        buf_adds(&counts, "nothing found");
    count(notes, "note", "notes", &counts);
    count(unknown, "not judged", "not judged", &counts);
    buf_addf(out, "%zu host%s: %s%s\n", nhosts, nhosts == 1 ? "" : "s", buf_str(&counts),
             (notes || unknown) && !is_verbose ? " (-v shows them)" : "");
    buf_fini(&counts);
}

void doctor_format(const struct finding_list *list, size_t nhosts, bool is_verbose,
                   struct buf *out)
{
    for (size_t i = 0; i < list->n; i++)
        if (is_verbose || !is_quiet(list->items[i].level))
            finding_format(&list->items[i], out);
    summary(list, nhosts, is_verbose, out);
}

void doctor_json(const struct finding_list *list, const struct host_evidence *const *hosts,
                 size_t n, size_t nlost, int status, struct buf *out)
{
    buf_adds(out, "{\"schema\": \"muster.doctor/1\", \"hosts\": [");
    for (size_t i = 0; i < n; i++) {
        const char *name = rule_host(hosts[i]);
        buf_adds(out, i ? ", " : "");
        buf_add_json(out, name, strlen(name));
    }
    buf_addf(out, "], \"lost\": %zu, \"status\": %d, \"findings\": ", nlost, status);
    finding_list_json(list, out);
    buf_adds(out, "}\n");
}

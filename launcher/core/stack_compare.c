#include "launcher/core/stack_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { GROUPS_MAX = 5 }; /* named in one line */

static void replace(char **text, const char *with)
{
    if (!with)
        return;
    free(*text);
    *text = mem_strdup(with);
}

void seen_take(struct seen *seen, const struct rank_facts *facts)
{
    seen->is_known = true;
    replace(&seen->where, facts->where && facts->where[0] ? facts->where : NULL);
    replace(&seen->section, facts->section);
    replace(&seen->status, facts->status);
    if (facts->step.is_known)
        seen->step = facts->step;
    if (facts->quiet_ms.is_known)
        seen->quiet_ms = facts->quiet_ms;
}

void seen_fini(struct seen *seen)
{
    free(seen->where);
    free(seen->section);
    free(seen->status);
    *seen = (struct seen){0};
}

static const char *where_of(const struct seen *s)
{
    return s->where ? s->where : "an unknown place";
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return a->is_known && b->is_known && strcmp(where_of(a), where_of(b)) == 0;
}

/* Whether no rank before i is in the same place. */
static bool is_first_of_group(const struct seen *seen, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (is_same(&seen[k], &seen[i]))
            return false;
    return seen[i].is_known;
}

static uint32_t group_size(const struct seen *seen, uint32_t n, uint32_t first)
{
    uint32_t size = 0;
    for (uint32_t i = first; i < n; i++)
        size += is_same(&seen[first], &seen[i]);
    return size;
}

/* "ranks 0-2, 5" */
static void add_group(const struct seen *seen, uint32_t n, uint32_t first, struct buf *out)
{
    buf_adds(out, group_size(seen, n, first) > 1 ? "ranks " : "rank ");
    for (uint32_t i = first; i < n; i++) {
        if (!is_same(&seen[first], &seen[i]))
            continue;
        uint32_t last = i;
        while (last + 1 < n && is_same(&seen[first], &seen[last + 1]))
            last++;
        buf_addf(out, "%s%u", i == first ? "" : ", ", i);
        if (last > i)
            buf_addf(out, last > i + 1 ? "-%u" : ", %u", last);
        i = last;
    }
}

static void add_place(const struct seen *seen, uint32_t n, uint32_t first, struct buf *out)
{
    add_group(seen, n, first, out);
    buf_addf(out, " %s in %s", group_size(seen, n, first) > 1 ? "are" : "is",
             where_of(&seen[first]));
}

/* ---- steps ---- */

/* The last step of most of the others, and whether all of them have one. */
static bool steps_range(const struct seen *seen, uint32_t n, uint64_t *min, uint64_t *max)
{
    *min = UINT64_MAX;
    *max = 0;
    uint32_t nseen = 0, nsteps = 0;
    for (uint32_t i = 0; i < n; i++) {
        nseen += seen[i].is_known;
        if (!seen[i].is_known || !seen[i].step.is_known)
            continue;
        nsteps++;
        *min = seen[i].step.value < *min ? seen[i].step.value : *min;
        *max = seen[i].step.value > *max ? seen[i].step.value : *max;
    }
    return nsteps && nsteps == nseen;
}

/* The one rank that is behind while all others are at the same step. */
static struct maybe_u64 find_behind(const struct seen *seen, uint32_t n)
{
    uint64_t min, max;
    struct maybe_u64 found = {0};
    if (!steps_range(seen, n, &min, &max) || min == max)
        return found;
    for (uint32_t i = 0; i < n; i++) {
        if (!seen[i].is_known || seen[i].step.value == max)
            continue;
        if (found.is_known)
            return (struct maybe_u64){0};
        found = (struct maybe_u64){true, i};
    }
    return found;
}

static void add_extra(const struct seen *seen, uint32_t n, uint32_t rank, struct buf *out)
{
    uint64_t min, max;
    const struct seen *s = &seen[rank];
    if (s->step.is_known) {
        buf_addf(out, ", last step %llu", (unsigned long long)s->step.value);
        if (steps_range(seen, n, &min, &max) && max > s->step.value)
            buf_addf(out, " of %llu", (unsigned long long)max);
    }
    if (s->section)
        buf_addf(out, ", in section %s", s->section);
    if (s->status)
        buf_addf(out, ", \"%s\"", s->status);
}

/* ---- the line ---- */

static void say_all_alike(const struct seen *seen, uint32_t n, uint32_t first, uint32_t nseen,
                          struct maybe_u64 *rank, struct buf *out)
{
    *rank = find_behind(seen, n);
    if (rank->is_known) {
        buf_addf(out, "rank %u is behind: ", (uint32_t)rank->value);
        add_place(seen, n, first, out);
        add_extra(seen, n, (uint32_t)rank->value, out);
        return;
    }
    if (nseen == 1) {
        add_place(seen, n, first, out);
        add_extra(seen, n, first, out);
        return;
    }
    buf_adds(out, "no rank differs: ");
    add_place(seen, n, first, out);
}

static void say_differs(const struct seen *seen, uint32_t n, uint32_t most, uint32_t nodd,
                        struct maybe_u64 *rank, struct buf *out)
{
    struct buf odd;
    buf_init(&odd, 0);
    uint32_t ngroups = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_first_of_group(seen, i) || is_same(&seen[i], &seen[most])
            || ++ngroups > GROUPS_MAX)
            continue;
        buf_adds(&odd, ngroups > 1 ? "; " : ", ");
        add_place(seen, n, i, &odd);
        if (group_size(seen, n, i) == 1)
            add_extra(seen, n, i, &odd);
        if (nodd == 1)
            *rank = (struct maybe_u64){true, i};
    }
    if (nodd == 1)
        buf_addf(out, "rank %u differs: ", (uint32_t)rank->value);
    else
        buf_addf(out, "%u ranks differ: ", nodd);
    add_place(seen, n, most, out);
    buf_adds(out, buf_str(&odd));
    if (ngroups > GROUPS_MAX)
        buf_addf(out, "; and %u more places", ngroups - GROUPS_MAX);
    buf_fini(&odd);
}

static void say_no_majority(const struct seen *seen, uint32_t n, struct maybe_u64 *rank,
                            struct buf *out)
{
    *rank = find_behind(seen, n);
    if (rank->is_known)
        buf_addf(out, "rank %u is behind: ", (uint32_t)rank->value);
    else
        buf_adds(out, "which rank hangs cannot be told: ");
    uint32_t ngroups = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_first_of_group(seen, i) || ++ngroups > GROUPS_MAX)
            continue;
        buf_adds(out, ngroups > 1 ? "; " : "");
        add_place(seen, n, i, out);
        if (group_size(seen, n, i) == 1)
            add_extra(seen, n, i, out);
    }
    if (ngroups > GROUPS_MAX)
        buf_addf(out, "; and %u more places", ngroups - GROUPS_MAX);
}

void stack_compare(const struct seen *seen, uint32_t n, struct maybe_u64 *rank, struct buf *out)
{
    *rank = (struct maybe_u64){0};
    uint32_t nseen = 0, most = n, size = 0;
    for (uint32_t i = 0; i < n; i++) {
        nseen += seen[i].is_known;
        uint32_t here = is_first_of_group(seen, i) ? group_size(seen, n, i) : 0;
        if (here > size) {
            size = here;
            most = i;
        }
    }
    if (!nseen)
        return;
    if (size == nseen)
        say_all_alike(seen, n, most, nseen, rank, out);
    else if (size * 2 > nseen)
        say_differs(seen, n, most, nseen - size, rank, out);
    else
        say_no_majority(seen, n, rank, out);
}

#include "launcher/core/top_odd.h"

#include <stdlib.h>

#include "base/mem.h"

struct value {
    size_t rank;
    uint64_t value;
};

static int order(const void *pa, const void *pb)
{
    const struct value *a = pa, *b = pb;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static struct maybe_u64 step_of(const struct top_row *row)
{
    return row->rank->step;
}

static struct maybe_u64 rate_of(const struct top_row *row)
{
    return row->steps_per_ks;
}

static struct maybe_u64 power_of(const struct top_row *row)
{
    return row->rank->sample.gpu.power_mw;
}

/* The values of all running ranks that have one, in order. */
static size_t collect(const struct top_row *rows, size_t n,
                      struct maybe_u64 (*get)(const struct top_row *), struct value *out)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        struct maybe_u64 value = get(&rows[i]);
        if (rows[i].rank->state == RANK_RUNNING && value.is_known)
            out[len++] = (struct value){i, value.value};
    }
    qsort(out, len, sizeof *out, order);
    return len;
}

static bool is_behind(struct top_row *rows, size_t n, struct value *values, struct buf *out)
{
    size_t len = collect(rows, n, step_of, values);
    if (len < ODD_RANKS_MIN || values[1].value - values[0].value < ODD_STEPS
        || values[len - 1].value - values[1].value > values[1].value - values[0].value)
        return false;
    rows[values[0].rank].is_odd = true;
    buf_addf(out, "rank %zu differs: %llu steps behind", values[0].rank,
             (unsigned long long)(values[1].value - values[0].value));
    return true;
}

/* Whether first..last lie close enough to their middle. */
static bool do_agree(const struct value *first, const struct value *last)
{
    uint64_t middle = first[(last - first) / 2].value, limit = middle * ODD_AGREE_PERCENT / 100;
    return distance(first->value, middle) <= limit && distance(last->value, middle) <= limit;
}

static bool is_slow(struct top_row *rows, size_t n, struct value *values, struct buf *out)
{
    size_t len = collect(rows, n, rate_of, values);
    if (len < ODD_RANKS_MIN || !do_agree(&values[1], &values[len - 1]))
        return false;
    uint64_t middle = values[1 + (len - 2) / 2].value;
    uint64_t percent = middle ? (middle - values[0].value) * 100 / middle : 0;
    if (percent < ODD_RATE_PERCENT)
        return false;
    rows[values[0].rank].is_odd = true;
    buf_addf(out, "rank %zu differs: %llu %% fewer steps than the others", values[0].rank,
             (unsigned long long)percent);
    return true;
}

static bool is_power_off(uint64_t value, uint64_t middle)
{
    uint64_t off = distance(value, middle);
    return off >= ODD_POWER_MW && off * 100 >= middle * ODD_POWER_PERCENT;
}

static void judge_power(struct top_row *rows, size_t n, struct value *values, struct buf *out)
{
    size_t len = collect(rows, n, power_of, values);
    if (len < ODD_RANKS_MIN)
        return;
    uint64_t above = values[1 + (len - 2) / 2].value; /* the middle of all but the lowest */
    uint64_t below = values[(len - 2) / 2].value;     /* of all but the highest */
    const struct value *low = &values[0], *high = &values[len - 1], *odd = NULL;
    if (is_power_off(low->value, above) && do_agree(&values[1], high))
        odd = low;
    else if (is_power_off(high->value, below) && do_agree(low, &values[len - 2]))
        odd = high;
    if (!odd)
        return;
    uint64_t others = odd == low ? above : below;
    rows[odd->rank].is_odd = true;
    buf_addf(out, "rank %zu differs: its GPU draws %llu W, the others about %llu W", odd->rank,
             (unsigned long long)(odd->value / 1000), (unsigned long long)(others / 1000));
}

void top_odd(struct top_row *rows, size_t n, struct buf *out)
{
    struct value *values = mem_alloc(n, sizeof *values);
    if (!is_behind(rows, n, values, out) && !is_slow(rows, n, values, out))
        judge_power(rows, n, values, out);
    free(values);
}

#include "worker/sweep.h"

#include <stdlib.h>

#include "base/mem.h"
#include "worker/size_text.h"

enum { SIZES_LIMIT = 10000, DEADLINE_FACTOR = 20, MIN_DEADLINE_MS = 30000 };

static const uint64_t defaults_nccl[] = {8, 1ull << 20, 64ull << 20, 256ull << 20, 1ull << 30};
static const uint64_t defaults_host[] = {8, 64ull << 10, 1ull << 20, 16ull << 20};

struct list_of_sizes {
    uint64_t *items;
    size_t len, cap, left_out;
    uint64_t limit;
    size_t element;
};

static void add(struct list_of_sizes *l, uint64_t bytes)
{
    bytes -= bytes % l->element;
    if (bytes == 0)
        bytes = l->element;
    if (l->limit && bytes > l->limit) {
        l->left_out++;
        return;
    }
    if (l->len && l->items[l->len - 1] == bytes)
        return;
    array_grow(l->items, l->len, l->cap);
    l->items[l->len++] = bytes;
}

static bool is_range(const struct options *o)
{
    return o->full || o->min_bytes || o->max_bytes || o->factor || o->step_bytes;
}

static void range(const struct options *o, bool host, uint64_t *min, uint64_t *max)
{
    uint64_t full = host ? 64ull << 20 : 8ull << 30;
    *min = o->min_bytes ? o->min_bytes : 8;
    *max = o->max_bytes ? o->max_bytes : full;
    if (*max < *min)
        *max = *min;
}

static const uint64_t *fixed(const struct options *o, bool host, size_t *n)
{
    *n = o->nsizes ? o->nsizes
         : host    ? sizeof defaults_host / sizeof *defaults_host
                   : sizeof defaults_nccl / sizeof *defaults_nccl;
    return o->nsizes ? o->sizes : host ? defaults_host : defaults_nccl;
}

uint64_t sweep_largest(const struct options *o, bool host)
{
    uint64_t min, max = 0;
    if (is_range(o)) {
        range(o, host, &min, &max);
        return max;
    }
    size_t n;
    const uint64_t *sizes = fixed(o, host, &n);
    for (size_t i = 0; i < n; i++)
        max = sizes[i] > max ? sizes[i] : max;
    return max;
}

/* False if none up to max follows. */
static bool next_size(const struct options *o, uint64_t max, uint64_t *size)
{
    uint64_t factor = o->factor ? o->factor : 2;
    bool is_last =
        o->step_bytes ? o->step_bytes > max - *size : factor == 1 || *size > max / factor;
    if (is_last)
        return false;
    *size = o->step_bytes ? *size + o->step_bytes : *size * factor;
    return true;
}

static void add_range(struct list_of_sizes *l, const struct options *o, bool host)
{
    uint64_t size, max;
    range(o, host, &size, &max);
    do
        add(l, size);
    while (l->len + l->left_out <= SIZES_LIMIT && next_size(o, max, &size));
}

/* What is named has to be there; a range is cut. */
static int check_named(const struct options *o, uint64_t limit, struct err *e)
{
    char size[24], most[24];
    for (unsigned i = 0; i < o->nsizes && limit; i++)
        if (o->sizes[i] > limit)
            return err_set(e, ERR_USAGE,
                           "--sizes: %s does not fit; memory holds %s a buffer, and each rank "
                           "has two",
                           size_format(o->sizes[i], size),
                           size_format(limit < 1 << 20 ? limit : limit >> 20 << 20, most));
    return 0;
}

int sweep_sizes(const struct options *o, bool host, uint64_t limit_bytes, size_t element_bytes,
                uint64_t **sizes, size_t *n, size_t *left_out, struct err *e)
{
    struct list_of_sizes l = {.limit = limit_bytes, .element = element_bytes};
    if (check_named(o, limit_bytes, e) < 0)
        return -1;
    if (is_range(o)) {
        add_range(&l, o, host);
    } else {
        size_t count;
        const uint64_t *list = fixed(o, host, &count);
        for (size_t i = 0; i < count; i++)
            add(&l, list[i]);
    }
    if (l.len == 0 || l.len + l.left_out > SIZES_LIMIT) {
        size_t len = l.len;
        free(l.items);
        return len ? err_set(e, ERR_USAGE, "more than %d sizes", SIZES_LIMIT)
                   : err_set(e, ERR_USAGE, "no size fits into the memory of the device");
    }
    *sizes = l.items;
    *n = l.len;
    *left_out = l.left_out;
    return 0;
}

uint32_t sweep_warmups(const struct options *o, bool is_largest)
{
    return o->warmup ? o->warmup : is_largest;
}

/* Each placement has its timed operations and one before them; each round verifies both. */
uint64_t sweep_deadline_ms(const struct options *o, uint64_t largest_us)
{
    uint64_t operations = 2 * (o->iters + 1ull) + 2ull * o->check;
    uint64_t ms = DEADLINE_FACTOR * (largest_us * operations / 1000);
    return ms > MIN_DEADLINE_MS ? ms : MIN_DEADLINE_MS;
}

double sweep_algbw(uint64_t bytes, double time_us)
{
    return time_us > 0 ? (double)bytes / (time_us * 1e3) : 0;
}

uint64_t sweep_regions(uint64_t max_bytes, uint64_t step_bytes)
{
    uint64_t regions = max_bytes / step_bytes;
    return regions ? regions : 1;
}

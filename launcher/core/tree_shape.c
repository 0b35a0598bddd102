#include "launcher/core/tree_shape.h"

uint32_t tree_shape_radix(uint32_t n, uint32_t above)
{
    if (!above || n <= above)
        return 0;
    if (above < TREE_RADIX_MIN)
        return TREE_RADIX_MIN;
    return above < TREE_RADIX ? above : TREE_RADIX;
}

uint32_t tree_shape_runs(uint32_t n, uint32_t radix)
{
    return n < radix ? n : radix;
}

struct tree_run tree_shape_run(uint32_t n, uint32_t radix, uint32_t i)
{
    uint32_t runs = tree_shape_runs(n, radix), least = n / runs, longer = n % runs;
    return (struct tree_run){.first = i * least + (i < longer ? i : longer),
                             .count = least + (i < longer)};
}

/* Which run host i is in: the longer ones come first. */
static uint32_t run_of(uint32_t n, uint32_t radix, uint32_t i)
{
    uint32_t runs = tree_shape_runs(n, radix), least = n / runs, longer = n % runs;
    uint32_t in_longer = longer * (least + 1);
    return i < in_longer ? i / (least + 1) : longer + (i - in_longer) / least;
}

struct tree_place tree_shape_find(uint32_t n, uint32_t radix, uint32_t i)
{
    struct tree_place place = {.parent = TREE_HEAD, .depth = 1};
    for (uint32_t base = 0;; place.depth++) {
        struct tree_run run = tree_shape_run(n, radix, run_of(n, radix, i - base));
        uint32_t first = base + run.first;
        if (first == i) {
            place.count = run.count;
            return place;
        }
        place.parent = first;
        base = first + 1;
        n = run.count - 1;
    }
}

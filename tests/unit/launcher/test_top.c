/* top: what two looks say of each rank, which rank differs, and which columns find room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/core/top_view.h"

enum { RANKS = 4 };

/* Two looks at a job of four ranks, a second apart, which tests then change. */
struct looks {
    struct control_rank ranks[2][RANKS];
    struct top_usage usages[2][RANKS];
    struct gpu_sample gpus[RANKS];
    struct top_look before, now;
};

#define TEXT(text) ((char *)(uintptr_t)(text)) /* a look owns its texts; these are static */

static struct maybe_u64 known(uint64_t value)
{
    return (struct maybe_u64){true, value};
}

static void init(struct looks *l)
{
    static const char *const indexes[] = {"0", "1", "2", "3"};
    static const char *const uuids[] = {"GPU-aaaaaaaa-0", "GPU-bbbbbbbb-1", "GPU-cccccccc-2",
                                        "GPU-dddddddd-3"};
    *l = (struct looks){0};
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < RANKS; i++) {
            l->ranks[k][i] = (struct control_rank){.local_rank = i,
                                                   .pid = 100 + i,
                                                   .state = RANK_RUNNING,
                                                   .host = TEXT("n1"),
                                                   .gpu_index = TEXT(indexes[i]),
                                                   .gpu_uuid = TEXT(uuids[i]),
                                                   .step = known(10 + 2 * k)};
            l->usages[k][i] = (struct top_usage){known(1000 + 500 * k), known(64 << 20)};
        }
    for (unsigned i = 0; i < RANKS; i++) {
        l->gpus[i] = (struct gpu_sample){.util = known(100),
                                         .power_mw = known(400000),
                                         .used = known(30ull << 30),
                                         .total = known(80ull << 30),
                                         .temp_c = known(60),
                                         .clock_events = known(0)};
        strcpy(l->gpus[i].uuid, uuids[i]);
    }
    struct control_status status = {.job_id = TEXT("demo"),
                                    .program = TEXT("train.py"),
                                    .state = TEXT("running"),
                                    .pid = 12,
                                    .nnodes = 1,
                                    .here = known(0),
                                    .uptime_ms = 5000,
                                    .nranks = RANKS};
    l->before = (struct top_look){.at_ms = 1000, .status = status, .usages = l->usages[0]};
    l->before.status.ranks = l->ranks[0];
    l->now = (struct top_look){.at_ms = 2000,
                               .status = status,
                               .usages = l->usages[1],
                               .gpus = l->gpus,
                               .ngpus = RANKS};
    l->now.status.ranks = l->ranks[1];
}

/* How the odd rank differs, "" if none does. Free with free(). */
static char *odd(const struct looks *l)
{
    struct top_view v;
    top_view_init(&v, &l->before, &l->now, NULL);
    char *text = strdup(buf_str(&v.odd));
    unsigned n = 0;
    for (size_t i = 0; i < v.nrows; i++)
        n += v.rows[i].is_odd;
    assert_int_equal(n, text[0] != '\0');
    top_view_fini(&v);
    return text;
}

static void expect_odd(const struct looks *l, const char *expected)
{
    char *text = odd(l);
    assert_string_equal(text, expected);
    free(text);
}

static void rates(void **state)
{
    (void)state;
    struct looks l;
    struct top_view v;
    init(&l);
    l.ranks[1][3].pid = 999; /* another process than before */
    l.usages[1][2].cpu_ms = (struct maybe_u64){0};
    top_view_init(&v, &l.before, &l.now, NULL);
    assert_int_equal(v.rows[0].steps_per_ks.value, 2000);
    assert_int_equal(v.rows[0].cpu.value, 50);
    assert_false(v.rows[2].cpu.is_known);
    assert_false(v.rows[3].steps_per_ks.is_known);
    assert_ptr_equal(v.rows[1].gpu, &l.gpus[1]);
    top_view_fini(&v);
    l.now.status.generation = 1;
    top_view_init(&v, &l.before, &l.now, NULL);
    assert_false(v.rows[0].steps_per_ks.is_known);
    top_view_fini(&v);
}

static void who_differs(void **state)
{
    (void)state;
    struct looks l;
    init(&l);
    expect_odd(&l, "");
    l.ranks[1][2].step = known(11); /* one step is chance */
    l.ranks[0][2].step = known(9);
    expect_odd(&l, "");
    l.ranks[1][2].step = known(8);
    l.ranks[0][2].step = known(6);
    expect_odd(&l, "rank 2 differs: 4 steps behind");
    init(&l);
    l.ranks[0][1].step = known(11);
    expect_odd(&l, "rank 1 differs: 50 % fewer steps than the others");
    init(&l);
    l.gpus[3].power_mw = known(150000);
    expect_odd(&l, "rank 3 differs: its GPU draws 150 W, the others about 400 W");
    for (int i = 0; i < 3; i++)
        l.gpus[i].power_mw = known(140000);
    l.gpus[3].power_mw = known(600000);
    expect_odd(&l, "rank 3 differs: its GPU draws 600 W, the others about 140 W");
}

static void who_cannot_be_told(void **state)
{
    (void)state;
    struct looks l;
    init(&l);
    for (int i = 0; i < RANKS; i++) /* no two agree */
        l.gpus[i].power_mw = known(100000 * (uint64_t)(i + 1));
    expect_odd(&l, "");
    l.gpus[0].power_mw = l.gpus[1].power_mw = known(100000); /* two and two */
    l.gpus[2].power_mw = l.gpus[3].power_mw = known(400000);
    expect_odd(&l, "");
    for (int i = 0; i < RANKS; i++) /* idle ones differ by little */
        l.gpus[i].power_mw = known(i ? 60000 : 75000);
    expect_odd(&l, "");
    init(&l);
    l.now.status.nranks = l.before.status.nranks = 2;
    l.gpus[0].power_mw = known(100000);
    expect_odd(&l, "");
    init(&l);
    l.ranks[1][3].state = RANK_DONE; /* who has ended is behind nobody */
    l.ranks[1][3].step = known(1);
    expect_odd(&l, "");
}

static void expect_text(const struct looks *l, unsigned width, unsigned height,
                        const char *expected)
{
    struct top_view v;
    struct buf text;
    top_view_init(&v, &l->before, &l->now, NULL);
    buf_init(&text, 0);
    top_view_format(&v, width, height, &text);
    assert_string_equal(buf_str(&text), expected);
    buf_fini(&text);
    top_view_fini(&v);
}

static void columns_and_lines(void **state)
{
    (void)state;
    struct looks l;
    init(&l);
    l.gpus[1].clock_events = known(0x45); /* idle does not count */
    expect_text(&l, 0, 0,
                "job demo  running  4/4 ranks  0 restarts  5 s  pid 12\n"
                "\n"
                "RANK  STATE    HOST  PID  GPU  UUID           UTIL  POWER     MEM  TEMP   CPU"
                "     RSS  STEP  STEP/S  THROTTLE\n"
                "   0  running  n1    100    0  GPU-aaaaaaaa  100 %  400 W  30 GiB  60 C  50 %"
                "  64 MiB    12    2.00\n"
                "   1  running  n1    101    1  GPU-bbbbbbbb  100 %  400 W  30 GiB  60 C  50 %"
                "  64 MiB    12    2.00  power cap, hw thermal\n"
                "   2  running  n1    102    2  GPU-cccccccc  100 %  400 W  30 GiB  60 C  50 %"
                "  64 MiB    12    2.00\n"
                "   3  running  n1    103    3  GPU-dddddddd  100 %  400 W  30 GiB  60 C  50 %"
                "  64 MiB    12    2.00\n");
    l.gpus[2].power_mw = known(100000);
    expect_text(&l, 40, 6,
                "job demo  running  4/4 ranks  0 restarts\n"
                "rank 2 differs: its GPU draws 100 W, the\n"
                "RANK  STATE    GPU   UTIL  POWER  STEP/S\n"
                "   0  running    0  100 %  400 W    2.00\n"
                "   1  running    1  100 %  400 W    2.00\n"
                "and 2 more ranks\n");
    expect_text(&l, 4, 5, "job\nrank\nRANK\n   0\nand\n");
}

static void other_nodes(void **state)
{
    (void)state;
    struct looks l;
    struct top_view v;
    init(&l);
    l.ranks[1][2].node = l.ranks[1][3].node = 1;
    l.ranks[1][2].host = l.ranks[1][3].host = TEXT("n2");
    top_view_init(&v, &l.before, &l.now, "NVML: none");
    assert_string_equal(buf_str(&v.note),
                        "node n2: no figures from other nodes yet, of GPUs, CPU, memory or "
                        "steps; no GPU figures: NVML: none");
    top_view_fini(&v);
    l.ranks[1][3].host = TEXT("n3");
    l.ranks[1][3].node = 2;
    top_view_init(&v, &l.before, &l.now, NULL);
    assert_non_null(strstr(buf_str(&v.note), "node n2 and 1 more: no figures"));
    top_view_fini(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),
        cmocka_unit_test(who_differs),
        cmocka_unit_test(who_cannot_be_told),
        cmocka_unit_test(columns_and_lines),
        cmocka_unit_test(other_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

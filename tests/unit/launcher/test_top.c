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
    struct control_status before, now;
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
        for (unsigned i = 0; i < RANKS; i++)
            l->ranks[k][i] =
                (struct control_rank){.local_rank = i,
                                      .pid = 100 + i,
                                      .starts = 1,
                                      .state = RANK_RUNNING,
                                      .host = TEXT("n1"),
                                      .gpu_index = TEXT(indexes[i]),
                                      .gpu_uuid = TEXT(uuids[i]),
                                      .step = known(10 + 2 * k),
                                      .sample = {.asked_ms = known(1000 + 1000 * k),
                                                 .at_ms = known(1010 + 1000 * k),
                                                 .cpu_ms = known(1000 + 500 * k),
                                                 .rss = known(64 << 20),
                                                 .gpu = {.at_ms = known(1020 + 1000 * k),
                                                         .util = known(100),
                                                         .power_mw = known(400000),
                                                         .used = known(30ull << 30),
                                                         .total = known(80ull << 30),
                                                         .temp_c = known(60),
                                                         .clock_events = known(0)}}};
    l->before = (struct control_status){.job_id = TEXT("demo"),
                                        .program = TEXT("train.py"),
                                        .state = TEXT("running"),
                                        .pid = 12,
                                        .nnodes = 1,
                                        .here = known(0),
                                        .uptime_ms = 5000,
                                        .ranks = l->ranks[0],
                                        .nranks = RANKS};
    l->now = l->before;
    l->now.ranks = l->ranks[1];
}

/* How the odd rank differs, "" if none does. Free with free(). */
static char *odd(const struct looks *l)
{
    struct top_view v;
    top_view_init(&v, &l->before, &l->now);
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
    l.ranks[1][2].sample.cpu_ms = (struct maybe_u64){0};
    top_view_init(&v, &l.before, &l.now);
    assert_int_equal(v.rows[0].steps_per_ks.value, 2000);
    assert_int_equal(v.rows[0].cpu.value, 50);
    assert_false(v.rows[2].cpu.is_known);
    assert_false(v.rows[3].steps_per_ks.is_known);
    top_view_fini(&v);
    l.now.generation = 1;
    top_view_init(&v, &l.before, &l.now);
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
    l.ranks[1][3].sample.gpu.power_mw = known(150000);
    expect_odd(&l, "rank 3 differs: its GPU draws 150 W, the others about 400 W");
    for (int i = 0; i < 3; i++)
        l.ranks[1][i].sample.gpu.power_mw = known(140000);
    l.ranks[1][3].sample.gpu.power_mw = known(600000);
    expect_odd(&l, "rank 3 differs: its GPU draws 600 W, the others about 140 W");
}

static void who_cannot_be_told(void **state)
{
    (void)state;
    struct looks l;
    init(&l);
    for (int i = 0; i < RANKS; i++) /* no two agree */
        l.ranks[1][i].sample.gpu.power_mw = known(100000 * (uint64_t)(i + 1));
    expect_odd(&l, "");
    l.ranks[1][0].sample.gpu.power_mw = l.ranks[1][1].sample.gpu.power_mw =
        known(100000); /* two and two */
    l.ranks[1][2].sample.gpu.power_mw = l.ranks[1][3].sample.gpu.power_mw = known(400000);
    expect_odd(&l, "");
    for (int i = 0; i < RANKS; i++) /* idle ones differ by little */
        l.ranks[1][i].sample.gpu.power_mw = known(i ? 60000 : 75000);
    expect_odd(&l, "");
    init(&l);
    l.now.nranks = l.before.nranks = 2;
    l.ranks[1][0].sample.gpu.power_mw = known(100000);
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
    top_view_init(&v, &l->before, &l->now);
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
    l.ranks[1][1].sample.gpu.clock_events = known(0x45); /* idle does not count */
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
    l.ranks[1][2].sample.gpu.power_mw = known(100000);
    expect_text(&l, 40, 6,
                "job demo  running  4/4 ranks  0 restarts\n"
                "rank 2 differs: its GPU draws 100 W, the\n"
                "RANK  STATE    GPU   UTIL  POWER  STEP/S\n"
                "   0  running    0  100 %  400 W    2.00\n"
                "   1  running    1  100 %  400 W    2.00\n"
                "and 2 more ranks\n");
    expect_text(&l, 4, 5, "job\nrank\nRANK\n   0\nand\n");
}

static void traffic(void **state)
{
    (void)state;
    struct looks l;
    struct top_view v;
    init(&l);
    l.ranks[0][0].sample.gpu.nvlink_tx = known(5);
    l.ranks[1][0].sample.gpu.nvlink_tx = known(5 + 2000000000ull);
    l.ranks[0][0].sample.gpu.nvlink_rx = known(7);
    l.ranks[1][0].sample.gpu.nvlink_rx = known(7 + 1500000000ull);
    l.ranks[0][1].sample.gpu.nvlink_tx = known(100); /* counted anew: the driver was loaded */
    l.ranks[1][1].sample.gpu.nvlink_tx = known(99);
    l.ranks[1][2].sample.gpu.pcie_tx_rate = known(1230000000);
    l.ranks[1][2].sample.gpu.pcie_rx_rate = known(70000000);
    top_view_init(&v, &l.before, &l.now);
    assert_int_equal(v.rows[0].nvlink.tx.value, 2000000000);
    assert_int_equal(v.rows[0].nvlink.rx.value, 1500000000);
    assert_false(v.rows[0].pcie.tx.is_known);
    assert_false(v.rows[1].nvlink.tx.is_known);
    struct buf text;
    buf_init(&text, 0);
    top_view_format(&v, 0, 0, &text);
    assert_non_null(strstr(buf_str(&text), "  NVLINK"));
    assert_non_null(strstr(buf_str(&text), "  3.5 GB/s"));
    assert_non_null(strstr(buf_str(&text), "  PCIE"));
    assert_non_null(strstr(buf_str(&text), "  1.3 GB/s"));
    buf_reset(&text);
    top_view_json(&v, &text);
    assert_non_null(strstr(buf_str(&text), "\"nvlink_rx_bytes_per_s\": 1500000000"));
    buf_fini(&text);
    top_view_fini(&v);
}

static void restarts(void **state)
{
    (void)state;
    struct looks l;
    struct top_view v;
    struct buf text;
    init(&l);
    l.ranks[1][2].starts = 4;
    buf_init(&text, 0);
    top_view_init(&v, &l.before, &l.now);
    top_view_format(&v, 0, 0, &text);
    assert_non_null(strstr(buf_str(&text), "  RESTARTS\n"));
    assert_non_null(strstr(buf_str(&text), "2.00         3\n"));
    buf_reset(&text);
    top_view_json(&v, &text);
    assert_non_null(strstr(buf_str(&text), "\"starts\": 4"));
    buf_fini(&text);
    top_view_fini(&v);
}

/* The same lines, whose ends are cut without what makes them bold. */
static void colour(void **state)
{
    (void)state;
    struct looks l;
    struct top_view v;
    struct buf text;
    init(&l);
    l.ranks[0][2].step = known(7);
    l.ranks[1][2].step = known(9);
    buf_init(&text, 0);
    top_view_init(&v, &l.before, &l.now);
    assert_true(v.rows[2].is_odd);
    top_view_format(&v, 20, 0, &text);
    assert_null(strchr(buf_str(&text), '\033'));
    buf_reset(&text);
    v.has_colour = true;
    top_view_format(&v, 20, 0, &text);
    assert_non_null(strstr(buf_str(&text), "\033[1mRANK  STATE"));
    assert_non_null(strstr(buf_str(&text), "\033[1;31m  *2  running"));
    assert_non_null(strstr(buf_str(&text), "\n   1  running"));
    for (const char *line = buf_str(&text), *end; (end = strchr(line, '\n')); line = end + 1) {
        size_t n = (size_t)(end - line);
        if (*line == '\033') /* both ways of it, and what they end with */
            n -= (line[3] == ';' ? 7u : 4u) + 4u;
        assert_in_range(n, 1, 20);
    }
    buf_fini(&text);
    top_view_fini(&v);
}

static void put_on_node(struct looks *l, unsigned i, uint32_t node, const char *host)
{
    for (unsigned k = 0; k < 2; k++) {
        l->ranks[k][i].node = node;
        l->ranks[k][i].host = TEXT(host);
    }
}

static void silence(struct control_rank *rank)
{
    rank->sample = (struct rank_sample){0};
    rank->step = (struct maybe_u64){0};
}

/* Ranks of all nodes are compared, each by its own node's clock. */
static void other_nodes(void **state)
{
    (void)state;
    struct looks l;
    init(&l);
    put_on_node(&l, 2, 1, "n2");
    put_on_node(&l, 3, 1, "n2");
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 2; i < 4; i++) {
            l.ranks[k][i].sample.asked_ms.value += 77000;
            l.ranks[k][i].sample.at_ms.value += 77000;
        }
    expect_odd(&l, "");
    l.ranks[1][3].sample.gpu.power_mw = known(150000);
    expect_odd(&l, "rank 3 differs: its GPU draws 150 W, the others about 400 W");
    l.ranks[1][3].step = known(11);
    expect_odd(&l, "rank 3 differs: 50 % fewer steps than the others");
}

static void a_node_that_does_not_answer(void **state)
{
    (void)state;
    struct looks l;
    struct top_view v;
    struct buf text;
    init(&l);
    put_on_node(&l, 2, 1, "n2");
    put_on_node(&l, 3, 1, "n2");
    silence(&l.ranks[1][2]);
    silence(&l.ranks[1][3]);
    l.now.sample_why = TEXT("n1: NVML: none");
    buf_init(&text, 0);
    top_view_init(&v, &l.before, &l.now);
    assert_string_equal(buf_str(&v.note),
                        "node n2: no answer in time, what the ranks do there is not known; "
                        "figures are missing: n1: NVML: none");
    top_view_format(&v, 0, 0, &text);
    assert_non_null(strstr(buf_str(&text),
                           "   3  running  n2    103    3  GPU-dddddddd      ?      ?       ?"
                           "     ?     ?       ?     ?       ?\n"));
    buf_reset(&text);
    top_view_json(&v, &text);
    assert_non_null(strstr(buf_str(&text), "\"gpu_power_mw\": null"));
    assert_non_null(strstr(buf_str(&text), "\"is_known\": false"));
    top_view_fini(&v);
    put_on_node(&l, 3, 2, "n3");
    top_view_init(&v, &l.before, &l.now);
    assert_non_null(strstr(buf_str(&v.note), "node n2 and 1 more: no answer"));
    top_view_fini(&v);
    l.ranks[1][2].state = l.ranks[1][3].state = RANK_DONE; /* nothing is to be known of them */
    l.now.sample_why = NULL;
    top_view_init(&v, &l.before, &l.now);
    assert_string_equal(buf_str(&v.note), "");
    top_view_fini(&v);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),
        cmocka_unit_test(who_differs),
        cmocka_unit_test(who_cannot_be_told),
        cmocka_unit_test(columns_and_lines),
        cmocka_unit_test(traffic),
        cmocka_unit_test(restarts),
        cmocka_unit_test(colour),
        cmocka_unit_test(other_nodes),
        cmocka_unit_test(a_node_that_does_not_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

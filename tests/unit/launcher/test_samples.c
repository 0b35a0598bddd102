/* Samples: as text from a helper to its node and from a node to the head, and what the head
 * keeps of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "driven.h"
#include "launcher/core/job_control.h"
#include "launcher/core/node_sample.h"
#include "launcher/core/sample_ask.h"
#include "launcher/core/samples.h"

static struct maybe_u64 known(uint64_t value)
{
    return (struct maybe_u64){true, value};
}

static void assert_same(struct maybe_u64 a, struct maybe_u64 b, const char *what)
{
    if (a.is_known != b.is_known || a.value != b.value)
        fail_msg("%s differs", what);
}

/* By its members: what is between them may hold anything. */
static void assert_same_sample(const struct rank_sample *a, const struct rank_sample *b)
{
    assert_same(a->asked_ms, b->asked_ms, "asked_ms");
    assert_same(a->at_ms, b->at_ms, "at_ms");
    assert_same(a->cpu_ms, b->cpu_ms, "cpu_ms");
    assert_same(a->rss, b->rss, "rss");
#define X(member) assert_same(a->gpu.member, b->gpu.member, #member);
    GPU_FIGURES(X)
#undef X
}

/* ---- form ---- */

static const char rank_item[] = "rank,3,1,GPU-1,17,30,5000;";
static const char usage_item[] = "sample,3,-,5010,900,4096,-,-,-,-,-,-,-,-,-,-,-,-;";
static const char gpu_item[] = "sample,3,-,-,-,-,5020,100,75000,1,2,30,4,5,6,7,8,9;";

static void items_there_and_back(void **state)
{
    (void)state;
    struct buf text;
    struct node_sample_item item;
    buf_init(&text, 0);
    const struct node_sample_rank rank = {3, "1", "GPU-1", known(17), known(30), known(5000)};
    node_sample_add_rank(&rank, &text);
    assert_string_equal(buf_str(&text), rank_item);
    const struct rank_sample usage = {
        .at_ms = known(5010), .cpu_ms = known(900), .rss = known(4096)};
    node_sample_add_figures(3, &usage, &text);
    assert_string_equal(buf_str(&text) + sizeof rank_item - 1, usage_item);
    node_sample_add_why("NVML: a,b; c\nd", &text);
    struct str rest = {buf_str(&text), text.len};
    assert_int_equal(node_sample_next(&rest, &item), 1);
    assert_int_equal(item.kind, NODE_SAMPLE_RANK);
    assert_int_equal(item.local_rank, 3);
    assert_true(str_eq(item.index, "1") && str_eq(item.uuid, "GPU-1"));
    assert_int_equal(item.step.value, 17);
    assert_int_equal(item.quiet_ms.value, 30);
    assert_int_equal(item.figures.asked_ms.value, 5000);
    assert_int_equal(node_sample_next(&rest, &item), 1);
    assert_int_equal(item.kind, NODE_SAMPLE_FIGURES);
    assert_int_equal(item.figures.rss.value, 4096);
    assert_false(item.figures.asked_ms.is_known || item.figures.gpu.at_ms.is_known);
    assert_int_equal(node_sample_next(&rest, &item), 1);
    assert_int_equal(item.kind, NODE_SAMPLE_WHY);
    assert_true(str_eq(item.why, "NVML: a,b_ c_d"));
    assert_int_equal(node_sample_next(&rest, &item), 0);
    buf_fini(&text);
}

static void a_rank_without_gpu(void **state)
{
    (void)state;
    struct buf text;
    struct node_sample_item item;
    buf_init(&text, 0);
    node_sample_add_rank(&(struct node_sample_rank){.local_rank = 0}, &text);
    assert_string_equal(buf_str(&text), "rank,0,-,-,-,-,-;");
    struct str rest = {buf_str(&text), text.len};
    assert_int_equal(node_sample_next(&rest, &item), 1);
    assert_true(!item.index.p && !item.uuid.p && !item.step.is_known);
    buf_reset(&text);
    const struct node_sample_rank odd = {0, "0;1", "a b,c", known(1), known(1), known(1)};
    node_sample_add_rank(&odd, &text);
    assert_string_equal(buf_str(&text), "rank,0,0_1,a_b_c,1,1,1;");
    buf_fini(&text);
}

static void no_items(void **state)
{
    (void)state;
    static const char *const texts[] = {"rank",
                                        "rank;",
                                        "rank,0;",
                                        "rank,x,-,-,-,-,-;",
                                        "rank,0,-,,-,-,-;",
                                        "rank,0,-,-,-,-;",
                                        "rank,0,-,-,-,-,1x;",
                                        "sample,0;",
                                        "sample,0,1,2;",
                                        "why;",
                                        "sample,0,-,-,-,-,-,-,-,-,-,-,-,-,-,-;"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct node_sample_item item;
        struct str rest = str_from(texts[i]);
        print_message("%s\n", texts[i]);
        assert_int_equal(node_sample_next(&rest, &item), -1);
    }
    struct node_sample_item item;
    struct str rest = str_from("later,1,2;why,a;");
    assert_int_equal(node_sample_next(&rest, &item), 1); /* of a later muster: skipped */
    assert_int_equal(item.kind, NODE_SAMPLE_WHY);
}

enum { WORKERS_MAX = 4096 };

static size_t count_items(const struct buf *text)
{
    struct node_sample_item item;
    struct str rest = {buf_str(text), text->len};
    size_t n = 0;
    while (node_sample_next(&rest, &item) > 0)
        n++;
    assert_int_equal(rest.n, 0);
    return n;
}

static void all_of_a_full_node_has_room(void **state)
{
    (void)state;
    const struct maybe_u64 big = known(UINT64_MAX);
    const struct rank_sample usage = {.at_ms = big, .cpu_ms = big, .rss = big};
    struct rank_sample gpu = {0};
    char uuid[120];
    struct buf text;
    size_t left_out = 0;
#define X(member) gpu.gpu.member = big;
    GPU_FIGURES(X)
#undef X
    memset(uuid, 'x', sizeof uuid - 1);
    uuid[sizeof uuid - 1] = '\0';
    buf_init(&text, 0);
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        const struct node_sample_rank rank = {i, uuid, uuid, big, big, big};
        left_out += node_sample_add_rank(&rank, &text);
        left_out += node_sample_add_figures(i, &usage, &text);
        left_out += node_sample_add_figures(i, &gpu, &text);
    }
    assert_int_equal(left_out, 0);
    assert_int_equal(count_items(&text), 3 * WORKERS_MAX);
    buf_fini(&text);
}

static void what_has_no_room_is_counted(void **state)
{
    (void)state;
    struct buf text, more;
    struct node_sample_item item;
    size_t all = NODE_SAMPLE_BYTES_MAX / (sizeof gpu_item - 1) + 100, left_out = 0;
    char why[80];
    buf_init(&text, 0);
    buf_init(&more, 0);
    for (size_t i = 0; i < all; i++)
        left_out += node_sample_add_items(str_from(gpu_item), &text);
    assert_in_range(left_out, 100, 200);
    node_sample_add_left_out(left_out, &text); /* has room of its own, */
    assert_int_equal(node_sample_add_items((struct str){buf_str(&text), text.len}, &more), 0);
    assert_int_equal(node_sample_add_items(str_from(gpu_item), &more), 1);
    assert_int_equal(node_sample_add_items(str_from("why,a;why,b"), &more), 0); /* as others */
    assert_in_range(more.len, text.len + 6, NODE_SAMPLE_BYTES_MAX);
    assert_int_equal(count_items(&more), all - left_out + 2);
    struct str rest = {buf_str(&text), text.len};
    while (node_sample_next(&rest, &item) > 0 && item.kind != NODE_SAMPLE_WHY)
        ;
    snprintf(why, sizeof why, "%zu have no room in the 4096 KiB that a node says", left_out);
    assert_true(str_eq(item.why, why));
    buf_reset(&text);
    node_sample_add_left_out(0, &text);
    assert_int_equal(text.len, 0);
    buf_fini(&text);
    buf_fini(&more);
}

static void what_a_helper_is_asked(void **state)
{
    (void)state;
    struct buf text;
    struct sample_subject subject;
    buf_init(&text, 0);
    sample_ask_format(&(struct sample_subject){0, 100, {"GPU-1", 5}}, &text);
    sample_ask_format(&(struct sample_subject){1, 101, {0}}, &text);
    assert_string_equal(buf_str(&text), "0,100,GPU-1;1,101,-;");
    struct str rest = {buf_str(&text), text.len};
    assert_int_equal(sample_ask_next(&rest, &subject), 1);
    assert_true(subject.pid == 100 && str_eq(subject.uuid, "GPU-1"));
    assert_int_equal(sample_ask_next(&rest, &subject), 1);
    assert_true(subject.local_rank == 1 && subject.pid == 101 && !subject.uuid.p);
    assert_int_equal(sample_ask_next(&rest, &subject), 0);
    static const char *const texts[] = {"0,1,a", "0;", "0,1;", "x,1,-;", "0,y,-;"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        rest = str_from(texts[i]);
        assert_int_equal(sample_ask_next(&rest, &subject), -1);
    }
    buf_fini(&text);
}

/* ---- what is kept ---- */

static void take(struct samples *s, uint32_t node, const char *text)
{
    samples_take(s, node, node ? "n2" : "n1", 2 * node, 2, str_from(text));
}

static void a_round(void **state)
{
    (void)state;
    struct samples s = {.deadline_ms = UINT64_MAX};
    samples_reset(&s, 2, 4);
    assert_true(samples_is_due(&s, 100));
    samples_begin(&s, 100);
    assert_true(samples_await(&s, 0) && samples_await(&s, 1));
    assert_false(samples_is_due(&s, 5000));
    assert_false(samples_is_over(&s, 100));
    take(&s, 1,
         "rank,1,0,GPU-9,4,1,77;sample,1,-,78,10,20,-,-,-,-,-,-,-,-,-,-,-,-;"
         "sample,1,-,-,-,-,79,1,2,3,4,5,6,-,-,-,-,-;sample,2,-,1,1,1,1,1,1,1,1,1,1,1,1,1,1,-;"
         "why,NVML: no;");
    assert_string_equal(s.ranks[3].gpu_uuid, "GPU-9");
    assert_int_equal(s.ranks[3].figures.asked_ms.value, 77);
    assert_int_equal(s.ranks[3].figures.rss.value, 20);
    assert_int_equal(s.ranks[3].figures.gpu.power_mw.value, 2);
    assert_string_equal(s.sample_why, "n2: NVML: no");
    assert_false(samples_is_over(&s, 1099));
    assert_true(samples_is_over(&s, 1100));
    assert_true(samples_is_late(&s, 0));
    assert_false(samples_is_late(&s, 1));
    assert_false(samples_is_due(&s, 100 + SAMPLES_GAP_MS - 1));
    samples_begin(&s, 1200); /* who has not answered is awaited, but not asked again */
    assert_false(samples_await(&s, 0));
    assert_true(samples_await(&s, 1));
    take(&s, 0, "rank,0,-,-,-,-,7;");
    take(&s, 1, "rank,1,0,GPU-9,-,1,99;no sample");
    assert_true(samples_is_over(&s, 1200));
    assert_true(s.ranks[0].figures.asked_ms.is_known);
    assert_false(s.ranks[3].figures.asked_ms.is_known); /* what is none leaves it unknown */
    assert_string_equal(s.ranks[3].gpu_uuid, "GPU-9");
    take(&s, 0, "rank,0,-,-,5,-,8;"); /* nobody asked */
    assert_false(s.ranks[0].step.is_known);
    samples_fini(&s);
}

static void nobody_looks(void **state)
{
    (void)state;
    struct samples s = {.deadline_ms = UINT64_MAX};
    samples_reset(&s, 2, 4);
    take(&s, 0, rank_item);
    samples_left(&s, 1);
    assert_null(s.ranks);
    assert_false(samples_is_over(&s, 9999));
    samples_fini(&s);
}

/* ---- the job ---- */

static char *const program[] = {(char *)(uintptr_t) "train.py", NULL};
static const struct options opt = {.grace_ms = 25000,
                                   .prefix = "auto",
                                   .job_id = "demo",
                                   .max_restarts = 2,
                                   .program = program};

static void a_look_is_waited_for(void **state)
{
    (void)state;
    const struct control_facts facts = {0};
    struct control_status s;
    char line[400];
    struct job *job = job_new(&opt, 1, 0);
    driven_step(job, "0 boot addr=127.0.0.1 port=1234");
    driven_step(job, "0 sample"); /* there are no ranks yet */
    assert_false(job_control_must_wait(job, CONTROL_SAMPLE));
    driven_step(job, "0 frame 0 hello 0 host=box slots=4");
    driven_step(job, "1 frame 0 ready 0");
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line, "1 frame 0 started 0 local_rank=%d pid=%d", i, 100 + i);
        driven_step(job, line);
    }
    driven_step(job, "2 sample");
    assert_true(job_control_must_wait(job, CONTROL_SAMPLE));
    assert_false(job_control_must_wait(job, CONTROL_STATUS));
    snprintf(line, sizeof line, "3 frame 0 sampled 0 text=%s%s%s", rank_item, usage_item,
             gpu_item);
    driven_step(job, line);
    assert_false(job_control_must_wait(job, CONTROL_SAMPLE));
    job_control_look(job, CONTROL_SAMPLE, &facts, &s);
    assert_int_equal(s.ranks[3].starts, 1);
    assert_int_equal(s.ranks[3].step.value, 17);
    assert_string_equal(s.ranks[3].gpu_uuid, "GPU-1");
    assert_int_equal(s.ranks[3].sample.cpu_ms.value, 900);
    assert_int_equal(s.ranks[3].sample.gpu.power_mw.value, 75000);
    assert_false(s.ranks[0].sample.asked_ms.is_known);
    struct buf text;
    struct err e;
    struct control_status back;
    buf_init(&text, 0);
    control_status_format(&s, &text);
    assert_int_equal(control_status_parse((struct str){text.data, text.len}, &back, &e), 0);
    assert_int_equal(back.ranks[3].starts, 1);
    assert_same_sample(&back.ranks[3].sample, &s.ranks[3].sample);
    assert_false(back.ranks[0].sample.asked_ms.is_known);
    control_status_fini(&back);
    control_status_fini(&s);
    buf_fini(&text);
    job_control_look(job, CONTROL_STATUS, &facts, &s);
    assert_false(s.ranks[3].sample.asked_ms.is_known);
    control_status_fini(&s);
    driven_step(job, "9000 sample");
    driven_step(job, "9999 tick");
    assert_true(job_control_must_wait(job, CONTROL_SAMPLE));
    driven_step(job, "10000 tick"); /* it does not answer */
    assert_false(job_control_must_wait(job, CONTROL_SAMPLE));
    job_control_look(job, CONTROL_SAMPLE, &facts, &s);
    assert_false(s.ranks[3].sample.asked_ms.is_known || s.ranks[3].step.is_known);
    assert_string_equal(s.ranks[3].gpu_uuid, "GPU-1");
    control_status_fini(&s);
    job_free(job);
}

static void starts_are_counted_over_generations(void **state)
{
    (void)state;
    const struct control_facts facts = {0};
    struct control_status s;
    struct job *job = job_new(&opt, 1, 0);
    static const char *const lines[] = {
        "0 boot addr=127.0.0.1 port=1234",
        "0 frame 0 hello 0 host=box slots=2",
        "1 frame 0 ready 0",
        "1 frame 0 started 0 local_rank=0 pid=100",
        "1 frame 0 exited 0 local_rank=1 pid=0 end=exit:1 gpu=- tail=-", /* never started */
        "2 frame 0 exited 0 local_rank=0 pid=100 end=signal:15 gpu=- tail=-",
        "2 frame 0 reaped 0",
        "3 store_ready generation=1",
        "3 frame 0 ready 1",
        "4 frame 0 started 1 local_rank=0 pid=200",
        "4 frame 0 started 1 local_rank=1 pid=201"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        driven_step(job, lines[i]);
    job_control_look(job, CONTROL_STATUS, &facts, &s);
    assert_int_equal(s.nranks, 2);
    assert_int_equal(s.ranks[0].starts, 2);
    assert_int_equal(s.ranks[1].starts, 1);
    control_status_fini(&s);
    job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_there_and_back),
        cmocka_unit_test(a_rank_without_gpu),
        cmocka_unit_test(no_items),
        cmocka_unit_test(all_of_a_full_node_has_room),
        cmocka_unit_test(what_has_no_room_is_counted),
        cmocka_unit_test(what_a_helper_is_asked),
        cmocka_unit_test(a_round),
        cmocka_unit_test(nobody_looks),
        cmocka_unit_test(a_look_is_waited_for),
        cmocka_unit_test(starts_are_counted_over_generations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Metrics: the text format, the page as a whole, counters that only grow, and what a job says
 * of its nodes and of ranks that have ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driven.h"
#include "launcher/core/metrics_counters.h"
#include "launcher/core/metrics_render.h"
#include "launcher/core/metrics_text.h"

#define TEXT(text) ((char *)(uintptr_t)(text)) /* owned elsewhere; these are static */

static struct maybe_u64 known(uint64_t value)
{
    return (struct maybe_u64){true, value};
}

/* ---- the format ---- */

static void a_family(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 0);
    struct metrics_text t = {.out = &out};
    metrics_family(&t, "empty", METRICS_GAUGE, "nothing");
    metrics_family(&t, "a_total", METRICS_COUNTER, "of \\ and \"\nlines");
    metrics_begin(&t);
    metrics_end(&t, UINT64_MAX, METRICS_ONE);
    metrics_begin(&t);
    metrics_label(&t, "x", "a\\b\"c\nd{},=");
    metrics_label(&t, "utf", "gr\303\274n \377\303");
    metrics_label(&t, "none", NULL);
    metrics_label_number(&t, "n", 7);
    metrics_end(&t, 1005, METRICS_MILLI);
    metrics_family(&t, "b", METRICS_GAUGE, "mib");
    metrics_begin(&t);
    metrics_end(&t, (3u << 20) + 5, METRICS_MIBI);
    assert_string_equal(buf_str(&out),
                        "# HELP a_total of \\\\ and \"\\nlines\n"
                        "# TYPE a_total counter\n"
                        "a_total 18446744073709551615\n"
                        "a_total{x=\"a\\\\b\\\"c\\nd{},=\",utf=\"gr\303\274n ??\",none=\"\","
                        "n=\"7\"} 1.005\n"
                        "# HELP b mib\n"
                        "# TYPE b gauge\n"
                        "b 3\n");
    buf_fini(&out);
}

/* ---- the page ---- */

enum { RANKS = 2, NODES = 2 };

/* Two ranks on two nodes; of the second little is known. */
struct page {
    struct control_rank ranks[RANKS];
    struct control_status status;
    struct top_row rows[RANKS];
    struct top_view view;
    struct node_metrics nodes[NODES];
    struct maybe_u64 statuses[RANKS];
    struct job_metrics job;
    struct rank_counters counters[RANKS];
    struct metrics_look look;
};

static void init(struct page *p)
{
    *p = (struct page){0};
    p->ranks[0] = (struct control_rank){.pid = 100,
                                        .state = RANK_RUNNING,
                                        .host = TEXT("n1"),
                                        .gpu_index = TEXT("3"),
                                        .gpu_uuid = TEXT("GPU-3"),
                                        .step = known(41),
                                        .quiet_ms = known(250),
                                        .starts = 2};
    p->ranks[1] = (struct control_rank){
        .node = 1, .pid = 200, .state = RANK_FAILED, .host = TEXT("n\"2")};
    p->status = (struct control_status){.job_id = TEXT("demo"),
                                        .state = TEXT("running"),
                                        .generation = 1,
                                        .max_restarts = 3,
                                        .ranks = p->ranks,
                                        .nranks = RANKS};
    p->ranks[0].sample.rss = known(4096);
    p->ranks[0].sample.gpu = (struct gpu_sample){.util = known(100),
                                                 .power_mw = known(412345),
                                                 .used = known(61ull << 30),
                                                 .total = known(80ull << 30),
                                                 .temp_c = known(58),
                                                 .clock_events = known(4),
                                                 .sm_mhz = known(1980),
                                                 .nvlink_tx = known(5000),
                                                 .pcie_rx_rate = known(6000)};
    p->rows[0] =
        (struct top_row){.rank = &p->ranks[0], .steps_per_ks = known(1940), .is_odd = true};
    p->rows[1] = (struct top_row){.rank = &p->ranks[1]};
    p->view = (struct top_view){.status = &p->status, .rows = p->rows, .nrows = RANKS};
    p->nodes[0] = (struct node_metrics){.host = "n1", .state = "running", .is_up = true};
    p->nodes[1] = (struct node_metrics){
        .host = "n\"2", .state = "running", .is_up = true, .quiet_ms = known(1500)};
    p->statuses[1] = known(137);
    p->job = (struct job_metrics){.program = "train.py",
                                  .generation_at_ms = known(5000),
                                  .nodes = p->nodes,
                                  .nnodes = NODES,
                                  .statuses = p->statuses,
                                  .nranks = RANKS};
    p->counters[0].cpu_ms = known(61001);
    p->counters[0].output_bytes[METRICS_STDOUT] = known(12);
    p->counters[0].output_bytes[METRICS_STDERR] = known(0);
    p->look = (struct metrics_look){.view = &p->view,
                                    .job = &p->job,
                                    .counters = p->counters,
                                    .version = "1.2",
                                    .began_ms = 1000,
                                    .now_ms = 62234,
                                    .unix_offset_ms = 1700000000000,
                                    .store = {.connections = 2, .keys = 5, .bytes = 640}};
    p->look.store.requests[WIRE_SET] = 9;
}

static char *render(const struct page *p)
{
    struct buf out;
    buf_init(&out, 0);
    metrics_render(&p->look, &out);
    return buf_steal(&out);
}

/* Samples without HELP and TYPE. */
static void the_page(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "muster_build_info{version=\"1.2\"} 1",
        "muster_job_info{job_id=\"demo\",program=\"train.py\"} 1",
        "muster_job_state{job_id=\"demo\",state=\"running\"} 1",
        "muster_job_start_time_seconds{job_id=\"demo\"} 1700000001.000",
        "muster_job_uptime_seconds{job_id=\"demo\"} 61.234",
        "muster_job_generation_start_time_seconds{job_id=\"demo\"} 1700000005.000",
        "muster_job_generation{job_id=\"demo\"} 1",
        "muster_job_restarts_total{job_id=\"demo\"} 1",
        "muster_job_max_restarts{job_id=\"demo\"} 3",
        "muster_job_nodes{job_id=\"demo\"} 2",
        "muster_job_ranks{job_id=\"demo\"} 2",
        "muster_store_connections{job_id=\"demo\"} 2",
        "muster_store_keys{job_id=\"demo\"} 5",
        "muster_store_size_bytes{job_id=\"demo\"} 640",
        "muster_store_requests_total{job_id=\"demo\",query=\"SET\"} 9",
        "muster_node_state{job_id=\"demo\",node=\"1\",host=\"n\\\"2\",state=\"running\"} 1",
        "muster_node_up{job_id=\"demo\",node=\"0\",host=\"n1\"} 1",
        "muster_node_heartbeat_age_seconds{job_id=\"demo\",node=\"1\",host=\"n\\\"2\"} 1.500",
        "muster_rank_info{job_id=\"demo\",rank=\"0\",host=\"n1\",node=\"0\",local_rank=\"0\","
        "pid=\"100\",gpu=\"3\",UUID=\"GPU-3\"} 1",
        "muster_rank_info{job_id=\"demo\",rank=\"1\",host=\"n\\\"2\",node=\"1\","
        "local_rank=\"0\",pid=\"200\",gpu=\"\",UUID=\"\"} 1",
        "muster_rank_state{job_id=\"demo\",rank=\"1\",host=\"n\\\"2\",state=\"failed\"} 1",
        "muster_rank_up{job_id=\"demo\",rank=\"0\",host=\"n1\"} 1",
        "muster_rank_up{job_id=\"demo\",rank=\"1\",host=\"n\\\"2\"} 0",
        "muster_rank_exit_status{job_id=\"demo\",rank=\"1\",host=\"n\\\"2\"} 137",
        "muster_rank_restarts_total{job_id=\"demo\",rank=\"0\",host=\"n1\"} 1",
        "muster_rank_cpu_seconds_total{job_id=\"demo\",rank=\"0\",host=\"n1\"} 61.001",
        "muster_rank_resident_memory_bytes{job_id=\"demo\",rank=\"0\",host=\"n1\"} 4096",
        "muster_rank_step{job_id=\"demo\",rank=\"0\",host=\"n1\"} 41",
        "muster_rank_steps_per_second{job_id=\"demo\",rank=\"0\",host=\"n1\"} 1.940",
        "muster_rank_heartbeat_age_seconds{job_id=\"demo\",rank=\"0\",host=\"n1\"} 0.250",
        "muster_rank_differs{job_id=\"demo\",rank=\"0\",host=\"n1\"} 1",
        "muster_rank_differs{job_id=\"demo\",rank=\"1\",host=\"n\\\"2\"} 0",
        "muster_rank_output_bytes_total{job_id=\"demo\",rank=\"0\",host=\"n1\","
        "stream=\"stdout\"} 12",
        "muster_rank_output_bytes_total{job_id=\"demo\",rank=\"0\",host=\"n1\","
        "stream=\"stderr\"} 0",
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\",job_id=\"demo\","
        "rank=\"0\"} 100",
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\",job_id=\"demo\","
        "rank=\"0\"} 412.345",
        "DCGM_FI_DEV_FB_USED{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\",job_id=\"demo\","
        "rank=\"0\"} 62464",
        "DCGM_FI_DEV_FB_TOTAL{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\",job_id=\"demo\","
        "rank=\"0\"} 81920",
        "DCGM_FI_DEV_GPU_TEMP{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\",job_id=\"demo\","
        "rank=\"0\"} 58",
        "DCGM_FI_DEV_SM_CLOCK{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\",job_id=\"demo\","
        "rank=\"0\"} 1980",
        "muster_gpu_nvlink_transmit_bytes_total{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\","
        "job_id=\"demo\",rank=\"0\"} 5000",
        "muster_gpu_pcie_receive_bytes_per_second{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\","
        "job_id=\"demo\",rank=\"0\"} 6000",
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu=\"3\",UUID=\"GPU-3\",Hostname=\"n1\","
        "job_id=\"demo\",rank=\"0\"} 4",
    };
    struct page p;
    char line[512];
    init(&p);
    char *text = render(&p);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        print_message("%s\n", expected[i]);
        snprintf(line, sizeof line, "\n%s\n", expected[i]);
        assert_non_null(strstr(text, line));
    }
    free(text);
}

/* What is not known is left out; a family without a sample too, with its HELP and TYPE. */
static void what_is_not_known(void **state)
{
    (void)state;
    struct page p;
    init(&p);
    char *text = render(&p);
    assert_null(strstr(text, "muster_rank_step{job_id=\"demo\",rank=\"1\""));
    assert_null(strstr(text, "muster_rank_exit_status{job_id=\"demo\",rank=\"0\""));
    assert_null(strstr(text, "muster_node_heartbeat_age_seconds{job_id=\"demo\",node=\"0\""));
    assert_null(strstr(text, "muster_rank_restarts_total{job_id=\"demo\",rank=\"1\""));
    assert_null(strstr(text, "query=\"GET\""));
    assert_null(strstr(text, "UUID=\"\",Hostname"));
    free(text);
    p.view.nrows = 0;
    text = render(&p);
    assert_null(strstr(text, "DCGM"));
    assert_null(strstr(text, "muster_rank"));
    assert_non_null(strstr(text, "muster_job_ranks{job_id=\"demo\"} 0\n"));
    free(text);
}

/* Each family once, in one block, its samples right behind its TYPE. */
static void families_are_blocks(void **state)
{
    (void)state;
    struct page p;
    char name[128] = "", seen[64][128];
    size_t nseen = 0;
    init(&p);
    char *text = render(&p);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (sscanf(line, "# TYPE %127s", name) == 1) {
            for (size_t i = 0; i < nseen; i++)
                assert_string_not_equal(seen[i], name);
            strcpy(seen[nseen++], name);
        } else if (line[0] != '#') {
            assert_memory_equal(line, name, strlen(name));
            assert_true(line[strlen(name)] == '{' || line[strlen(name)] == ' ');
        }
    }
    assert_true(nseen > 30);
    free(text);
}

/* ---- counters ---- */

static void counters_only_grow(void **state)
{
    (void)state;
    struct metrics_counters c = {0};
    metrics_counters_resize(&c, 2);
    metrics_counters_cpu(&c, 1, 100, (struct maybe_u64){0});
    assert_false(c.ranks[1].cpu_ms.is_known);
    metrics_counters_cpu(&c, 1, 100, known(1000));
    assert_int_equal(c.ranks[1].cpu_ms.value, 1000);
    metrics_counters_cpu(&c, 1, 100, known(1500));
    assert_int_equal(c.ranks[1].cpu_ms.value, 1500);
    metrics_counters_cpu(&c, 1, 100, known(700)); /* a helper of it has ended */
    assert_int_equal(c.ranks[1].cpu_ms.value, 1500);
    metrics_counters_cpu(&c, 1, 100, known(800));
    assert_int_equal(c.ranks[1].cpu_ms.value, 1600);
    metrics_counters_cpu(&c, 1, 101, known(50)); /* started again */
    assert_int_equal(c.ranks[1].cpu_ms.value, 1650);
    metrics_counters_resize(&c, 3);
    assert_int_equal(c.ranks[1].cpu_ms.value, 1650);
    assert_false(c.ranks[2].cpu_ms.is_known);
    metrics_counters_fini(&c);
}

/* ---- a job ---- */

static void a_job(void **state)
{
    (void)state;
    struct options opt;
    char *program[] = {TEXT("train.py"), TEXT("--lr"), NULL};
    static const char *const lines[] = {
        "100 boot addr=127.0.0.1 port=1234",
        "100 frame 0 hello 0 host=box slots=3",
        "101 frame 0 ready 0",
        "102 frame 0 started 0 local_rank=0 pid=100",
        "102 frame 0 started 0 local_rank=1 pid=101",
        "102 frame 0 started 0 local_rank=2 pid=102",
        "103 frame 0 exited 0 local_rank=0 pid=100 end=exit:0",
        "104 frame 0 exited 0 local_rank=2 pid=102 end=signal:9",
    };
    options_init(&opt);
    opt.job_id = "demo";
    opt.program = program;
    struct job *job = job_new(&opt, 1, 0);
    struct job_metrics m;
    job_metrics_look(job, 100, &m);
    assert_int_equal(m.nranks, 0);
    assert_int_equal(m.nnodes, 1);
    assert_string_equal(m.nodes[0].state, "awaited");
    assert_null(m.nodes[0].host);
    assert_false(m.nodes[0].is_up || m.generation_at_ms.is_known);
    job_metrics_fini(&m);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        driven_step(job, lines[i]);
    job_metrics_look(job, 110, &m);
    assert_string_equal(m.program, "train.py");
    assert_int_equal(m.generation_at_ms.value, 101);
    assert_string_equal(m.nodes[0].host, "box");
    assert_true(m.nodes[0].is_up);
    assert_false(m.nodes[0].quiet_ms.is_known);
    assert_int_equal(m.nranks, 3);
    assert_true(m.statuses[0].is_known && m.statuses[0].value == 0);
    assert_false(m.statuses[1].is_known);
    assert_true(m.statuses[2].is_known && m.statuses[2].value == 137);
    job_metrics_fini(&m);
    job_free(job);
}

/* A node of another process is heard; a lost one is not up. */
static void another_node(void **state)
{
    (void)state;
    struct options opt;
    static const char *const lines[] = {
        "100 boot addr=127.0.0.1 port=1234",
        "100 frame 0 hello 0 host=a slots=1",
        "150 frame 5 hello 0 host=b slots=1",
    };
    options_init(&opt);
    opt.nnodes_min = opt.nnodes_max = 2;
    struct job *job = job_new(&opt, 2, 1000);
    struct job_metrics m;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        driven_step(job, lines[i]);
    job_metrics_look(job, 400, &m);
    assert_false(m.nodes[0].quiet_ms.is_known);
    assert_true(m.nodes[1].is_up && m.nodes[1].quiet_ms.is_known);
    assert_int_equal(m.nodes[1].quiet_ms.value, 250);
    job_metrics_fini(&m);
    job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family),           cmocka_unit_test(the_page),
        cmocka_unit_test(what_is_not_known),  cmocka_unit_test(families_are_blocks),
        cmocka_unit_test(counters_only_grow), cmocka_unit_test(a_job),
        cmocka_unit_test(another_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

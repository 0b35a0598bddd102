/* Slurm's lists (every row of slurm.tsv), and what the environments of launchers say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/engine_detect.h"
#include "launcher/core/hostfile.h"
#include "table.h"

static int parse_row(struct table *t, struct buf *hosts, struct host_fault *f)
{
    struct host_list list;
    struct err e;
    if (hostfile_parse_option(table_text(t, "nodelist"), "SLURM_JOB_NODELIST", &list, f, &e)
        != 0)
        return -1;
    for (size_t i = 0; i < list.n; i++)
        buf_addf(hosts, "%s%s", i ? "," : "", list.hosts[i].name);
    host_list_fini(&list);
    return 0;
}

static void slurm_lists(void **state)
{
    (void)state;
    struct table *t = table_open("slurm.tsv");
    int passed = 0;
    while (table_next(t)) {
        struct host_fault f;
        struct buf hosts;
        const char *error = table_text(t, "error");
        host_fault_init(&f);
        buf_init(&hosts, 0);
        int rc = parse_row(t, &hosts, &f);
        print_message("%s %s", table_text(t, "id"), rc ? buf_str(&f.text) : "\n");
        assert_int_equal(rc, error ? -1 : 0);
        assert_string_equal(host_error_name(f.class), error ? error : "OK");
        if (error) {
            assert_int_equal(f.col, table_int(t, "col", -1));
        } else {
            assert_string_equal(buf_str(&hosts), table_text(t, "hosts"));
        }
        host_fault_fini(&f);
        buf_fini(&hosts);
        passed++;
    }
    print_message("slurm.tsv: %d rows passed\n", passed);
    assert_int_equal(passed, 17);
    table_close(t);
}

enum { PID = 4711, VARIABLES = 24 };

/* Environments as measured, and what engine_format says of them. */
static const struct {
    const char *name;
    const char *environment[VARIABLES];
    const char *want;
    bool in_allocation;
} cases[] = {
    {"nothing", {"PATH=/bin", NULL}, "", false},
    {"a batch script has PROCID but no step",
     {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_PROCID=0", "SLURM_LOCALID=0",
      "SLURM_NODEID=0", "SLURM_NTASKS=2", "SLURMD_NODENAME=n1", "SLURM_TASK_PID=4711", NULL},
     "in Slurm allocation 7 of n[1-2]",
     true},
    {"salloc on a login node has no NTASKS",
     {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", NULL},
     "in Slurm allocation 7 of n[1-2]",
     true},
    {"the shell of an interactive salloc",
     {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_STEP_ID=4294967290",
      "SLURM_STEP_NUM_TASKS=1", "SLURM_NTASKS=1", "SLURM_PROCID=0", "SLURMD_NODENAME=n1", NULL},
     "in Slurm allocation 7 of n[1-2]",
     true},
    {"a step that disagrees with the number of tasks is an outer one",
     {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_STEP_ID=0",
      "SLURM_STEP_NUM_TASKS=1", "SLURM_NTASKS=2", "SLURM_PROCID=0", NULL},
     "in Slurm allocation 7 of n[1-2]",
     true},
    {"one task a node",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=2", "SLURM_NTASKS=2",
      "SLURM_STEP_NUM_NODES=2", "SLURM_STEP_TASKS_PER_NODE=1(x2)", "SLURM_PROCID=1",
      "SLURM_LOCALID=0", "SLURM_NODEID=1", "SLURMD_NODENAME=n2", "SLURM_TASK_PID=4711", NULL},
     "started by Slurm, task 1 of 2, node 1 of 2 (n2)",
     false},
    {"several tasks a node: the node is not the task",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4", "SLURM_NTASKS=4",
      "SLURM_STEP_NUM_NODES=2", "SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_PROCID=3",
      "SLURM_NODEID=1", "SLURMD_NODENAME=n2", NULL},
     "started by Slurm, task 3 of 4 (n2)",
     false},
    {"Slurm's own PMI, in a task that it started",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=1", "SLURM_NTASKS=1",
      "SLURM_STEP_NUM_NODES=1", "SLURM_STEP_TASKS_PER_NODE=1", "SLURM_PROCID=0",
      "SLURM_NODEID=0", "SLURM_TASK_PID=4711", "PMI_RANK=0", "PMI_SIZE=1", "PMI_FD=9", NULL},
     "started by Slurm, task 0 of 1, node 0 of 1",
     false},
    {"mpirun in an allocation: node 1 has the daemon's step",
     {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[0-2]", "SLURM_STEP_ID=0",
      "SLURM_STEP_NUM_TASKS=2", "SLURM_NTASKS=2", "SLURM_STEP_NUM_NODES=2",
      "SLURM_STEP_TASKS_PER_NODE=1(x2)", "SLURM_PROCID=0", "SLURM_NODEID=0",
      "SLURM_TASK_PID=4000", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=3",
      "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1", "PMIX_RANK=1",
      "PMIX_HOSTNAME=n1", NULL},
     "started by Open MPI, task 1 of 3, node 1 of 3 (n1)",
     false},
    {"Open MPI, two a node",
     {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=1",
      "OMPI_COMM_WORLD_LOCAL_SIZE=2", NULL},
     "started by Open MPI, task 1 of 2",
     false},
    {"Hydra",
     {"PMI_RANK=2", "PMI_SIZE=3", "PMI_FD=6", "HYDI_CONTROL_FD=7", "MPI_LOCALRANKID=0",
      "MPI_LOCALNRANKS=1", NULL},
     "started by Hydra, task 2 of 3, node 2 of 3",
     false},
    {"Flux",
     {"FLUX_TASK_RANK=1", "FLUX_TASK_LOCAL_ID=0", "FLUX_JOB_SIZE=2", "FLUX_JOB_NNODES=2",
      "PMI_RANK=1", "PMI_SIZE=2", NULL},
     "started by Flux, task 1 of 2, node 1 of 2",
     false},
    {"an Indexed Job",
     {"JOB_COMPLETION_INDEX=3", NULL},
     "index 3 of a Kubernetes Indexed Job",
     false},
    {"what is no number is not there",
     {"JOB_COMPLETION_INDEX=x", "OMPI_COMM_WORLD_RANK=", "PMI_RANK=-1", NULL},
     "",
     false},
};

static void environments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct engine_view view;
        struct buf text;
        buf_init(&text, 0);
        engine_detect(cases[i].environment, PID, &view);
        engine_format(&view, &text);
        print_message("%s: %s\n", cases[i].name, buf_str(&text));
        assert_string_equal(buf_str(&text), cases[i].want);
        assert_int_equal(view.in_allocation, cases[i].in_allocation);
        buf_fini(&text);
    }
}

static struct engine_view view_of(const char *name)
{
    struct engine_view view;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, name) == 0) {
            engine_detect(cases[i].environment, PID, &view);
            return view;
        }
    fail_msg("no case %s", name);
    engine_detect(NULL, PID, &view);
    return view;
}

static void ways_to_start(void **state)
{
    (void)state;
    static const char salloc[] = "salloc on a login node has no NTASKS",
                      batch[] = "a batch script has PROCID but no step",
                      task[] = "one task a node";
    static const struct {
        const char *environment;
        struct engine_request request;
        int want;         /* -1: refused */
        const char *says; /* and that in these words */
    } rows[] = {
        {"nothing", {START_AUTO, false, false, 1}, START_LOCAL, NULL},
        {"nothing", {START_AUTO, true, false, 1}, START_SSH, NULL},
        {"nothing", {START_AUTO, false, false, 2}, START_MANUAL, NULL},
        {"nothing", {START_AUTO, true, true, 2}, START_MANUAL, NULL},
        {salloc, {START_AUTO, false, false, 1}, START_SLURM, NULL},
        {salloc, {START_AUTO, true, false, 1}, START_SLURM, NULL},
        {batch, {START_AUTO, false, false, 1}, START_SLURM, NULL},
        {task, {START_AUTO, false, false, 2}, -1, "--rdzv-endpoint"},
        {task, {START_AUTO, false, true, 2}, START_MANUAL, NULL},
        {"Hydra", {START_AUTO, false, false, 1}, -1, "--rdzv-endpoint"},
        {"Slurm's own PMI, in a task that it started",
         {START_AUTO, false, false, 1},
         START_LOCAL,
         NULL},
        {"an Indexed Job", {START_AUTO, false, true, 4}, START_MANUAL, NULL},
        /* asked for by name */
        {salloc, {START_SSH, true, false, 1}, START_SSH, NULL},
        {salloc, {START_SSH, false, false, 1}, START_SSH, NULL},
        {salloc, {START_SLURM, false, false, 1}, START_SLURM, NULL},
        {salloc, {START_MPI, false, false, 1}, START_MPI, NULL},
        {salloc, {START_MANUAL, false, false, 1}, START_LOCAL, NULL},
        {"nothing", {START_MPI, true, false, 1}, START_MPI, NULL},
        {"nothing", {START_MANUAL, false, true, 2}, START_MANUAL, NULL},
        {"nothing", {START_SLURM, true, false, 1}, -1, "no Slurm allocation"},
        {"nothing", {START_SSH, false, false, 1}, -1, "--hostfile"},
        {"nothing", {START_MPI, false, false, 2}, -1, "--hostfile"},
        {"nothing", {START_SSH, true, true, 2}, -1, "--rdzv-endpoint"},
        {"nothing", {START_MANUAL, true, false, 1}, -1, "hosts of a list"},
        {"nothing", {START_MANUAL, false, false, 2}, -1, "--rdzv-endpoint"},
        {task, {START_SSH, true, false, 1}, -1, "--rdzv-endpoint"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct engine_view view = view_of(rows[i].environment);
        enum engine_start launch = START_AUTO;
        struct err e = {ERR_OK, 0, ""};
        int rc = engine_choose(&view, &rows[i].request, &launch, &e);
        print_message("%zu: %s\n", i, rc ? e.text : engine_start_name(launch));
        assert_int_equal(rc, rows[i].want < 0 ? -1 : 0);
        if (rc != 0) {
            assert_int_equal(e.code, ERR_USAGE);
            assert_non_null(strstr(e.text, rows[i].says));
        } else {
            assert_int_equal(launch, rows[i].want);
        }
    }
}

static void names_of_ways(void **state)
{
    (void)state;
    enum engine_start launch;
    assert_int_equal(engine_start_parse(str_from("slurm"), &launch), 0);
    assert_int_equal(launch, START_SLURM);
    assert_int_equal(engine_start_parse(str_from("local"), &launch),
                     -1); /* nobody asks for it */
    assert_int_equal(engine_start_parse(str_from("Slurm"), &launch), -1);
    assert_int_equal(engine_start_parse(str_from(""), &launch), -1);
    assert_string_equal(engine_start_name(START_LOCAL), "local");
    assert_string_equal(engine_start_name(START_AUTO), "auto");
}

static void several_tasks_a_node(void **state)
{
    (void)state;
    struct err e = {ERR_OK, 0, ""};
    struct engine_view two = view_of("several tasks a node: the node is not the task");
    struct engine_view one = view_of("one task a node");
    assert_int_equal(engine_check_tasks(&two, 4, &e), -1);
    assert_non_null(strstr(e.text, "8 workers"));
    assert_int_equal(engine_check_tasks(&two, 1, &e), 0);
    assert_int_equal(engine_check_tasks(&one, 4, &e), 0);
}

/* An explicit number ends the matter; two sources have to agree; none is an error. */
static void node_rank(void **state)
{
    (void)state;
    static const struct {
        const char *environment;
        int64_t given, place;
        int want;         /* -1: refused */
        const char *from; /* or what the refusal says */
    } rows[] = {
        {"nothing", -1, -1, -1, "give the number"},
        {"nothing", 5, -1, 5, "--node-rank"},
        {"nothing", -1, 2, 2, "the place in the host list"},
        {"an Indexed Job", -1, -1, 3, "JOB_COMPLETION_INDEX"},
        {"an Indexed Job", 0, 2, 0, "--node-rank"},
        {"an Indexed Job", -1, 2, -1, "JOB_COMPLETION_INDEX says 3"},
        {"one task a node", -1, -1, 1, "SLURM_NODEID"},
        {"one task a node", -1, 1, 1, "SLURM_NODEID"},
        {"one task a node", -1, 0, -1, "SLURM_NODEID says 1, the place"},
        {"several tasks a node: the node is not the task", -1, -1, -1, "give the number"},
        {"mpirun in an allocation: node 1 has the daemon's step", -1, -1, 1,
         "OMPI_COMM_WORLD_RANK"},
        {"Hydra", -1, -1, 2, "PMI_RANK"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct engine_view view = view_of(rows[i].environment);
        struct err e = {ERR_OK, 0, ""};
        const char *from = "";
        uint32_t rank = 99;
        int rc = engine_node_rank(&view, rows[i].given, rows[i].place, &rank, &from, &e);
        assert_int_equal(rc, rows[i].want < 0 ? -1 : 0);
        if (rc == 0) {
            assert_int_equal(rank, rows[i].want);
            assert_string_equal(from, rows[i].from);
        } else {
            assert_int_equal(e.code, ERR_USAGE);
            assert_non_null(strstr(e.text, rows[i].from));
        }
    }
}

static void place_by_name(void **state)
{
    (void)state;
    struct host_list list;
    struct err e;
    struct engine_view slurm = view_of("one task a node"), none = view_of("nothing");
    assert_int_equal(hostfile_parse_option("n1,n2,login", "--hosts", &list, NULL, &e), 0);
    assert_int_equal(engine_place(&slurm, &list, "login"), 1);
    assert_int_equal(engine_place(&none, &list, "LOGIN"), 2);
    assert_int_equal(engine_place(&none, &list, "login.example.com"), ENGINE_UNKNOWN);
    assert_int_equal(engine_place(&none, &list, NULL), ENGINE_UNKNOWN);
    host_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_lists),   cmocka_unit_test(environments),
        cmocka_unit_test(ways_to_start), cmocka_unit_test(several_tasks_a_node),
        cmocka_unit_test(node_rank),     cmocka_unit_test(place_by_name),
        cmocka_unit_test(names_of_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* node_plan and worker_env as torchrun's command line asks: how many workers, which GPUs they
 * see, their interpreter and arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/node_plan.h"
#include "launcher/core/worker_env.h"

static struct err err;
static const char *const empty[] = {NULL};

static struct device gpus[3] = {
    {.index = 0, .uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000000", .pci = "00000000:01:00.0"},
    {.index = 1, .uuid = "GPU-bbbbbbbb-0000-0000-0000-000000000000", .pci = "00000000:02:00.0"},
    {.index = 2, .uuid = "GPU-cccccccc-0000-0000-0000-000000000000", .pci = "00000000:03:00.0"},
};
static const struct inventory three_gpus = {.devices = gpus, .ndevices = 3};
static const struct inventory no_gpus = {.devices = gpus, .ndevices = 0};

static struct options torchrun_options(char *const *program)
{
    struct options opt;
    options_init(&opt);
    opt.torchrun.is_on = true;
    opt.interpreter = INTERPRETER_PYTHON;
    opt.role = "trainer";
    opt.nproc = 1;
    opt.program = program;
    return opt;
}

static struct node_plan *plan_of(const struct options *opt, const struct facts *facts,
                                 uint32_t n)
{
    const struct order order = {.job_id = "j",
                                .nnodes = 1,
                                .nworkers = n,
                                .world_size = n,
                                .master_addr = "127.0.0.1",
                                .master_port = 1234};
    return node_plan_build(opt, facts, &order, &err);
}

static const char *value(char *const *envp, const char *name)
{
    size_t n = strlen(name);
    for (; *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

static void how_many_workers(void **state)
{
    (void)state;
    enum { FAILS = 99 };
    static const char *const two[] = {"CUDA_VISIBLE_DEVICES=2,0", NULL},
                             *const none[] = {"CUDA_VISIBLE_DEVICES=", NULL},
                             *const wrong[] = {"CUDA_VISIBLE_DEVICES=7", NULL};
    const struct {
        const char *const *environment;
        const struct inventory *inventory;
        enum nproc_source source;
        uint32_t slots;
    } rows[] = {
        {empty, &three_gpus, NPROC_GPUS, 3},    {two, &three_gpus, NPROC_GPUS, 2},
        {two, &three_gpus, NPROC_AUTO, 2},      {empty, &no_gpus, NPROC_GPUS, FAILS},
        {empty, NULL, NPROC_GPUS, FAILS},       {empty, &no_gpus, NPROC_AUTO, 5},
        {empty, NULL, NPROC_AUTO, 5},           {none, &three_gpus, NPROC_AUTO, 5},
        {none, &three_gpus, NPROC_GPUS, FAILS}, {wrong, &three_gpus, NPROC_AUTO, FAILS},
        {empty, &no_gpus, NPROC_CPUS, 5},       {empty, NULL, NPROC_CPUS, 5},
        {empty, &three_gpus, NPROC_CPUS, 5},
    };
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct options opt = torchrun_options(program);
        const struct facts facts = {.environment = rows[i].environment,
                                    .python = "py",
                                    .ncpus = 5,
                                    .inventory = rows[i].inventory};
        uint32_t slots = 0;
        opt.nproc = 0;
        opt.nproc_source = rows[i].source;
        int rc = node_plan_slots(&opt, &facts, &slots, &err);
        if ((rows[i].slots == FAILS) != (rc < 0) || (rc == 0 && slots != rows[i].slots))
            fail_msg("row %zu: %d, %u workers", i, rc, slots);
    }
}

static void gpus_that_no_worker_needs_stay_visible(void **state)
{
    (void)state;
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    struct options opt = torchrun_options(program);
    const struct facts facts = {
        .environment = empty, .python = "py", .ncpus = 4, .inventory = &three_gpus};
    struct node_plan *plan = plan_of(&opt, &facts, 1);
    assert_non_null(plan);
    assert_string_equal(plan->workers[0].cvd, "0,1,2");
    assert_string_equal(plan->workers[0].gpu_index, "0");
    node_plan_free(plan);
    opt.gpus = "1,2"; /* who chooses is obeyed */
    plan = plan_of(&opt, &facts, 1);
    assert_string_equal(plan->workers[0].cvd, "1");
    node_plan_free(plan);
    opt.gpus = NULL;
    opt.binding = BINDING_ISOLATED_VIRTUAL;
    plan = plan_of(&opt, &facts, 2);
    assert_string_equal(plan->workers[1].cvd, "1");
    assert_int_equal(plan->workers[1].env_local_rank, 0);
    node_plan_free(plan);
    opt.torchrun.is_on = false; /* muster's own way */
    opt.binding = BINDING_SHARED;
    plan = plan_of(&opt, &facts, 1);
    assert_string_equal(plan->workers[0].cvd, "0");
    node_plan_free(plan);
}

static void more_workers_than_gpus_are_left_alone(void **state)
{
    (void)state;
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    struct options opt = torchrun_options(program);
    const struct facts facts = {
        .environment = empty, .python = "py", .ncpus = 4, .inventory = &three_gpus};
    opt.nproc = 4;
    uint32_t slots = 0;
    assert_int_equal(node_plan_slots(&opt, &facts, &slots, &err), 0);
    assert_int_equal(slots, 4);
    struct node_plan *plan = plan_of(&opt, &facts, 4);
    assert_non_null(plan);
    assert_true(plan->is_unbound);
    assert_int_equal(plan->binding, BINDING_NONE);
    assert_null(plan->workers[3].cvd);
    assert_int_equal(plan->workers[3].env_local_rank, 3);
    node_plan_free(plan);
    opt.binding = BINDING_ISOLATED_VIRTUAL; /* no GPU to show to the fourth */
    assert_null(plan_of(&opt, &facts, 4));
    opt.binding = BINDING_SHARED;
    opt.torchrun.is_on = false;
    assert_null(plan_of(&opt, &facts, 4));
}

static void expect_argv(const struct options *opt, const struct facts *facts,
                        uint32_t local_rank, const char *expected)
{
    struct node_plan *plan = plan_of(opt, facts, 2);
    struct buf line;
    buf_init(&line, 0);
    assert_non_null(plan);
    for (char *const *arg = node_plan_argv(plan, local_rank); *arg; arg++)
        buf_addf(&line, "%s%s", line.len ? " " : "", *arg);
    assert_string_equal(buf_str(&line), expected);
    buf_fini(&line);
    node_plan_free(plan);
}

static void programs_and_arguments(void **state)
{
    (void)state;
    static const char *const exec[] = {"PYTHON_EXEC=/opt/py", NULL}, *const blank[] = {
                                                                         "PYTHON_EXEC=", NULL};
    char *program[] = {(char *)(uintptr_t) "s",
                       (char *)(uintptr_t) "x${local_rank}y${local_rank}",
                       (char *)(uintptr_t) "$local_rank ${local_rank }", NULL};
    struct options opt = torchrun_options(program);
    struct facts facts = {.environment = empty, .python = "py", .ncpus = 4};
    expect_argv(&opt, &facts, 1, "py -u s x1y1 $local_rank ${local_rank }");
    facts.environment = exec;
    expect_argv(&opt, &facts, 0, "/opt/py -u s x0y0 $local_rank ${local_rank }");
    facts.environment = blank;
    opt.is_module = true;
    expect_argv(&opt, &facts, 0, "py -u -m s x0y0 $local_rank ${local_rank }");
    opt.is_module = false;
    opt.interpreter = INTERPRETER_NONE;
    expect_argv(&opt, &facts, 1, "s x1y1 $local_rank ${local_rank }");
    opt.torchrun.is_on = false;
    expect_argv(&opt, &facts, 1, "s x${local_rank}y${local_rank} $local_rank ${local_rank }");
}

static void the_environment_of_a_worker(void **state)
{
    (void)state;
    static const char *const inherited[] = {"PET_NNODES=1", "PET_ROLE=x", "PET_OTHER=y", NULL};
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    const struct options opt = torchrun_options(program);
    const struct facts facts = {.environment = inherited, .python = "py", .ncpus = 4};
    struct node_plan *plan = plan_of(&opt, &facts, 2);
    assert_non_null(plan);
    struct worker_env *env = worker_env_new(&facts, plan, "logs/attempt_0");
    char *const *envp = worker_env_build(env, 1);
    assert_string_equal(value(envp, "ROLE_NAME"), "trainer");
    assert_string_equal(value(envp, "TORCHELASTIC_ERROR_FILE"), "logs/attempt_0/1/error.json");
    assert_null(value(envp, "PET_NNODES"));
    assert_null(value(envp, "PET_ROLE"));
    assert_string_equal(value(envp, "PET_OTHER"), "y");
    worker_env_free(env);
    env = worker_env_new(&facts, plan, NULL); /* --log-dir /dev/null */
    assert_string_equal(value(worker_env_build(env, 0), "TORCHELASTIC_ERROR_FILE"), "");
    worker_env_free(env);
    node_plan_free(plan);
}

static void an_outer_launchers_numbers(void **state)
{
    (void)state;
    static const char *const right[] = {"SLURM_PROCID=0",  "SLURM_NTASKS=1",
                                        "SLURM_STEP_ID=3", "OMPI_COMM_WORLD_RANK=0",
                                        "RANK=5",          "TORCHELASTIC_RUN_ID=x",
                                        "SLURM_JOB_ID=7",  NULL},
                             *const wrong[] = {"SLURM_PROCID=1", "SLURM_NTASKS=2",
                                               "SLURM_STEP_ID=3", "SLURM_JOB_ID=7", NULL};
    const struct {
        const char *const *environment;
        enum scheduler_env how;
        uint32_t n;
        bool has_slurm, has_mpi;
    } rows[] = {
        {right, SCHEDULER_ENV_AUTO, 1, true, false},
        {right, SCHEDULER_ENV_AUTO, 2, false, false},
        {wrong, SCHEDULER_ENV_AUTO, 1, false, false},
        {right, SCHEDULER_ENV_HIDE, 1, false, false},
        {right, SCHEDULER_ENV_KEEP, 2, true, true},
        {wrong, SCHEDULER_ENV_KEEP, 1, true, false},
    };
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct options opt = torchrun_options(program);
        const struct facts facts = {
            .environment = rows[i].environment, .python = "py", .ncpus = 4};
        opt.scheduler_env = rows[i].how;
        struct node_plan *plan = plan_of(&opt, &facts, rows[i].n);
        assert_non_null(plan);
        struct worker_env *env = worker_env_new(&facts, plan, NULL);
        char *const *envp = worker_env_build(env, 0);
        assert_int_equal(value(envp, "SLURM_PROCID") != NULL, rows[i].has_slurm);
        assert_int_equal(value(envp, "SLURM_STEP_ID") != NULL, rows[i].has_slurm);
        assert_int_equal(value(envp, "OMPI_COMM_WORLD_RANK") != NULL, rows[i].has_mpi);
        assert_string_equal(value(envp, "SLURM_JOB_ID"), "7");
        assert_string_equal(value(envp, "RANK"), "0");
        assert_string_equal(value(envp, "TORCHELASTIC_RUN_ID"), "j");
        worker_env_free(env);
        node_plan_free(plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_many_workers),
        cmocka_unit_test(gpus_that_no_worker_needs_stay_visible),
        cmocka_unit_test(more_workers_than_gpus_are_left_alone),
        cmocka_unit_test(programs_and_arguments),
        cmocka_unit_test(the_environment_of_a_worker),
        cmocka_unit_test(an_outer_launchers_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* plan, node_plan, worker_env: ranks, program, devices and environment of each worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/node_plan.h"
#include "launcher/core/plan.h"
#include "launcher/core/worker_env.h"
#include "rendezvous/contract.h"

static struct err err;

static struct options options_of(char *const *program, uint32_t nproc)
{
    return (struct options){.nproc = nproc, .program = program, .prefix = "auto"};
}

/* ---- plan ---- */

static void ranks_are_contiguous_by_node(void **state)
{
    (void)state;
    struct order orders[4] = {
        {.nworkers = 8}, {.nworkers = 1}, {.nworkers = 3}, {.nworkers = 2}};
    assert_int_equal(plan_build(orders, 4, &err), 0);
    static const uint32_t first[] = {0, 8, 9, 12};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(orders[i].first_rank, first[i]);
        assert_int_equal(orders[i].world_size, 14);
        assert_int_equal(orders[i].node_rank, i);
        assert_int_equal(orders[i].nnodes, 4);
    }
}

static void a_node_without_workers_is_named(void **state)
{
    (void)state;
    struct order orders[2] = {{.nworkers = 8}, {.nworkers = 0}};
    assert_int_equal(plan_build(orders, 2, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.text, "node 1"));
    assert_non_null(strstr(err.text, "-n N"));
}

static void the_world_has_a_limit(void **state)
{
    (void)state;
    struct order orders[2] = {{.nworkers = INT32_MAX}, {.nworkers = 1}};
    assert_int_equal(plan_build(orders, 2, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
}

/* ---- node_plan ---- */

static void what_a_plan_needs_to_know(void **state)
{
    (void)state;
    static const struct {
        const char *gpus;
        bool needs_gpus, needs_load;
    } rows[] = {{NULL, true, false},       {"all", true, false},   {"0,2", true, false},
                {"none", false, false},    {"n:2", true, false},   {"auto", true, true},
                {"auto:2,^1", true, true}, {"auto:x", true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct options opt = {.gpus = rows[i].gpus};
        assert_int_equal(node_plan_needs_gpus(&opt), rows[i].needs_gpus);
        assert_int_equal(node_plan_needs_load(&opt), rows[i].needs_load);
    }
}

static struct node_plan *node_plan_of(char *const *program, bool is_module,
                                      const struct facts *facts, uint32_t n)
{
    struct options opt = options_of(program, n);
    opt.is_module = is_module;
    const struct order order = {.job_id = "j",
                                .max_restarts = 2,
                                .generation = 1,
                                .nnodes = 2,
                                .node_rank = 1,
                                .first_rank = 4,
                                .nworkers = n,
                                .world_size = 6,
                                .master_addr = "10.0.0.1",
                                .master_port = 1234};
    return node_plan_build(&opt, facts, &order, &err);
}

static void python_programs_get_their_interpreter(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        bool is_module;
        const char *argv[5];
    } rows[] = {
        {"train.py", false, {"py", "-u", "train.py", "arg"}},
        {"dir.py/train", false, {"dir.py/train", "arg"}},
        {".py", false, {".py", "arg"}},
        {"train.pyc", false, {"train.pyc", "arg"}},
        {"pkg.train", true, {"py", "-u", "-m", "pkg.train", "arg"}},
    };
    static const char *const environment[] = {NULL};
    const struct facts facts = {.environment = environment, .python = "py", .ncpus = 4};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *program[] = {(char *)(uintptr_t)rows[i].program, (char *)(uintptr_t) "arg", NULL};
        struct node_plan *plan = node_plan_of(program, rows[i].is_module, &facts, 1);
        assert_non_null(plan);
        size_t n = 0;
        for (; n < 5 && rows[i].argv[n]; n++)
            assert_string_equal(plan->argv[n], rows[i].argv[n]);
        assert_null(plan->argv[n]);
        node_plan_free(plan);
    }
    node_plan_free(NULL);
}

static void a_plan_owns_its_text(void **state)
{
    (void)state;
    static const char *const environment[] = {NULL};
    const struct facts facts = {.environment = environment, .python = "py", .ncpus = 4};
    char word[] = "prog", *program[] = {word, NULL};
    struct node_plan *plan = node_plan_of(program, false, &facts, 2);
    word[0] = 'x';
    assert_string_equal(plan->argv[0], "prog");
    assert_int_equal(plan->workers[1].rank, 5);
    assert_int_equal(plan->workers[1].local_rank, 1);
    struct buf text;
    buf_init(&text, 0);
    node_plan_gpu_format(plan, 0, &text);
    assert_int_equal(text.len, 0);
    buf_fini(&text);
    node_plan_free(plan);
}

static struct device gpus[2] = {
    {.index = 0, .uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000000", .pci = "00000000:01:00.0"},
    {.index = 1, .uuid = "GPU-bbbbbbbb-0000-0000-0000-000000000000", .pci = "00000000:02:00.0"},
};
static const struct inventory two_gpus = {.devices = gpus, .ndevices = 2};

static void workers_are_counted_by_gpus(void **state)
{
    (void)state;
    static const char *const environment[] = {NULL}, *const one[] = {"CUDA_VISIBLE_DEVICES=1",
                                                                     NULL};
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    struct options opt = options_of(program, 0);
    struct facts facts = {.environment = environment, .python = "py", .inventory = &two_gpus};
    uint32_t slots = 9;
    assert_int_equal(node_plan_slots(&opt, &facts, &slots, &err), 0);
    assert_int_equal(slots, 2);
    facts.environment = one;
    assert_int_equal(node_plan_slots(&opt, &facts, &slots, &err), 0);
    assert_int_equal(slots, 1);
    opt.nproc = 2;
    assert_int_equal(node_plan_slots(&opt, &facts, &slots, &err), -1);
    assert_int_equal(err.code, ERR_GPU_REQUEST);
}

static void a_worker_knows_its_gpu(void **state)
{
    (void)state;
    static const char *const environment[] = {"CUDA_VISIBLE_DEVICES=1,0", NULL};
    const struct facts facts = {
        .environment = environment, .python = "py", .ncpus = 4, .inventory = &two_gpus};
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    struct node_plan *plan = node_plan_of(program, false, &facts, 2);
    assert_non_null(plan);
    assert_string_equal(plan->workers[0].gpu_uuid, gpus[1].uuid);
    assert_string_equal(plan->workers[1].gpu_index, "0");
    struct buf text;
    buf_init(&text, 0);
    node_plan_gpu_format(plan, 0, &text);
    assert_string_equal(buf_str(&text), "GPU 1 (GPU-bbbbbbbb)");
    buf_fini(&text);
    node_plan_free(plan);
}

static void a_refused_request_leaves_nothing(void **state)
{
    (void)state;
    static const char *const environment[] = {NULL};
    const struct facts facts = {
        .environment = environment, .python = "py", .inventory = &two_gpus};
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    assert_null(node_plan_of(program, false, &facts, 3));
    assert_int_equal(err.code, ERR_GPU_REQUEST);
}

/* Slot K is the worker that would be local rank K: its GPU is the one of that worker. */
static void chosen_slots_keep_their_gpus(void **state)
{
    (void)state;
    static struct device four[] = {
        {.index = 0,
         .uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000000",
         .pci = "00000000:01:00.0"},
        {.index = 1,
         .uuid = "GPU-bbbbbbbb-0000-0000-0000-000000000000",
         .pci = "00000000:02:00.0"},
        {.index = 2,
         .uuid = "GPU-cccccccc-0000-0000-0000-000000000000",
         .pci = "00000000:03:00.0"},
        {.index = 3,
         .uuid = "GPU-dddddddd-0000-0000-0000-000000000000",
         .pci = "00000000:04:00.0"},
    };
    static const struct inventory four_gpus = {.devices = four, .ndevices = 4};
    static const char *const plain[] = {NULL}, *const turned[] = {"CUDA_VISIBLE_DEVICES=3,1,0",
                                                                  NULL};
    static const struct {
        const char *const *environment;
        uint32_t nproc;
        const char *gpus, *slots;
        enum binding binding;
        uint32_t n;
        const char *index[3], *cvd[3]; /* of each worker */
    } rows[] = {
        {plain, 4, NULL, "0,2", BINDING_SHARED, 2, {"0", "2"}, {"0,2", "0,2"}},
        {plain, 0, NULL, "0,2", BINDING_SHARED, 2, {"0", "2"}, {"0,2", "0,2"}},
        {plain, 0, NULL, "^0", BINDING_SHARED, 3, {"1", "2", "3"}, {"1,2,3", "1,2,3", "1,2,3"}},
        {plain, 4, NULL, "3", BINDING_ISOLATED, 1, {"3"}, {"3"}},
        {plain, 2, "2,3", "1", BINDING_SHARED, 1, {"3"}, {"3"}},
        {turned, 0, NULL, "0,2", BINDING_SHARED, 2, {"3", "0"}, {"3,0", "3,0"}},
    };
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct facts facts = {.environment = rows[i].environment,
                                    .python = "py",
                                    .ncpus = 4,
                                    .inventory = &four_gpus};
        struct options opt = options_of(program, rows[i].nproc);
        opt.gpus = rows[i].gpus;
        opt.slots = rows[i].slots;
        opt.binding = rows[i].binding;
        uint32_t n = 0;
        assert_int_equal(node_plan_slots(&opt, &facts, &n, &err), 0);
        assert_int_equal(n, rows[i].n);
        const struct order order = {
            .job_id = "j", .nnodes = 1, .nworkers = n, .world_size = n, .master_addr = "::1"};
        struct node_plan *plan = node_plan_build(&opt, &facts, &order, &err);
        assert_non_null(plan);
        for (uint32_t k = 0; k < n; k++) {
            assert_string_equal(plan->workers[k].gpu_index, rows[i].index[k]);
            assert_string_equal(plan->workers[k].cvd, rows[i].cvd[k]);
            assert_int_equal(plan->workers[k].local_rank, k);
        }
        node_plan_free(plan);
    }
}

static void slots_without_gpus(void **state)
{
    (void)state;
    static const char *const environment[] = {NULL};
    const struct facts facts = {.environment = environment, .python = "py", .ncpus = 4};
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    struct options opt = options_of(program, 4);
    opt.slots = "1,3";
    uint32_t n = 0;
    assert_int_equal(node_plan_slots(&opt, &facts, &n, &err), 0);
    assert_int_equal(n, 2);
    const struct order order = {
        .job_id = "j", .nnodes = 1, .nworkers = n, .world_size = n, .master_addr = "::1"};
    struct node_plan *plan = node_plan_build(&opt, &facts, &order, &err);
    assert_non_null(plan);
    assert_null(plan->workers[0].gpu_uuid);
    node_plan_free(plan);
    opt.slots = "4";
    assert_int_equal(node_plan_slots(&opt, &facts, &n, &err), -1);
    assert_int_equal(err.code, ERR_HOSTFILE);
    assert_non_null(strstr(err.text, "slots 0..3"));
    opt.slots = "^0,1,2,3";
    assert_int_equal(node_plan_slots(&opt, &facts, &n, &err), -1);
    opt.slots = "0";
    opt.procs_per_gpu = 2;
    assert_null(node_plan_build(&opt, &facts, &order, &err));
    assert_int_equal(err.code, ERR_USAGE);
}

/* ---- worker_env ---- */

static const char *value(char *const *envp, const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);
    for (; *envp; envp++) {
        if (strncmp(*envp, name, n) != 0 || (*envp)[n] != '=')
            continue;
        assert_null(found); /* never twice */
        found = *envp + n + 1;
    }
    return found;
}

static void with_environment(const char *const *environment, uint32_t n, const char *error_dir,
                             void (*check)(char *const *envp, uint32_t local_rank))
{
    const struct facts facts = {.environment = environment, .python = "py", .ncpus = 5};
    char *program[] = {(char *)(uintptr_t) "p", NULL};
    struct node_plan *plan = node_plan_of(program, false, &facts, n);
    assert_non_null(plan);
    struct worker_env *env = worker_env_new(&facts, plan, error_dir);
    for (uint32_t i = 0; i < n; i++)
        check(worker_env_build(env, i), i);
    check(worker_env_build(env, 0), 0); /* building changes nothing */
    worker_env_free(env);
    node_plan_free(plan);
}

static void expect_contract(char *const *envp, uint32_t local_rank)
{
    static const char *const rank[] = {"4", "5"}, *const local[] = {"0", "1"};
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"WORLD_SIZE", "6"},
        {"ROLE_WORLD_SIZE", "6"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"LOCAL_SIZE", "2"},
        {"NODE_RANK", "1"},
        {"GROUP_RANK", "1"},
        {"CROSS_RANK", "1"},
        {"GROUP_WORLD_SIZE", "2"},
        {"CROSS_SIZE", "2"},
        {"ROLE_NAME", "default"},
        {"MASTER_ADDR", "10.0.0.1"},
        {"MASTER_PORT", "1234"},
        {"TORCHELASTIC_RUN_ID", "j"},
        {"MUSTER_JOB_ID", "j"},
        {"TORCHELASTIC_RESTART_COUNT", "1"},
        {"TORCHELASTIC_MAX_RESTARTS", "2"},
        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
        {"MUSTER_BINDING", "shared"},
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
        {"PYTHONUNBUFFERED", "1"},
        {"PYTHONFAULTHANDLER", "1"},
        {"OMP_NUM_THREADS", "2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = value(envp, rows[i].name);
        assert_non_null(got);
        assert_string_equal(got, rows[i].value);
    }
    assert_string_equal(value(envp, "RANK"), rank[local_rank]);
    assert_string_equal(value(envp, "ROLE_RANK"), rank[local_rank]);
    assert_string_equal(value(envp, "LOCAL_RANK"), local[local_rank]);
    assert_string_equal(value(envp, "MUSTER_LOCAL_RANK"), local[local_rank]);
    assert_string_equal(value(envp, "TORCHELASTIC_ERROR_FILE"),
                        local_rank ? "/e/rank-5.error.json" : "/e/rank-4.error.json");
    assert_null(value(envp, "MUSTER_NOTIFY_SOCKET"));
    assert_null(value(envp, "MUSTER_GPU_UUID"));
}

static void the_contract_is_kept(void **state)
{
    (void)state;
    static const char *const empty[] = {NULL};
    with_environment(empty, 2, "/e", expect_contract);
    static const char *const stale[] = {"RANK=9",
                                        "WORLD_SIZE=9",
                                        "LOCAL_RANK=9",
                                        "MASTER_PORT=9",
                                        "CROSS_SIZE=9",
                                        "TORCHELASTIC_RUN_ID=9",
                                        "RANK=8",
                                        "ROLE_NAME=9",
                                        "MUSTER_NOTIFY_SOCKET=9",
                                        "MUSTER_GPU_UUID=9",
                                        NULL};
    with_environment(stale, 2, "/e", expect_contract);
}

static void expect_inherited(char *const *envp, uint32_t local_rank)
{
    (void)local_rank;
    assert_string_equal(value(envp, "PATH"), "/bin");
    assert_string_equal(value(envp, "EMPTY"), "");
    assert_string_equal(value(envp, "RANKED"), "1");
    assert_string_equal(value(envp, "SLURM_JOB_ID"), "7");
    assert_string_equal(value(envp, "OMP_NUM_THREADS"), "");
    assert_string_equal(value(envp, "PYTHONUNBUFFERED"), "0");
    static const char *const gone[] = {
        "SLURM_PROCID",           "OMPI_COMM_WORLD_RANK", "PMI_RANK",
        "TORCHELASTIC_X",         "MUSTER_MASTER_PORT",   "PET_RDZV_ID",
        "TORCHELASTIC_ERROR_FILE"};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        assert_null(value(envp, gone[i]));
    bool has_odd = false;
    for (; *envp; envp++)
        has_odd = has_odd || strcmp(*envp, "no equals sign") == 0;
    assert_true(has_odd);
}

static void the_rest_is_inherited_or_hidden(void **state)
{
    (void)state;
    static const char *const environment[] = {"PATH=/bin",
                                              "EMPTY=",
                                              "RANKED=1",
                                              "SLURM_JOB_ID=7",
                                              "SLURM_PROCID=1",
                                              "PMI_RANK=1",
                                              "OMP_NUM_THREADS=",
                                              "PYTHONUNBUFFERED=0",
                                              "no equals sign",
                                              "TORCHELASTIC_X=",
                                              "OMPI_COMM_WORLD_RANK=1",
                                              "MUSTER_MASTER_PORT=5",
                                              "PET_RDZV_ID=outer",
                                              "TORCHELASTIC_ERROR_FILE=/old",
                                              NULL};
    with_environment(environment, 1, NULL, expect_inherited);
}

static void expect_inherited_devices(char *const *envp, uint32_t local_rank)
{
    (void)local_rank;
    assert_string_equal(value(envp, "CUDA_VISIBLE_DEVICES"), "3,1");
}

static void devices_pass_where_nothing_is_known(void **state)
{
    (void)state;
    static const char *const environment[] = {"CUDA_VISIBLE_DEVICES=3,1", NULL};
    with_environment(environment, 2, NULL, expect_inherited_devices);
}

static void hidden_names(void **state)
{
    (void)state;
    static const char *const hidden[] = {"SLURM_PROCID=1",
                                         "SLURM_STEP_ID=1",
                                         "SLURM_STEP_",
                                         "PMI_RANK=0",
                                         "RANK=1",
                                         "RANK",
                                         "OMPI_COMM_WORLD_LOCAL_RANK=1"};
    static const char *const kept[] = {"SLURM_JOB_ID=1", "SLURM_PROCID_=1", "SLURM_PROCI=1",
                                       "RANK_=1",        "PMI=1",           "",
                                       "=SLURM_PROCID",  "X=SLURM_PROCID"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        assert_true(worker_env_is_hidden(hidden[i]));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_false(worker_env_is_hidden(kept[i]));
}

static void no_name_of_ours_is_one_that_kubernetes_takes(void **state)
{
    (void)state;
#define X(name, ...)                                                                           \
    assert_int_not_equal(strncmp(#name, "MUSTER_PORT", 11), 0);                                \
    assert_int_not_equal(strncmp(#name, "MUSTER_SERVICE_", 15), 0);
    CONTRACT_VARIABLES(X)
#undef X
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_contiguous_by_node),
        cmocka_unit_test(a_node_without_workers_is_named),
        cmocka_unit_test(the_world_has_a_limit),
        cmocka_unit_test(what_a_plan_needs_to_know),
        cmocka_unit_test(python_programs_get_their_interpreter),
        cmocka_unit_test(a_plan_owns_its_text),
        cmocka_unit_test(workers_are_counted_by_gpus),
        cmocka_unit_test(a_worker_knows_its_gpu),
        cmocka_unit_test(a_refused_request_leaves_nothing),
        cmocka_unit_test(chosen_slots_keep_their_gpus),
        cmocka_unit_test(slots_without_gpus),
        cmocka_unit_test(the_contract_is_kept),
        cmocka_unit_test(the_rest_is_inherited_or_hidden),
        cmocka_unit_test(devices_pass_where_nothing_is_known),
        cmocka_unit_test(hidden_names),
        cmocka_unit_test(no_name_of_ours_is_one_that_kubernetes_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

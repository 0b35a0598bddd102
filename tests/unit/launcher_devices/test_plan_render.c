/* plan_env, plan_render, plan_json: what a plan shows is what worker_env makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "launcher/core/plan_env.h"
#include "launcher/core/plan_render.h"
#include "launcher/io/plan_json.h"
#include "vector.h"

static const char *const environment[] = {
    "HOME=/root",        "RANK=77",        "SLURM_PROCID=3",    "CUDA_VISIBLE_DEVICES=2,0,1",
    "OMP_NUM_THREADS=5", "MUSTER_GRACE=9", "PET_LOG_DIR=/logs", NULL,
};

struct fixture {
    struct inventory inv;
    struct facts facts;
    struct options opt;
    struct node_plan *plan;
    struct plan_view view;
};

static void make(struct fixture *f, const char *const *args)
{
    struct err e;
    *f = (struct fixture){.inv = vector_inventory("N4")};
    f->facts = (struct facts){.host = "h",
                              .environment = environment,
                              .python = "python3",
                              .ncpus = 8,
                              .inventory = &f->inv};
    assert_int_equal(options_parse_command(OPTIONS_PLAN, (char *const *)(uintptr_t)args,
                                           environment, &f->opt, &e),
                     0);
    const struct order order = {.job_id = "j",
                                .nnodes = 1,
                                .nworkers = 3,
                                .world_size = 3,
                                .master_addr = "127.0.0.1",
                                .master_port = 4711};
    f->plan = node_plan_build(&f->opt, &f->facts, &order, &e);
    assert_non_null(f->plan);
    f->view = (struct plan_view){&f->opt, &f->facts, f->plan, "/bin/train"};
}

static void drop(struct fixture *f)
{
    node_plan_free(f->plan);
    inventory_fini(&f->inv);
}

static const struct plan_var *find(const struct plan_env *env, const char *name)
{
    for (size_t i = 0; i < env->nvars; i++)
        if (strcmp(env->vars[i].name, name) == 0)
            return &env->vars[i];
    return NULL;
}

static bool has(const char **list, size_t n, const char *entry)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], entry) == 0)
            return true;
    return false;
}

static void variables_are_sorted(void **state)
{
    (void)state;
    const char *const args[] = {"train", NULL};
    struct fixture f;
    struct plan_env env;
    make(&f, args);
    plan_env_init(&env, &f.opt, &f.facts, f.plan, NULL);
    assert_string_equal(find(&env, "RANK")->values[2], "2");
    assert_false(find(&env, "RANK")->is_same);
    assert_true(find(&env, "WORLD_SIZE")->is_same);
    assert_string_equal(find(&env, "CUDA_VISIBLE_DEVICES")->values[0], "2,0,1");
    assert_string_equal(find(&env, "MASTER_PORT")->values[0], "(any free port)");
    assert_null(find(&env, "OMP_NUM_THREADS")); /* it was set and is passed on */
    assert_true(has(env.passed, env.npassed, "OMP_NUM_THREADS=5"));
    assert_true(has(env.passed, env.npassed, "HOME=/root"));
    assert_true(has(env.hidden, env.nhidden, "SLURM_PROCID=3"));
    assert_true(has(env.hidden, env.nhidden, "MUSTER_GRACE=9"));
    assert_false(has(env.hidden, env.nhidden, "RANK=77")); /* written anew */
    assert_false(has(env.passed, env.npassed, "CUDA_VISIBLE_DEVICES=2,0,1"));
    plan_env_fini(&env);
    drop(&f);
}

static void text_has_who_where_and_why(void **state)
{
    (void)state;
    static const char *const words[] = {
        "3 workers on 1 node, binding isolated; nothing was started",
        "which is /bin/train",
        "logs      /logs/j/0/rank-<rank>.out and .err",
        "0    2  GPU-7c22aa01-0000-4000-8000-00000000000c  00000000:B3:00.0  cuda:0",
        "00000000:B3:00.0  cuda:0   0-7 (node 1)",
        "2    1  GPU-1f9b10d2-0000-4000-8000-00000000000b  00000000:65:00.0  cuda:0   any",
        "--grace 9s                       MUSTER_GRACE",
        "--log-dir /logs                  PET_LOG_DIR",
        "--binding isolated               command line",
        "CUDA_VISIBLE_DEVICES=2,0,1 (see muster gpus)",
        "'a b'\\'''",
    };
    const char *const args[] = {"--binding", "isolated", "train", "a b'", NULL};
    struct fixture f;
    struct buf text;
    make(&f, args);
    f.plan->workers[0].cpus = strdup("0-7");
    f.plan->workers[0].mem_node = 1;
    buf_init(&text, 0);
    plan_render(&f.view, &text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(buf_str(&text), words[i]))
            fail_msg("not found: %s\n--- in\n%s", words[i], buf_str(&text));
    assert_null(strstr(buf_str(&text), "HOME=/root"));
    buf_reset(&text);
    f.opt.is_verbose = true;
    plan_render(&f.view, &text);
    assert_non_null(strstr(buf_str(&text), "HOME=/root"));
    buf_fini(&text);
    drop(&f);
}

static void ordinals_under_each_binding(void **state)
{
    (void)state;
    static const struct {
        const char *binding;
        int ordinals[3];
    } rows[] = {{"shared", {0, 1, 2}},
                {"isolated", {0, 0, 0}},
                {"isolated-virtual", {0, 0, 0}},
                {"rotated", {0, 0, 0}},
                {"none", {0, 1, 2}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const args[] = {"--binding", rows[i].binding, "train", NULL};
        struct fixture f;
        struct buf json;
        make(&f, args);
        for (uint32_t r = 0; r < 3; r++)
            assert_int_equal(plan_cuda_ordinal(f.plan, r, 0), rows[i].ordinals[r]);
        assert_int_equal(plan_cuda_ordinal(f.plan, 0, 1), -1);
        buf_init(&json, 0);
        plan_json(&f.view, &json);
        assert_non_null(strstr(buf_str(&json), "\"schema\": \"muster-plan/1\""));
        assert_non_null(strstr(buf_str(&json), "\"stdout\": \"/logs/j/0/rank-2.out\""));
        buf_fini(&json);
        drop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_sorted),
        cmocka_unit_test(text_has_who_where_and_why),
        cmocka_unit_test(ordinals_under_each_binding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

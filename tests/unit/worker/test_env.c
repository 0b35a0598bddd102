/* What the worker makes of a launcher's environment, and what it says when that is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "worker/env.h"

/* ctx: NULL-terminated list of name, value pairs. */
static const char *get(void *ctx, const char *name)
{
    for (const char **pair = ctx; pair[0]; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

#define ENV(...) ((const char *[]){__VA_ARGS__, NULL})

static void accepted(const char **pairs, struct env *env)
{
    struct err e;
    if (env_read(env, get, pairs, &e) < 0)
        fail_msg("%s", e.text);
}

static void refused(const char **pairs, const char *says)
{
    struct env env;
    struct err e;
    assert_int_equal(env_read(&env, get, pairs, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    if (!strstr(e.text, says))
        fail_msg("\"%s\" does not say \"%s\"", e.text, says);
}

static void a_full_environment_is_read(void **state)
{
    (void)state;
    struct env env;
    accepted(ENV("RANK", "5", "WORLD_SIZE", "8", "LOCAL_RANK", "1", "LOCAL_WORLD_SIZE", "4",
                 "GROUP_RANK", "1", "GROUP_WORLD_SIZE", "2", "MASTER_ADDR", "10.0.0.1",
                 "MASTER_PORT", "29500", "MUSTER_JOB_ID", "j", "MUSTER_BINDING", "shared",
                 "MUSTER_GPU_UUID", "GPU-1", "TORCHELASTIC_RESTART_COUNT", "2"),
             &env);
    assert_int_equal(env.rank, 5);
    assert_int_equal(env.nodes, 2);
    assert_int_equal(env.cuda_ordinal, 1);
    assert_int_equal(env.master_port, 29500);
    assert_int_equal(env.generation, 2);
    assert_string_equal(env.job_id, "j");
    assert_string_equal(env.gpu_uuid, "GPU-1");
}

static void the_binding_says_which_device(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *local_rank;
        uint32_t device;
    } rows[] = {{"shared", "3", 3},
                {"isolated", "3", 0},
                {"isolated-virtual", "0", 0},
                {"rotated", "0", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct env env;
        accepted(ENV("RANK", "3", "WORLD_SIZE", "4", "LOCAL_WORLD_SIZE", "4", "MASTER_ADDR",
                     "::1", "MASTER_PORT", "1", "MUSTER_LOCAL_RANK", "3", "LOCAL_RANK",
                     rows[i].local_rank, "MUSTER_BINDING", rows[i].mode),
                 &env);
        assert_int_equal(env.local_rank, 3);
        assert_int_equal(env.cuda_ordinal, rows[i].device);
    }
}

static void a_lone_rank_needs_no_store(void **state)
{
    (void)state;
    struct env env;
    accepted(ENV("RANK", "0", "WORLD_SIZE", "1"), &env);
    assert_null(env.master_addr);
    assert_int_equal(env.local_world_size, 1);
    assert_int_equal(env.nodes, 1);
}

static void what_is_missing_is_named_with_the_right_command(void **state)
{
    (void)state;
    refused(ENV("HOME", "/"),
            "RANK WORLD_SIZE not set; start it with: muster -n 2 muster-worker");
    refused(ENV("RANK", "0"), "WORLD_SIZE not set");
    refused(ENV("RANK", "", "WORLD_SIZE", "1"), "RANK not set");
    refused(ENV("RANK", "0", "WORLD_SIZE", "2"), "MASTER_ADDR MASTER_PORT not set");
}

static void contradictions_are_named(void **state)
{
    (void)state;
#define STORE "MASTER_ADDR", "a", "MASTER_PORT", "1"
    refused(ENV("RANK", "2", "WORLD_SIZE", "2", STORE), "ranks go from 0 to 1");
    refused(ENV("RANK", "-1", "WORLD_SIZE", "2", STORE), "RANK=\"-1\"");
    refused(ENV("RANK", "0", "WORLD_SIZE", "0", STORE), "WORLD_SIZE is 0");
    refused(ENV("RANK", "0", "WORLD_SIZE", "2", "LOCAL_WORLD_SIZE", "3", STORE),
            "does not fit");
    refused(
        ENV("RANK", "0", "WORLD_SIZE", "4", "LOCAL_WORLD_SIZE", "2", "LOCAL_RANK", "2", STORE),
        "local rank 2");
    refused(ENV("RANK", "0", "WORLD_SIZE", "4", "LOCAL_WORLD_SIZE", "2", "GROUP_WORLD_SIZE",
                "1", STORE),
            "one node");
    refused(ENV("RANK", "0", "WORLD_SIZE", "2", "MASTER_ADDR", "a", "MASTER_PORT", "http"),
            "MASTER_PORT");
    refused(ENV("RANK", "0", "WORLD_SIZE", "2", "TORCHELASTIC_USE_AGENT_STORE", "False", STORE),
            "serves no store");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_environment_is_read),
        cmocka_unit_test(the_binding_says_which_device),
        cmocka_unit_test(a_lone_rank_needs_no_store),
        cmocka_unit_test(what_is_missing_is_named_with_the_right_command),
        cmocka_unit_test(contradictions_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

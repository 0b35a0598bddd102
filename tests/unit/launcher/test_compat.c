/* compat: the words of --compat, how many ports, and what workers get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/compat.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/worker_env.h"

static struct err err;
static char *program[] = {(char *)(uintptr_t) "p", NULL};
static const uint16_t ports[] = {100, 101, 102, 103, 104, 105, 106, 107};

static unsigned set_of(const char *list)
{
    unsigned set = 0;
    if (compat_parse("--compat", list, &set, &err) < 0)
        fail_msg("%s: %s", list, err.text);
    return set;
}

static void words(void **state)
{
    (void)state;
    unsigned set = 1;
    assert_int_equal(set_of("jax"), 1u << COMPAT_JAX);
    assert_int_equal(set_of("tf, paddle"), 1u << COMPAT_TF | 1u << COMPAT_PADDLE);
    assert_int_equal(set_of("tf,tf,accelerate-cpu"),
                     1u << COMPAT_TF | 1u << COMPAT_ACCELERATE_CPU);
    assert_int_equal(set_of("none"), 0);
    static const char *const bad[][2] = {
        {"", "known are jax"},  {"jax,", "known are jax"}, {"Jax", "'Jax'"},
        {"jax,none", "'none'"}, {"horovod", "horovodrun"}, {"tf,horovod", "horovodrun"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(compat_parse("MUSTER_COMPAT", bad[i][0], &set, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.text, bad[i][1]));
        assert_ptr_equal(strstr(err.text, "MUSTER_COMPAT"), err.text);
    }
}

static void how_many_ports(void **state)
{
    (void)state;
    assert_int_equal(compat_ports(0, 4), 0);
    assert_int_equal(compat_ports(set_of("accelerate-cpu"), 4), 0);
    assert_int_equal(compat_ports(set_of("jax"), 4), 1);
    assert_int_equal(compat_ports(set_of("tf"), 4), 4);
    assert_int_equal(compat_ports(set_of("paddle"), 4), 5);
    assert_int_equal(compat_ports(set_of("paddle,tf,jax"), 4), 10);
}

static void several_nodes(void **state)
{
    (void)state;
    assert_int_equal(compat_check(set_of("accelerate-cpu"), 2, &err), 0);
    assert_int_equal(compat_check(set_of("jax,tf,paddle"), 1, &err), 0);
    assert_int_equal(compat_check(set_of("accelerate-cpu,tf"), 2, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.text, "--compat=tf"));
    assert_non_null(strstr(err.text, "2 nodes"));
}

/* ---- what workers get ---- */

struct fixture {
    struct options opt;
    struct facts facts;
    struct node_plan *plan;
    struct worker_env *env;
};

static void begin(struct fixture *f, const char *list, const char *const *environment,
                  const struct inventory *inventory, enum binding binding)
{
    const struct order order = {.job_id = "j",
                                .nnodes = 1,
                                .nworkers = 2,
                                .world_size = 2,
                                .master_addr = "127.0.0.1",
                                .master_port = 1234};
    options_init(&f->opt);
    f->opt.compat = list;
    f->opt.nproc = 2;
    f->opt.binding = binding;
    f->opt.program = program;
    f->facts = (struct facts){
        .environment = environment, .python = "py", .ncpus = 4, .inventory = inventory};
    f->plan = node_plan_build(&f->opt, &f->facts, &order, &err);
    assert_non_null(f->plan);
    f->env = worker_env_new(&f->facts, f->plan, NULL);
}

static void end(struct fixture *f)
{
    worker_env_free(f->env);
    node_plan_free(f->plan);
}

/* NULL if it is not there; a failure if it is there twice. */
static const char *value(const struct fixture *f, uint32_t local_rank, const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);
    for (char *const *v = worker_env_build(f->env, local_rank); *v; v++) {
        if (strncmp(*v, name, n) != 0 || (*v)[n] != '=')
            continue;
        assert_null(found);
        found = *v + n + 1;
    }
    return found;
}

static const char *const inherited[] = {"TF_CONFIG=old", "PADDLE_MASTER=old",
                                        "PADDLE_OTHER=kept", NULL};

static void nothing_unless_asked(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, NULL, inherited, NULL, BINDING_SHARED);
    assert_string_equal(value(&f, 0, "TF_CONFIG"), "old");
    assert_string_equal(value(&f, 1, "PADDLE_MASTER"), "old");
    assert_null(value(&f, 0, "JAX_PROCESS_ID"));
    assert_null(value(&f, 0, "ACCELERATE_USE_CPU"));
    end(&f);
}

static void all_at_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "paddle,tf,jax,accelerate-cpu", inherited, NULL, BINDING_SHARED);
    worker_env_set_ports(f.env, ports); /* jax 100, tf 101-102, paddle 103-105 */
    assert_string_equal(value(&f, 1, "JAX_COORDINATOR_ADDRESS"), "127.0.0.1:100");
    assert_string_equal(value(&f, 1, "JAX_NUM_PROCESSES"), "2");
    assert_string_equal(value(&f, 1, "JAX_PROCESS_ID"), "1");
    assert_null(value(&f, 1, "JAX_LOCAL_DEVICE_IDS"));
    assert_string_equal(value(&f, 0, "ACCELERATE_USE_CPU"), "true");
    assert_string_equal(value(&f, 1, "TF_CONFIG"),
                        "{\"cluster\": {\"worker\": [\"127.0.0.1:101\",\"127.0.0.1:102\"]}, "
                        "\"task\": {\"type\": \"worker\", \"index\": 1}}");
    assert_string_equal(value(&f, 0, "PADDLE_MASTER"), "127.0.0.1:103");
    assert_string_equal(value(&f, 0, "PADDLE_TRAINER_ENDPOINTS"),
                        "127.0.0.1:104,127.0.0.1:105");
    assert_string_equal(value(&f, 1, "PADDLE_CURRENT_ENDPOINT"), "127.0.0.1:105");
    assert_string_equal(value(&f, 1, "PADDLE_TRAINER_ID"), "1");
    assert_string_equal(value(&f, 1, "PADDLE_TRAINERS_NUM"), "2");
    assert_string_equal(value(&f, 1, "PADDLE_LOCAL_SIZE"), "2");
    assert_string_equal(value(&f, 1, "PADDLE_NNODES"), "1");
    assert_string_equal(value(&f, 1, "PADDLE_OTHER"), "kept");
    assert_string_equal(value(&f, 1, "RANK"), "1");
    end(&f);
}

static void ports_that_are_not_known_yet(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "jax", inherited, NULL, BINDING_SHARED);
    assert_string_equal(value(&f, 0, "JAX_COORDINATOR_ADDRESS"), "127.0.0.1:(free port)");
    end(&f);
}

static void devices(void **state)
{
    (void)state;
    static struct device gpus[2] = {
        {.index = 0,
         .uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000000",
         .pci = "00000000:01:00.0"},
        {.index = 1,
         .uuid = "GPU-bbbbbbbb-0000-0000-0000-000000000000",
         .pci = "00000000:02:00.0"},
    };
    static const struct inventory two = {.devices = gpus, .ndevices = 2};
    static const char *const none[] = {NULL};
    const struct {
        enum binding binding;
        const char *ids[2];
    } rows[] = {{BINDING_SHARED, {"0", "1"}}, {BINDING_ISOLATED, {"0", "0"}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        begin(&f, "jax,paddle", none, &two, rows[i].binding);
        for (uint32_t r = 0; r < 2; r++) {
            assert_string_equal(value(&f, r, "JAX_LOCAL_DEVICE_IDS"), rows[i].ids[r]);
            assert_string_equal(value(&f, r, "FLAGS_selected_gpus"), rows[i].ids[r]);
        }
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),         cmocka_unit_test(how_many_ports),
        cmocka_unit_test(several_nodes), cmocka_unit_test(nothing_unless_asked),
        cmocka_unit_test(all_at_once),   cmocka_unit_test(ports_that_are_not_known_yet),
        cmocka_unit_test(devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

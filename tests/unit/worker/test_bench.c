/* The order of phases around the sizes, on one rank with a host backend that takes its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "worker/backend_host.h"
#include "worker/bench.h"

enum { SIZES = 9, OPERATION_US = 500000, DEADLINE_MS = 4000 };

static struct backend_ops slow_ops;
static int (*run_at_once)(struct backend *b, const struct operation *op, uint64_t offset,
                          struct err *e);
static int runs;

static int run(struct backend *b, const struct operation *op, uint64_t offset, struct err *e)
{
    if (runs++ < SIZES)
        usleep(OPERATION_US);
    return run_at_once(b, op, offset, e);
}

static struct backend *slow_backend(void)
{
    char name[SHARED_NAME_MAX];
    const struct host_setup setup = {
        .shared = shared_create(1, host_slots(1), host_slot_bytes(1), name, NULL),
        .nranks = 1,
        .local_ranks = 1,
        .nodes = 1};
    struct backend *b = backend_host_new(&setup);
    slow_ops = *b->ops;
    run_at_once = slow_ops.run;
    slow_ops.run = run;
    b->ops = &slow_ops;
    return b;
}

static int sweep(void)
{
    const struct env env = {.world_size = 1, .local_world_size = 1, .nodes = 1, .job_id = ""};
    char *argv[] = {(char[]){"muster-worker"}, (char[]){"-b8"}, (char[]){"-e2K"},
                    (char[]){"-n1"}, (char[]){"-c0"}};
    struct options o;
    struct result result;
    struct err e;
    if (options_parse(&o, 5, argv, &e) < 0)
        return 90;
    o.deadline_ms[PHASE_warm] = DEADLINE_MS;
    result_init(&result);
    result.world_size = 1;
    struct bench b = {.env = &env,
                      .options = &o,
                      .backend = slow_backend(),
                      .phases = phases_new(&env, &o, NULL, &e),
                      .result = &result,
                      .max_bytes = 2048,
                      .is_host = true};
    int status = bench_run(&b, &e);
    return status ? status : result.nrows == 2 * SIZES ? 0 : 91;
}

/* In all they take longer than the deadline. A process of its own, since the watchdog ends it.
 */
static void a_warm_up_has_its_deadline_for_each_size(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(100);
        _exit(sweep());
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_up_has_its_deadline_for_each_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

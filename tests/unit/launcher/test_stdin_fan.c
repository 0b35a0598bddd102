/* stdin_fan: what nobody reads is left where it is, or read and lost where others must not
 * wait.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "launcher/io/stdin_fan.h"

static uv_loop_t loop;
static struct watch_set *watches;
static struct stdin_fan *fan;
static int source[2]; /* of the fan; its other end does not block */

static int setup(void **state)
{
    (void)state;
    struct err e;
    signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&loop) < 0 || pipe(source) < 0 || !(watches = watch_set_new(&loop, &e)))
        return -1;
    fan = stdin_fan_new(watches, source[0]);
    return fcntl(source[1], F_SETFL, O_NONBLOCK);
}

static int teardown(void **state)
{
    (void)state;
    stdin_fan_free(fan);
    watch_set_close(watches);
    uv_run(&loop, UV_RUN_DEFAULT);
    close(source[0]);
    close(source[1]);
    return uv_loop_close(&loop);
}

enum { MUCH = 4 << 20 };

/* How much of it is taken until nothing moves any more. */
static size_t feed(void)
{
    static char bytes[64 * 1024];
    size_t n = 0;
    for (int idle = 0; idle < 3 && n < MUCH;) {
        ssize_t k = write(source[1], bytes, sizeof bytes);
        n += k > 0 ? (size_t)k : 0;
        idle = k > 0 ? 0 : idle + 1;
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    return n;
}

/* A worker that closes its input at once. */
static void begin_with_a_closed_one(void)
{
    int fd;
    struct err e;
    stdin_fan_begin(fan, 1);
    assert_int_equal(stdin_fan_add(fan, 0, &fd, &e), 0);
    close(fd);
    stdin_fan_start(fan);
}

static void test_kept(void **state)
{
    (void)state;
    begin_with_a_closed_one();
    assert_true(feed() < MUCH);
}

static void test_dropped(void **state)
{
    (void)state;
    stdin_fan_never_stall(fan);
    begin_with_a_closed_one();
    assert_true(feed() >= MUCH);
    stdin_fan_begin(fan, 0); /* the workers are reaped, those of other nodes are not */
    stdin_fan_start(fan);
    assert_true(feed() >= MUCH);
}

static void test_kept_for_the_next(void **state)
{
    (void)state;
    stdin_fan_never_stall(fan);
    stdin_fan_begin(fan, 1);
    assert_true(feed() < MUCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_for_the_next, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* line_queue: nothing waits for a reader; lines arrive whole or not at all, and losses count.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/log.h"
#include "launcher/io/line_queue.h"

static uv_loop_t loop;

static int setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_ERROR);
    return uv_loop_init(&loop);
}

static int teardown(void **state)
{
    (void)state;
    return uv_loop_close(&loop);
}

static uint64_t add_numbers(struct line_queue *q, unsigned first, unsigned n)
{
    uint64_t nadded = 0;
    char line[128];
    for (unsigned i = first; i < first + n; i++) {
        int k = snprintf(line, sizeof line, "%08u %099d\n", i, 0);
        nadded += line_queue_add(q, line, (size_t)k);
    }
    return nadded;
}

/* Reads on while the loop runs, until the writer has gone. */
static void drain(int fd, struct buf *out)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (;;) {
        char part[65536];
        ssize_t n = read(fd, part, sizeof part);
        if (n == 0)
            return;
        if (n > 0)
            buf_add(out, part, (size_t)n);
        else
            uv_run(&loop, UV_RUN_ONCE);
    }
}

static void check_lines(const struct buf *text, uint64_t n)
{
    uint64_t lines = 0;
    unsigned last = 0;
    for (const char *p = text->data; p < text->data + text->len; p += 109, lines++) {
        unsigned number = (unsigned)strtoul(p, NULL, 10);
        assert_int_equal(p[108], '\n');
        assert_true(lines == 0 || number > last);
        last = number;
    }
    assert_int_equal(lines, n);
}

static void slow_reader(int out, int in)
{
    struct line_queue *q = line_queue_new(&loop, out, "test");
    uint64_t nadded = add_numbers(q, 0, 30000); /* 3 MiB, and nobody reads */
    assert_true(nadded > 1024 * 1024 / 109 && nadded < 30000);
    assert_int_equal(line_queue_take_lost(q), 0); /* no room to tell it yet */
    struct buf text;
    buf_init(&text, 0);
    while (uv_run(&loop, UV_RUN_NOWAIT), text.len < 900 * 1024) {
        char part[65536];
        ssize_t n = read(in, part, sizeof part);
        assert_true(n > 0);
        buf_add(&text, part, (size_t)n);
    }
    assert_int_equal(line_queue_take_lost(q), 30000 - nadded);
    assert_int_equal(line_queue_take_lost(q), 0);
    nadded += add_numbers(q, 40000, 10);
    line_queue_close(q, 60000);
    drain(in, &text);
    uv_run(&loop, UV_RUN_DEFAULT);
    check_lines(&text, nadded);
    buf_fini(&text);
    close(in);
}

static void a_pipe(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    slow_reader(fds[1], fds[0]);
}

static void a_socket(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    slow_reader(fds[1], fds[0]);
}

static void flags_stay(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    int shared = dup(fds[1]);
    struct line_queue *q = line_queue_new(&loop, fds[1], "test");
    add_numbers(q, 0, 10);
    assert_false(fcntl(shared, F_GETFL) & O_NONBLOCK);
    line_queue_close(q, 60000);
    uv_run(&loop, UV_RUN_DEFAULT);
    close(shared);
    close(fds[0]);
}

static void nobody_ever_reads(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct line_queue *q = line_queue_new(&loop, fds[1], "test");
    add_numbers(q, 0, 30000);
    line_queue_close(q, 1);
    uv_run(&loop, UV_RUN_DEFAULT); /* ends */
    close(fds[0]);
}

static void the_reader_goes(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct line_queue *q = line_queue_new(&loop, fds[1], "test");
    add_numbers(q, 0, 30000);
    close(fds[0]);
    assert_int_equal(add_numbers(q, 0, 1), 0); /* full, and not yet noticed */
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(add_numbers(q, 0, 10), 10); /* swallowed */
    line_queue_close(q, 60000);
    uv_run(&loop, UV_RUN_DEFAULT);
}

static void a_file(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    struct line_queue *q = line_queue_new(&loop, dup(fileno(f)), "test");
    assert_int_equal(add_numbers(q, 0, 30000), 30000);
    line_queue_close(q, 60000);
    uv_run(&loop, UV_RUN_DEFAULT);
    fseek(f, 0, SEEK_END);
    assert_int_equal(ftell(f), 30000L * 109);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pipe, setup, teardown),
        cmocka_unit_test_setup_teardown(a_socket, setup, teardown),
        cmocka_unit_test_setup_teardown(flags_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_ever_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(the_reader_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

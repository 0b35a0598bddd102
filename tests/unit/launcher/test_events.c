/* events: whose event it is with several nodes, whose links are not numbered as nodes are; and
 * a verdict for each generation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "driven.h"
#include "launcher/io/events.h"

static const struct options options = {.job_id = "job",
                                       .nnodes_min = 2,
                                       .nnodes_max = 2,
                                       .max_restarts = 1,
                                       .join_timeout_ms = 60000,
                                       .grace_ms = 1000,
                                       .restart_delay_max_ms = 1000};

static void on_step(void *ctx, const struct job *job, const struct event *seen,
                    const struct effects *effects)
{
    events_step(ctx, job, seen, effects);
}

/* What a job of two nodes writes while these events come. */
static void write_events(const char *const *lines, struct buf *out)
{
    char path[] = "/tmp/test_events.XXXXXX", part[4096];
    struct err e;
    uv_loop_t loop;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct events *ev = events_open(&loop, path, &options, &e);
    assert_non_null(ev);
    struct job *job = job_new(&options, 2, 0);
    for (; *lines; lines++)
        driven_watch(job, *lines, on_step, ev);
    events_close(ev);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    job_free(job);
    for (ssize_t n; (n = read(fd, part, sizeof part)) > 0;)
        buf_add(out, part, (size_t)n);
    close(fd);
    unlink(path);
}

static void test_several_nodes(void **state)
{
    (void)state;
    static const char *const lines[] = {"0 boot addr=10.0.0.1 port=29500",
                                        "1 frame 5 hello 0 host=b slots=2",
                                        "1 frame 2 hello 0 host=a slots=1",
                                        "2 frame 5 ready 0",
                                        "2 frame 2 ready 0",
                                        "3 frame 5 started 0 local_rank=1 pid=77",
                                        "4 frame 2 started 0 local_rank=0 pid=66",
                                        "5 frame 5 exited 0 local_rank=1 pid=77 end=exit:0",
                                        "6 frame 5 started 0 local_rank=2 pid=88",
                                        "6 frame 9 started 0 local_rank=0 pid=99",
                                        NULL};
    struct buf text;
    buf_init(&text, 0);
    write_events(lines, &text);
    const char *said = buf_str(&text);
    assert_non_null(strstr(said, "\"rank\":2,\"local_rank\":1,\"host\":\"b\",\"pid\":77}"));
    assert_non_null(strstr(said, "\"rank\":0,\"local_rank\":0,\"host\":\"a\",\"pid\":66}"));
    assert_non_null(
        strstr(said, "\"rank\":2,\"local_rank\":1,\"host\":\"b\",\"pid\":77,\"end\""));
    assert_null(strstr(said, "\"pid\":88"));
    assert_null(strstr(said, "\"pid\":99"));
    buf_fini(&text);
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;
    while ((text = strstr(text, word))) {
        n++;
        text += strlen(word);
    }
    return n;
}

static void test_verdicts(void **state)
{
    (void)state;
    static const char *const lines[] = {"0 boot addr=10.0.0.1 port=29500",
                                        "1 frame 1 hello 0 host=a slots=1",
                                        "1 frame 2 hello 0 host=b slots=1",
                                        "2 frame 1 ready 0",
                                        "2 frame 2 ready 0",
                                        "3 frame 1 started 0 local_rank=0 pid=66",
                                        "4 frame 1 exited 0 local_rank=0 pid=66 end=exit:3",
                                        "5 frame 1 reaped 0",
                                        "5 frame 2 reaped 0",
                                        "6 store_ready generation=1",
                                        "7 frame 1 refused 1 err=USAGE:bad_folder",
                                        "7 frame 2 ready 1",
                                        "8 frame 1 reaped 1",
                                        "8 frame 2 reaped 1",
                                        NULL};
    struct buf text;
    buf_init(&text, 0);
    write_events(lines, &text);
    assert_int_equal(count(buf_str(&text), "\"type\":\"verdict\""), 2);
    assert_int_equal(count(buf_str(&text), "\"kind\":\"worker\""), 1);
    assert_int_equal(count(buf_str(&text), "bad_folder"), 1);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_nodes),
        cmocka_unit_test(test_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

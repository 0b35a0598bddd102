/* junit: a case a rank, and text that XML can hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "driven.h"
#include "launcher/core/junit.h"

static struct options options(void)
{
    return (struct options){.grace_ms = 25000, .job_id = "a<b"};
}

static char *after(const char *const *lines)
{
    const struct options opt = options();
    struct job *job = driven_job(&opt, lines);
    struct buf out;
    buf_init(&out, 0);
    junit_format(job, NULL, &opt, 1234, &out);
    job_free(job);
    return buf_steal(&out);
}

static void a_case_a_rank(void **state)
{
    (void)state;
    const char *const lines[] = {
        "0 boot addr=127.0.0.1 port=1234",
        "0 frame 0 hello 0 host=box slots=3",
        "0 frame 0 ready 0",
        "1 frame 0 started 0 local_rank=0 pid=100",
        "1 frame 0 started 0 local_rank=1 pid=101",
        "1 frame 0 started 0 local_rank=2 pid=102",
        "5 frame 0 exited 0 local_rank=0 pid=100 end=exit:0 gpu=- tail=-",
        "1007 frame 0 exited 0 local_rank=1 pid=101 end=exit:7 gpu=- tail=a<b error=\"x\"&y",
        "1010 frame 0 exited 0 local_rank=2 pid=102 end=signal:15 gpu=- tail=-",
        "1011 frame 0 reaped 0",
        NULL};
    char *text = after(lines);
    assert_string_equal(
        text,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuite name=\"muster\" id=\"a&lt;b\" tests=\"3\" failures=\"1\" errors=\"0\" "
        "skipped=\"1\" time=\"1.234\">\n"
        "  <testcase name=\"rank 0\" classname=\"box\" time=\"0.005\"/>\n"
        "  <testcase name=\"rank 1\" classname=\"box\" time=\"1.007\"><failure "
        "message=\"exit 7; &quot;x&quot;&amp;y\">a&lt;b</failure></testcase>\n"
        "  <testcase name=\"rank 2\" classname=\"box\" time=\"1.010\"><skipped "
        "message=\"stopped by muster\"></skipped></testcase>\n"
        "</testsuite>\n");
    free(text);
}

static void what_was_no_ranks_failure(void **state)
{
    (void)state;
    static const char lost[] =
        "3 frame 0 exited 0 local_rank=0 pid=100 end=unknown:0 gpu=- tail=-";
    const char *const lines[] = {"0 boot addr=127.0.0.1 port=1234",
                                 "0 frame 0 hello 0 host=box slots=1",
                                 "0 frame 0 ready 0",
                                 "1 frame 0 started 0 local_rank=0 pid=100",
                                 "2 signal signo=SIGINT",
                                 lost,
                                 "4 frame 0 reaped 0",
                                 NULL};
    char *text = after(lines);
    assert_non_null(strstr(text, "tests=\"2\" failures=\"0\" errors=\"2\" skipped=\"0\""));
    assert_non_null(strstr(text, "<error message=\"SIGINT\">"));
    assert_non_null(strstr(text, "<error message=\"its end is unknown\">"));
    free(text);
}

static void without_a_job(void **state)
{
    (void)state;
    struct err e;
    err_set(&e, ERR_USAGE, "no & such");
    const struct options opt = {0};
    struct buf out;
    buf_init(&out, 0);
    junit_format(NULL, &e, &opt, 0, &out);
    assert_string_equal(
        buf_str(&out),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"muster\" tests=\"1\" "
        "failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0.000\">\n"
        "  <testcase name=\"job\" classname=\"muster\" time=\"0.000\"><error message=\"no "
        "&amp; "
        "such\"></error></testcase>\n</testsuite>\n");
    buf_fini(&out);
}

static void what_xml_cannot_hold(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 0);
    junit_escape("a\x1b[0m\tb\n\xff\xc3\xa9\xef\xbf\xbe\xc3", &out);
    assert_string_equal(buf_str(&out), "a?[0m\tb\n?\xc3\xa9??");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_case_a_rank),
        cmocka_unit_test(what_was_no_ranks_failure),
        cmocka_unit_test(without_a_job),
        cmocka_unit_test(what_xml_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Evidence: unknown is not zero, its text form comes back as it was, and bad lines are named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/evidence.h"
#include "launcher/core/probe_answer.h"

static int parse(const char *text, struct host_evidence *ev, struct err *e)
{
    return evidence_parse(str_from(text), ev, e);
}

static void text_comes_back(void **state)
{
    static const char text[] = "host=n1\n"
                               "ranks=4\n"
                               "memlock=-1\n"
                               "gpus=2\n"
                               "gpu.0.index=0\n"
                               "gpu.0.uuid=GPU-a=b\n"
                               "gpu.1.index=1\n"
                               "settings=0\n";
    struct host_evidence ev = {0};
    struct err e;
    struct buf out;
    (void)state;
    assert_int_equal(parse(text, &ev, &e), 0);
    assert_true(evidence_is(&ev.memlock, -1));
    assert_false(ev.shm_free.is_known);
    assert_true(ev.settings.is_known && !ev.names.is_known);
    buf_init(&out, 0);
    evidence_format(&ev, &out);
    assert_string_equal(buf_str(&out), text);
    buf_fini(&out);
    evidence_clear(&ev);
}

static void what_is_not_known_is_skipped(void **state)
{
    struct host_evidence ev = {0};
    struct err e;
    (void)state;
    assert_int_equal(
        parse("colour=blue\nsoul.0.weight=21\ngpu.0.colour=red\n\nranks=2", &ev, &e), 0);
    assert_true(evidence_is(&ev.ranks, 2));
    assert_int_equal(ev.gpus.n, 1);
    evidence_clear(&ev);
}

static void bad_lines_are_named(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"ranks=2\nnonsense", "line 2: it has no '='"},
        {"ranks=many", "line 1: ranks cannot be many"},
        {"ranks=", "line 1: ranks cannot be"},
        {"ranks=99999999999999999999", "line 1"},
        {"gpu.1.index=0", "line 1: gpu.1.index"}, /* there is no gpu.0 */
        {"gpu.x.index=0", "line 1: gpu.x.index"},
        {"gpu.4096.index=0", "line 1"},
        {"gpu.0.index=-", "line 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_evidence ev = {0};
        struct err e = {0};
        assert_int_equal(parse(rows[i].text, &ev, &e), -1);
        if (!strstr(e.text, rows[i].words))
            fail_msg("%s: %s", rows[i].text, e.text);
        evidence_clear(&ev);
    }
}

static void a_text_ends_at_its_line(void **state)
{
    struct host_evidence ev = {0};
    (void)state;
    evidence_set_text(&ev.host, "a\nranks=9");
    assert_string_equal(ev.host, "a");
    evidence_set_text(&ev.host, NULL);
    assert_null(ev.host);
    evidence_clear(&ev);
}

static void the_probe_may_say_more_or_less(void **state)
{
    struct host_evidence ev = {0};
    (void)state;
    probe_answer_read(STR_LIT("GPU-1234\nsome remark\n"
                              "driver=12080\nruntime = 13000\ncode=35\ncount=\nfuture=1\n"
                              "nccl_version=2.28.9\nnccl_file=\npeers=no\n"),
                      &ev);
    assert_true(evidence_is(&ev.cuda_driver, 12080));
    assert_true(evidence_is(&ev.cuda_runtime, 13000));
    assert_true(evidence_is(&ev.cuda_code, 35));
    assert_false(ev.cuda_peers.is_known);
    assert_string_equal(ev.nccl_version, "2.28.9");
    assert_null(ev.nccl_file);
    evidence_clear(&ev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(what_is_not_known_is_skipped),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(a_text_ends_at_its_line),
        cmocka_unit_test(the_probe_may_say_more_or_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

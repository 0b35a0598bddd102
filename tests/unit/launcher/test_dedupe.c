/* dedupe: equal lines are counted, orders are kept, bounds hold. Virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/dedupe.h"

enum { START = 1000, LATER = START + DEDUPE_WINDOW_MS };

/* Words of ranks in the order in which they come: "0A 1A 0B". */
static void feed(struct dedupe *d, struct dedupe_source *sources, const char *words)
{
    for (const char *p = words; *p; p += p[2] ? 3 : 2)
        dedupe_add(d, &sources[p[0] - '0'], "", p + 1, 1, START);
}

static void drain(struct dedupe *d, uint32_t nsources, uint64_t now_ms, struct buf *out)
{
    for (const struct dedupe_line *line; (line = dedupe_due(d, nsources, now_ms)) != NULL;
         dedupe_drop(d))
        buf_addf(out, "%u%.*s ", line->count, (int)line->text.len, line->text.data);
}

static void equal_lines_are_counted_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *words, *out;
    } rows[] = {
        {"", ""},
        {"0A 1A 2A", "3A "},
        {"0A 0B 1A 1B", "2A 2B "},
        {"0A 0A", "1A 1A "},          /* one rank's own repetition is kept */
        {"0A 0A 1A 1A", "2A 2A "},    /* also with others */
        {"0A 0B 1B 1A", "1A 2B 1A "}, /* no rank's lines change places */
        {"0A 1B 0B 1A", "1A 2B 1A "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dedupe d;
        struct dedupe_source sources[3] = {{0}, {0}, {0}};
        struct buf out;
        buf_init(&out, 0);
        dedupe_init(&d);
        feed(&d, sources, rows[i].words);
        drain(&d, 0, LATER - 1, &out);
        assert_int_equal(out.len, 0);
        drain(&d, 0, LATER, &out);
        assert_string_equal(buf_str(&out), rows[i].out);
        assert_true(dedupe_deadline(&d) == UINT64_MAX);
        buf_fini(&out);
        dedupe_fini(&d);
    }
}

static void what_all_have_written_does_not_wait(void **state)
{
    (void)state;
    struct dedupe d;
    struct dedupe_source sources[3] = {{0}, {0}, {0}};
    struct buf out;
    buf_init(&out, 0);
    dedupe_init(&d);
    feed(&d, sources, "0A 1A 2A 0B");
    drain(&d, 3, START, &out);
    assert_string_equal(buf_str(&out), "3A ");
    assert_int_equal(dedupe_deadline(&d), LATER);
    buf_fini(&out);
    dedupe_fini(&d);
}

static void a_line_alone_has_its_label(void **state)
{
    (void)state;
    struct dedupe d;
    struct dedupe_source sources[2] = {{0}, {0}};
    struct buf out;
    buf_init(&out, 0);
    dedupe_init(&d);
    dedupe_add(&d, &sources[0], "0: ", "one\n", 4, START);
    dedupe_add(&d, &sources[1], "1: ", "one\n", 4, START);
    dedupe_add(&d, &sources[1], "1: ", "two\n", 4, START);
    for (; dedupe_first(&d); dedupe_drop(&d))
        dedupe_line_format(dedupe_first(&d), &out);
    assert_string_equal(buf_str(&out), "x2: one\n1: two\n");
    buf_fini(&out);
    dedupe_fini(&d);
}

static void little_is_held(void **state)
{
    (void)state;
    struct dedupe d;
    struct dedupe_source source = {0};
    struct buf out;
    buf_init(&out, 0);
    dedupe_init(&d);
    for (int i = 0; i < 10 * DEDUPE_LINES_MAX; i++) {
        dedupe_add(&d, &source, "", "A", 1, START);
        drain(&d, 0, START, &out);
        assert_true(d.nlines <= DEDUPE_LINES_MAX);
    }
    assert_int_equal(out.len / 3 + d.nlines, 10 * DEDUPE_LINES_MAX);
    static char big[DEDUPE_BYTES_MAX];
    dedupe_add(&d, &source, "", big, sizeof big, START);
    buf_reset(&out);
    drain(&d, 0, START, &out);
    assert_true(d.nbytes <= DEDUPE_BYTES_MAX);
    buf_fini(&out);
    dedupe_fini(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_lines_are_counted_in_order),
        cmocka_unit_test(what_all_have_written_does_not_wait),
        cmocka_unit_test(a_line_alone_has_its_label),
        cmocka_unit_test(little_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* line: any chunking gives the same bytes; pieces end where lines end, with a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/line.h"
#include "launcher/core/newline_mask.h"

struct pieces {
    struct buf all;   /* the bytes */
    struct buf marks; /* the same with "|" after each piece */
    size_t longest;
};

static void collect(void *ctx, const char *p, size_t n)
{
    struct pieces *out = ctx;
    assert_true(n > 0);
    buf_add(&out->all, p, n);
    buf_add(&out->marks, p, n);
    buf_addc(&out->marks, '|');
    out->longest = n > out->longest ? n : out->longest;
}

static void pieces_fini(struct pieces *p)
{
    buf_fini(&p->all);
    buf_fini(&p->marks);
}

/* Feeds text in chunks of step bytes. */
static struct pieces feed(const char *text, size_t n, size_t step, bool is_single, size_t limit)
{
    struct pieces out = {0};
    struct line line;
    line_init(&line);
    for (size_t i = 0; i < n; i += step)
        line_feed(&line, text + i, n - i < step ? n - i : step, is_single, limit, collect,
                  &out);
    line_flush(&line, collect, &out);
    line_fini(&line);
    return out;
}

static void whole_lines_one_by_one(void **state)
{
    (void)state;
    static const struct {
        const char *text, *pieces;
    } rows[] = {
        {"", ""},
        {"a\n", "a\n|"},
        {"a\nb\n", "a\n|b\n|"},
        {"\n\n", "\n|\n|"},
        {"a", "a|"},
        {"a\nb", "a\n|b|"},
        {"1%\r2%\r", "1%\r|2%\r|"},
        {"1%\r\n2%\r\n", "1%\r\n|2%\r\n|"},
        {"1%\r\r\n", "1%\r|\r\n|"},
        {"\r", "\r|"},
        {"\rbar\rbar\n", "\r|bar\r|bar\n|"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t step = 1; step <= strlen(rows[i].text) + 1; step++) {
            struct pieces out = feed(rows[i].text, strlen(rows[i].text), step, true, 100);
            assert_string_equal(buf_str(&out.marks), rows[i].pieces);
            pieces_fini(&out);
        }
    }
}

static void several_lines_may_go_together(void **state)
{
    (void)state;
    struct pieces out = feed("a\nb\nc", 5, 5, false, 100);
    assert_string_equal(buf_str(&out.marks), "a\nb\n|c|");
    pieces_fini(&out);
}

static void an_unfinished_line_waits(void **state)
{
    (void)state;
    struct pieces out = {0};
    struct line line;
    line_init(&line);
    line_feed(&line, "par", 3, false, 100, collect, &out);
    assert_int_equal(out.all.len, 0);
    line_feed(&line, "tial\nx", 6, false, 100, collect, &out);
    assert_string_equal(buf_str(&out.all), "partial\n");
    line_flush(&line, collect, &out);
    line_flush(&line, collect, &out); /* nothing twice */
    assert_string_equal(buf_str(&out.all), "partial\nx");
    line_feed(&line, NULL, 0, true, 100, collect, &out);
    line_fini(&line);
    pieces_fini(&out);
}

static void a_long_line_passes_in_parts(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'x', sizeof text);
    text[999] = '\n';
    for (size_t step = 1; step < 40; step++) {
        struct pieces out = feed(text, sizeof text, step, true, 64);
        assert_int_equal(out.all.len, sizeof text);
        assert_true(out.longest < 64 + step + 1);
        pieces_fini(&out);
    }
}

/* Bytes of a small alphabet, so that every order of line ends is met. */
static void no_chunking_changes_a_byte(void **state)
{
    (void)state;
    static const char alphabet[] = {'a', '\n', '\r', '\0', '\n', 'b'};
    unsigned seed = 1;
    for (int round = 0; round < 400; round++) {
        char text[60];
        size_t n = (size_t)round % sizeof text;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1103515245 + 12345;
            text[i] = alphabet[seed / 65536 % sizeof alphabet];
        }
        struct pieces want = feed(text, n, n ? n : 1, true, 1000);
        assert_int_equal(want.all.len, n);
        for (size_t step = 1; step < 8; step++) {
            struct pieces got = feed(text, n, step, true, 1000);
            assert_int_equal(got.all.len, n);
            assert_memory_equal(buf_str(&got.all), text, n);
            assert_int_equal(got.marks.len, want.marks.len);
            assert_memory_equal(buf_str(&got.marks), buf_str(&want.marks), want.marks.len);
            pieces_fini(&got);
            got = feed(text, n, step, false, 4);
            assert_int_equal(got.all.len, n);
            assert_memory_equal(buf_str(&got.all), text, n);
            pieces_fini(&got);
        }
        pieces_fini(&want);
    }
}

static void a_prefix_before_each_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fresh, *begun;
    } rows[] = {
        {"", "", ""},
        {"a\n", "> a\n", "a\n"},
        {"a\nb\n", "> a\n> b\n", "a\n> b\n"},
        {"\n\n", "> \n> \n", "\n> \n"},
        {"a\nb", "> a\n> b", "a\n> b"},
        {"1%\r2%\r", "> 1%\r> 2%\r", "1%\r> 2%\r"},
        {"a\r\nb\r\n", "> a\r\n> b\r\n", "a\r\n> b\r\n"},
        {"a\nb\rc\nd", "> a\n> b\r> c\n> d", "a\n> b\r> c\n> d"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int is_begun = 0; is_begun < 2; is_begun++) {
            struct buf out;
            buf_init(&out, 0);
            line_add_prefixed(&out, str_from("> "), is_begun, rows[i].text,
                              strlen(rows[i].text));
            assert_string_equal(buf_str(&out), is_begun ? rows[i].begun : rows[i].fresh);
            buf_fini(&out);
        }
}

/* What line_add_prefixed has to do, byte by byte. */
static void add_slowly(struct buf *out, const char *prefix, bool is_begun, const char *p,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_first = !i || p[i - 1] == '\n' || (p[i - 1] == '\r' && p[i] != '\n');
        if (is_first && (i || !is_begun))
            buf_adds(out, prefix);
        buf_addc(out, p[i]);
    }
}

/* Lines and prefixes of all lengths that are copied in another way, and lines that end where
 * the bytes end. */
static void no_length_changes_a_byte(void **state)
{
    (void)state;
    static const char letters[] = "ab\x8a\x0b\x09";
    unsigned seed = 7;
    for (unsigned round = 0; round < 4000; round++) {
        size_t n = (size_t)rand_r(&seed) % 600, width = 1 + (size_t)rand_r(&seed) % 200;
        char *text = mem_alloc(n + 1, 1), prefix[48] = "";
        memset(prefix, '#', (size_t)rand_r(&seed) % 20);
        for (size_t i = 0; i < n; i++)
            text[i] = (size_t)rand_r(&seed) % width ? letters[(size_t)rand_r(&seed) % 5] : '\n';
        if (n && round % 10 == 0)
            text[(size_t)rand_r(&seed) % n] = '\r';
        char *exact = mem_realloc(NULL, 1, n ? n : 1); /* nothing can be read behind it */
        memcpy(exact, text, n);
        struct buf got, want;
        buf_init(&got, 0);
        buf_init(&want, 0);
        line_add_prefixed(&got, str_from(prefix), round % 2, exact, n);
        add_slowly(&want, prefix, round % 2, exact, n);
        assert_string_equal(buf_str(&got), buf_str(&want));
        buf_fini(&got);
        buf_fini(&want);
        free(exact);
        free(text);
    }
}

static void every_newline_of_a_block_is_in_its_mask(void **state)
{
    (void)state;
    static const char letters[] = "\n\n\n\x8a\x0b\x09\x0a\xffz";
    unsigned seed = 3;
    for (unsigned round = 0; round < 2000; round++) {
        char block[NEWLINE_MASK_BYTES + 1]; /* read at its second byte: at no boundary */
        uint64_t want = 0;
        for (unsigned i = 0; i < NEWLINE_MASK_BYTES; i++) {
            block[i + 1] = letters[(size_t)rand_r(&seed) % (sizeof letters)];
            want |= (uint64_t)(block[i + 1] == '\n') << i;
        }
        assert_int_equal(newline_mask(block + 1), want);
        assert_int_equal(newline_mask_by_words(block + 1), want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines_one_by_one),
        cmocka_unit_test(several_lines_may_go_together),
        cmocka_unit_test(an_unfinished_line_waits),
        cmocka_unit_test(a_long_line_passes_in_parts),
        cmocka_unit_test(no_chunking_changes_a_byte),
        cmocka_unit_test(a_prefix_before_each_line),
        cmocka_unit_test(no_length_changes_a_byte),
        cmocka_unit_test(every_newline_of_a_block_is_in_its_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

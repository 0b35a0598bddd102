/* wrap: words, quotes, fields, what is refused and where; and which rank owns the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "launcher/core/node_plan.h"
#include "launcher/core/streams.h"
#include "launcher/core/wrap.h"

static const struct wrap_fields fields = {5, 1, "n2", "job7"};

/* Words as "<a><b>". */
static char *joined(char **words)
{
    struct buf out;
    buf_init(&out, 0);
    for (char **w = words; *w; w++)
        buf_addf(&out, "<%s>", *w);
    wrap_free(words);
    return buf_steal(&out);
}

static void words_and_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"nsys", "<nsys>"},
        {"  a\tb\nc ", "<a><b><c>"},
        {"nsys profile -o out.%r", "<nsys><profile><-o><out.5>"},
        {"%r %l %h %j %%", "<5><1><n2><job7><%>"},
        {"'a b'c\"d e\"", "<a bcd e>"},
        {"'' \"\"", "<><>"},
        {"'\\n' '\"'", "<\\n><\">"},
        {"\"a\\\"b\\\\c\\d\"", "<a\"b\\c\\d>"},
        {"a\\ b \\'c \\\\", "<a b><'c><\\>"},
        {"'%r' \"%l%%\"", "<5><1%>"},
        {"$HOME `x` $(y) *;|>", "<$HOME><`x`><$(y)><*;|>>"},
        {"\xc3\xa4 \x01", "<\xc3\xa4><\x01>"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(wrap_check(rows[i].text, NULL), 0);
        char *is = joined(wrap_words(rows[i].text, &fields));
        assert_string_equal(is, rows[i].words);
        free(is);
    }
}

static void program_follows(void **state)
{
    (void)state;
    static char sh[] = "sh", odd[] = "a 'b\" %r", empty[] = "";
    char *const program[] = {sh, odd, empty, NULL};
    char *is = joined(wrap_build("env X=%r", &fields, program));
    assert_string_equal(is, "<env><X=5><sh><a 'b\" %r><>");
    free(is);
}

static void what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "column 1: there is no word in it"},
        {" \t", "column 1: there is no word in it"},
        {"ab 'cd", "column 4: this ' is not closed"},
        {"ab \"c'd", "column 4: this \" is not closed"},
        {"ab \"c\\\"", "column 4: this \" is not closed"},
        {"ab\\", "column 3: nothing follows this backslash"},
        {"x.%q", "column 3: only %r"},
        {"x.%", "column 3: only %r"},
        {"'%x'", "column 2: only %r"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err e;
        assert_int_equal(wrap_check(rows[i].text, &e), -1);
        assert_int_equal(e.code, ERR_USAGE);
        assert_non_null(strstr(e.text, rows[i].says));
    }
}

static bool is_debugger(const char *text)
{
    char **words = wrap_words(text, &fields);
    bool is = wrap_is_interactive(words);
    wrap_free(words);
    return is;
}

static void debuggers(void **state)
{
    (void)state;
    assert_true(is_debugger("gdb --args"));
    assert_true(is_debugger("/opt/cuda/bin/cuda-gdb --args"));
    assert_true(is_debugger("lldb --"));
    assert_false(is_debugger("gdb -batch -ex run --args"));
    assert_false(is_debugger("gdb --batch -ex run --args"));
    assert_false(is_debugger("nsys profile"));
    assert_false(is_debugger("env gdb"));
}

static void who_is_wrapped(void **state)
{
    (void)state;
    struct options opt = {.wrap = "x"};
    assert_true(streams_is_wrapped(&opt, 3));
    opt.wrap_ranks = "1-2";
    assert_true(streams_is_wrapped(&opt, 2));
    assert_false(streams_is_wrapped(&opt, 3));
    opt.wrap = NULL;
    assert_false(streams_is_wrapped(&opt, 2));
}

static void who_owns_the_terminal(void **state)
{
    (void)state;
    static const struct {
        struct options opt;
        bool has_terminal;
        int rc, rank;
        const char *says;
    } rows[] = {
        {{0}, true, 0, -1, NULL},
        {{.terminal = "2"}, true, 0, 2, NULL},
        {{.terminal = "4"}, true, -1, -1, "there is no rank 4; the last one is 3"},
        {{.terminal = "2"}, false, -1, 2, "rank 2 needs the terminal, but"},
        {{.terminal = "3"}, false, 0, 3, NULL}, /* another node's */
        {{.terminal = "none", .wrap = "gdb --args"}, true, 0, -1, NULL},
        {{.wrap = "gdb --args", .wrap_ranks = "1"}, true, 0, 1, NULL},
        {{.wrap = "gdb --args", .wrap_ranks = "1"}, false, -1, 1, "for its debugger"},
        {{.wrap = "gdb --args", .wrap_ranks = "1", .is_plan = true}, false, 0, 1, NULL},
        {{.wrap = "gdb --args", .wrap_ranks = "1,3"}, true, -1, 1, "choose one rank"},
        {{.wrap = "gdb --args"}, true, -1, 0, "choose one rank"},
        {{.wrap = "gdb -batch -ex run --args"}, false, 0, -1, NULL},
        {{.wrap = "nsys profile", .wrap_ranks = "1"}, false, 0, -1, NULL},
    };
    const struct order order = {.world_size = 4, .first_rank = 1, .nworkers = 2};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct facts facts = {.has_terminal = rows[i].has_terminal};
        struct err e;
        int64_t rank;
        assert_int_equal(streams_terminal(&rows[i].opt, &facts, &order, &rank, &e), rows[i].rc);
        if (rows[i].rc == 0)
            assert_int_equal(rank, rows[i].rank);
        else
            assert_non_null(strstr(e.text, rows[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_quotes), cmocka_unit_test(program_follows),
        cmocka_unit_test(what_is_wrong),    cmocka_unit_test(debuggers),
        cmocka_unit_test(who_is_wrapped),   cmocka_unit_test(who_owns_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

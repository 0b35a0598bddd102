/* command_page, man_render, completion_render: every option of every command is in --help, the
 * man page and the completions; what is offered as a value is accepted; mdoc's escapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/core/command_page.h"
#include "launcher/core/completion_render.h"
#include "launcher/core/man_render.h"
#include "launcher/core/man_text.h"
#include "launcher/core/option_row.h"
#include "launcher/core/option_words.h"
#include "launcher/core/options.h"

static void has(const struct buf *text, const char *what)
{
    if (!strstr(buf_str(text), what))
        fail_msg("'%s' is not in:\n%s", what, buf_str(text));
}

static void pages_are_whole(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        const struct command_page *page = command_page((enum command_id)i);
        assert_non_null(page->summary);
        assert_non_null(page->about);
        assert_memory_equal(page->usage, page->name, strlen(page->name));
        assert_null(strchr(page->summary, '\n'));
    }
}

/* "max-restarts" as mdoc has it. */
static const char *escaped(const char *name, char *out)
{
    char *p = out;
    for (; *name; name++) {
        if (*name == '-')
            *p++ = '\\';
        *p++ = *name;
    }
    *p = '\0';
    return out;
}

static void every_option_is_everywhere(void **state)
{
    (void)state;
    struct buf help, man, bash, zsh, fish;
    struct buf *all[] = {&help, &man, &bash, &zsh, &fish};
    for (size_t i = 0; i < 5; i++)
        buf_init(all[i], 0);
    completion_bash(&bash);
    completion_zsh(&zsh);
    completion_fish(&fish);
    unsigned n = 0;
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        const struct command_page *page = command_page((enum command_id)i);
        struct option_face face;
        buf_reset(&help);
        buf_reset(&man);
        command_page_help(page, &help);
        man_render_command((enum command_id)i, &man);
        for (size_t k = 0; page->option && page->option(k, &face); k++, n++) {
            char what[128], name[64];
            snprintf(what, sizeof what, "--%s", face.name);
            has(&help, what);
            has(&bash, what);
            has(&zsh, what);
            snprintf(what, sizeof what, "Fl \\-%s", escaped(face.name, name));
            has(&man, what);
            snprintf(what, sizeof what, "'__muster_is %s'%s%.1s -l %s", page->name,
                     face.letter ? " -s " : "", face.letter ? &face.letter : "", face.name);
            has(&fish, what);
        }
    }
    assert_true(n > OPTION_ID_COUNT);
    for (size_t i = 0; i < 5; i++)
        buf_fini(all[i]);
}

static void the_words_of_a_value_are_accepted(void **state)
{
    (void)state;
    for (unsigned id = 0; id < OPTION_ID_COUNT; id++) {
        const struct option_row *row = options_row((enum option_id)id);
        struct str rest = str_from(option_words(row->type)), word;
        while (option_face_word(&rest, &word)) {
            struct options opt;
            struct err e;
            char text[32];
            options_init(&opt);
            snprintf(text, sizeof text, "%.*s", STR_ARG(word));
            if (options_set(&opt, (enum option_id)id, ORIGIN_COMMAND_LINE, row->name, text, &e)
                < 0)
                fail_msg("--%s is offered '%s': %s", row->name, text, e.text);
        }
    }
}

static void offers(enum option_type type, const char *name)
{
    struct str rest = str_from(option_words(type)), word;
    while (option_face_word(&rest, &word))
        if (str_eq(word, name))
            return;
    fail_msg("'%s' is a value, and is not offered", name);
}

static void no_value_of_an_enumeration_is_missing(void **state)
{
    (void)state;
    for (int i = 0; i < START_COUNT; i++)
        if (i != START_LOCAL)
            offers(VALUE_ENGINE, engine_start_name((enum engine_start)i));
    for (int i = 0; i < BINDING_COUNT; i++)
        offers(VALUE_BINDING, binding_name((enum binding)i));
}

static void words_come_from_choices_in_a_metavariable_too(void **state)
{
    (void)state;
    struct option_face face = {.name = "x", .metavar = "N|gpu|cpu", .help = "a (b)"};
    struct str rest = option_face_words(&face), word;
    assert_true(option_face_word(&rest, &word) && str_eq(word, "gpu"));
    assert_true(option_face_word(&rest, &word) && str_eq(word, "cpu"));
    assert_false(option_face_word(&rest, &word));
    face.metavar = "N|MIN:MAX";
    assert_int_equal(option_face_words(&face).n, 0);
    assert_true(str_eq(option_face_brief(&face), "a"));
    assert_int_equal(option_face_offer("DIR"), OFFER_FOLDERS);
    assert_int_equal(option_face_offer(NULL), OFFER_NOTHING);
}

static void text_becomes_mdoc(void **state)
{
    (void)state;
    static const struct {
        const char *text, *out;
    } rows[] = {
        {"a b", "a b\n"},
        {".py is a suffix", "\\&.py is a suffix\n"},
        {"a\\b ^1 ~/y", "a\\eb \\(ha1 \\(ti/y\n"},
        {"well-known --log-dir (-v: x)", "well-known \\-\\-log\\-dir (\\-v: x)\n"},
        {"See `muster run -n`.", "See \\(oqmuster run \\-n\\(cq.\n"},
        {"One. Two (x.) Three", "One.\nTwo (x.)\nThree\n"},
        {"n1 ... n9", "n1 ... n9\n"},
        {"a\nb\n\nc", "a b\n.Pp\nc\n"},
        {"it's", "it\\(aqs\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out;
        buf_init(&out, 0);
        man_text(&out, rows[i].text);
        assert_string_equal(buf_str(&out), rows[i].out);
        buf_fini(&out);
    }
}

static void a_page_may_have_paragraphs_and_a_status_of_its_own(void **state)
{
    (void)state;
    const struct command_page page = {
        .name = "n",
        .summary = "s",
        .usage = "n [options] [-- options of the worker]\nn [options] program",
        .about = "One.\n\nTwo.",
        .status = "0 or 9.",
    };
    const struct man_title title = {.name = "muster-n", .program = "muster", .see = "muster"};
    struct buf help, man;
    buf_init(&help, 0);
    buf_init(&man, 0);
    command_page_help(&page, &help);
    assert_string_equal(buf_str(&help), "usage: muster n [options] [-- options of the worker]\n"
                                        "       muster n [options] program\n\nOne.\n\nTwo.\n");
    man_render(&title, &page, &man);
    has(&man,
        ".Cm n\n.Op Ar options\n.Op Ar \\-\\- options of the worker\n.Nm muster\n.Cm n\n");
    has(&man, "One.\n.Pp\nTwo.\n.Sh EXIT STATUS\n0 or 9.\n");
    buf_fini(&help);
    buf_fini(&man);
}

static void other_shells_are_refused(void **state)
{
    (void)state;
    struct buf out;
    struct err e;
    buf_init(&out, 0);
    assert_int_equal(completion_render("tcsh", &out, &e), -1);
    assert_non_null(strstr(e.text, "'tcsh'"));
    assert_int_equal(completion_render(NULL, &out, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    assert_int_equal(out.len, 0);
    assert_int_equal(completion_render_torchrun("bash", &out, &e), 0);
    has(&out, "complete -F _muster torchrun");
    buf_fini(&out);
}

static void the_overview_lists_the_commands(void **state)
{
    (void)state;
    struct buf man;
    buf_init(&man, 0);
    man_render_overview(&man);
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        char what[48];
        snprintf(what, sizeof what, ".It Xr muster-%s 1\n",
                 command_page((enum command_id)i)->name);
        has(&man, what);
    }
    buf_fini(&man);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_whole),
        cmocka_unit_test(every_option_is_everywhere),
        cmocka_unit_test(the_words_of_a_value_are_accepted),
        cmocka_unit_test(no_value_of_an_enumeration_is_missing),
        cmocka_unit_test(words_come_from_choices_in_a_metavariable_too),
        cmocka_unit_test(text_becomes_mdoc),
        cmocka_unit_test(a_page_may_have_paragraphs_and_a_status_of_its_own),
        cmocka_unit_test(other_shells_are_refused),
        cmocka_unit_test(the_overview_lists_the_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

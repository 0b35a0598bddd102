/* prefix: templates, names that are not known, colours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launcher/core/prefix.h"

static void templates(void **state)
{
    (void)state;
    static const struct {
        const char *template, *text;
    } rows[] = {
        {"", ""},
        {"{rank}: ", "12: "},
        {"[{rank}/{local_rank}@{host}]", "[12/3@box]"},
        {"{time} {rank}{rank}", "01:02:03.456 1212"},
        {"{} { {rank {Rank} {{rank}}", "{} { {rank {Rank} {12}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out;
        buf_init(&out, 0);
        const struct prefix_fields fields = {12, 3, "box", "01:02:03.456", false};
        prefix_format(rows[i].template, &fields, &out);
        assert_string_equal(buf_str(&out), rows[i].text);
        assert_int_equal(prefix_unknown(rows[i].template).n, 0);
        buf_fini(&out);
    }
    assert_true(prefix_has_time("a{time}"));
    assert_false(prefix_has_time("{times}{rank}"));
}

static void unknown_names_are_found(void **state)
{
    (void)state;
    struct str name = prefix_unknown("{rank} {job} {what}");
    assert_true(str_eq(name, "{job}"));
    assert_true(str_eq(prefix_unknown("{times}"), "{times}"));
}

static void colours_differ_by_rank(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 0);
    for (uint32_t rank = 0; rank < 7; rank += 5) {
        const struct prefix_fields fields = {rank, 0, "box", "", true};
        prefix_format("{rank}:", &fields, &out);
    }
    assert_string_equal(buf_str(&out), "\033[36m0:\033[0m\033[31m5:\033[0m");
    buf_fini(&out);
}

static void torchruns_templates(void **state)
{
    (void)state;
    static const struct {
        const char *template, *text;
    } rows[] = {
        {"[${role_name}${local_rank}]:", "[trainer3]:"},
        {"[rank${rank}]: ", "[rank12]: "},
        {"$hostname:$rank.", "box:12."},
        {"$ranks ${ranks} ${rank ${", "$ranks ${ranks} ${rank ${"},
        {"$$rank $${rank} $$$rank $", "$rank ${rank} $12 $"},
        {"{rank}", "{rank}"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out;
        buf_init(&out, 0);
        const struct prefix_fields fields = {12, 3, "box", "", false};
        prefix_dollar_format(rows[i].template, &fields, "trainer", &out);
        assert_string_equal(buf_str(&out), rows[i].text);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates),
        cmocka_unit_test(unknown_names_are_found),
        cmocka_unit_test(colours_differ_by_rank),
        cmocka_unit_test(torchruns_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* error_file: what @record writes, and what anything else may write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/error_file.h"

static char folder[] = "/tmp/muster-test-XXXXXX";
static char *path;

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    path = mem_printf("%s/e.json", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    free(path);
    return rmdir(folder);
}

static void put(const char *text)
{
    struct err e;
    unlink(path);
    assert_int_equal(error_file_write(path, text, &e), 0);
}

static void expect(const char *text, const char *line)
{
    put(text);
    char *got = error_file_read(path);
    assert_non_null(got);
    assert_string_equal(got, line);
    free(got);
}

#define HEAD                                                                                   \
    "{\"message\": {\"message\": \"RuntimeError: boom\", \"extraInfo\": {\"py_callstack\": \""
#define TAIL "\", \"timestamp\": \"1796017054\"}}}"
#define TRACE "Traceback (most recent call last):\\n"
#define RECORD                                                                                 \
    "  File \\\"/usr/lib/python3/dist-packages/torch/errors/__init__.py\\\", line 346, in "    \
    "wrapper\\n    return f(*args, **kwargs)\\n           ^^^^^^^^\\n"

static void what_record_writes(void **state)
{
    (void)state;
    expect(HEAD TRACE RECORD
           "  File \\\"/home/me/train.py\\\", line 21, in main\\n    inner(1)\\n"
           "  File \\\"/home/me/train.py\\\", line 17, in inner\\n    raise X\\n"
           "RuntimeError: boom\\n" TAIL,
           "RuntimeError: boom  train.py:17 in inner (error.json)");
}

static void the_users_frame_counts_not_the_librarys(void **state)
{
    (void)state;
    expect(HEAD TRACE RECORD
           "  File \\\"train.py\\\", line 5, in main\\n    loss()\\n"
           "  File \\\"/opt/venv/lib/python3.11/site-packages/torch/nn/f.py\\\", line 99, in "
           "forward\\n" TAIL,
           "RuntimeError: boom  train.py:5 in main (error.json)");
    expect(HEAD TRACE RECORD TAIL,
           "RuntimeError: boom  __init__.py:346 in wrapper (error.json)");
}

static void the_last_of_chained_tracebacks_counts(void **state)
{
    (void)state;
    expect(HEAD TRACE "  File \\\"a.py\\\", line 1, in first\\n"
                      "\\nDuring handling of the above exception, another exception "
                      "occurred:\\n\\n" TRACE "  File \\\"b.py\\\", line 2, in second\\n" TAIL,
           "RuntimeError: boom  b.py:2 in second (error.json)");
}

static void a_message_may_be_a_string(void **state)
{
    (void)state;
    expect("{\"message\": \"it broke\\nbadly\", \"timestamp\": 1}", "it broke (error.json)");
    expect("{\"message\": {\"message\": \"no stack\"}}", "no stack (error.json)");
    expect("{\"message\": {\"message\": \"m\", \"extraInfo\": {\"py_callstack\": 7}}}",
           "m (error.json)");
}

static void what_is_malformed_is_called_unreadable(void **state)
{
    (void)state;
    expect("{\"message\": ", "error.json is unreadable: it is not JSON");
    expect("\xff\xfe", "error.json is unreadable: it is not JSON");
    expect("{\"message\": \"a\\u0000b\"}", "error.json is unreadable: it is not JSON");
    expect("[]", "error.json is unreadable: it has no message");
    expect("{\"message\": {\"message\": 3}}", "error.json is unreadable: it has no message");
    expect("{}", "error.json is unreadable: it has no message");
}

static void nothing_says_nothing(void **state)
{
    (void)state;
    put("");
    assert_null(error_file_read(path));
    unlink(path);
    assert_null(error_file_read(path));
    assert_null(error_file_stamp(path, 1));
}

static void no_kind_of_file_holds_muster_up(void **state)
{
    (void)state;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    char *got = error_file_read(path);
    assert_string_equal(got, "error.json is unreadable: it is not a regular file");
    free(got);
    put("{");
    assert_int_equal(truncate(path, ERROR_FILE_MAX + 1), 0);
    got = error_file_read(path);
    assert_string_equal(got, "error.json is unreadable: it is too large");
    free(got);
}

static void a_line_is_safe_and_bounded(void **state)
{
    (void)state;
    expect("{\"message\": \"red \\u001b[31m\\rx\"}", "red ?[31m?x (error.json)");
    char text[1024] = "{\"message\": \"x", *p = text + strlen(text);
    for (int i = 0; i < 200; i++, p += 2)
        memcpy(p, "\xc3\xa9", 2);
    strcpy(p, "\"}");
    put(text);
    char *got = error_file_read(path);
    assert_int_equal(strlen(got), 299 + strlen("... (error.json)"));
    assert_memory_equal(got + 297, "\xc3\xa9...", 5);
    free(got);
}

static void an_outer_launcher_gets_the_code_too(void **state)
{
    (void)state;
    put("{\"message\": {\"message\": \"m\"}}");
    char *got = error_file_stamp(path, 7);
    assert_string_equal(got, "{\"message\": {\"message\": \"m\", \"errorCode\": 7}}");
    free(got);
    put("{\"message\": \"m\"}");
    got = error_file_stamp(path, 137);
    assert_string_equal(got, "{\"message\": {\"message\": \"m\", \"errorCode\": 137}}");
    free(got);
    put("[1]");
    assert_null(error_file_stamp(path, 1));
    struct err e;
    assert_int_equal(error_file_write("/nowhere/at/all", "x", &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_record_writes),
        cmocka_unit_test(the_users_frame_counts_not_the_librarys),
        cmocka_unit_test(the_last_of_chained_tracebacks_counts),
        cmocka_unit_test(a_message_may_be_a_string),
        cmocka_unit_test(what_is_malformed_is_called_unreadable),
        cmocka_unit_test(nothing_says_nothing),
        cmocka_unit_test(no_kind_of_file_holds_muster_up),
        cmocka_unit_test(a_line_is_safe_and_bounded),
        cmocka_unit_test(an_outer_launcher_gets_the_code_too),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

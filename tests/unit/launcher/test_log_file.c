/* log_file: bounded size, the last bytes kept, whole lines where they fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/io/log_file.h"

static char folder[] = "/tmp/muster-test-XXXXXX", path[64], older[64];
static struct err err;

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/log", folder);
    snprintf(older, sizeof older, "%s/log.1", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(older);
    return rmdir(folder);
}

static void expect(const char *file, const char *text)
{
    char got[64] = "";
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(fd, -1);
    assert_int_equal(read(fd, got, sizeof got - 1), strlen(text));
    close(fd);
    assert_string_equal(got, text);
}

/* Writes text in chunks of step bytes with a limit. */
static void write_text(const char *text, size_t step, uint64_t limit)
{
    unlink(older);
    struct log_file *f = log_file_open(path, limit, &err);
    assert_non_null(f);
    for (size_t i = 0, n = strlen(text); i < n; i += step)
        log_file_write(f, text + i, n - i < step ? n - i : step);
    log_file_close(f);
}

static void without_a_limit_it_grows(void **state)
{
    (void)state;
    write_text("one\ntwo\nthree\n", 14, 0);
    expect(path, "one\ntwo\nthree\n");
    assert_int_equal(access(older, F_OK), -1);
}

static void the_last_lines_are_kept(void **state)
{
    (void)state;
    write_text("one\ntwo\nthree\nfour\nfive\n", 24, 10);
    expect(older, "three\n");
    expect(path, "four\nfive\n");
    write_text("one\ntwo\nthree\n", 14, 14); /* just fits */
    expect(path, "one\ntwo\nthree\n");
    assert_int_equal(access(older, F_OK), -1);
}

/* Chunks end anywhere: what is kept begins with a line all the same. */
static void no_chunking_cuts_a_line(void **state)
{
    (void)state;
    char text[601] = "";
    for (int i = 0; i < 100; i++)
        snprintf(text + 6 * i, 7, "%05d\n", i);
    for (size_t step = 1; step < 50; step++) {
        write_text(text, step, 160);
        char got[2][161] = {"", ""};
        for (int i = 0; i < 2; i++) {
            int fd = open(i ? path : older, O_RDONLY | O_CLOEXEC);
            assert_in_range(read(fd, got[i], 160), 1, 160);
            close(fd);
            assert_int_equal(strlen(got[i]) % 6, 0);
        }
        assert_string_equal(text + 600 - strlen(got[1]), got[1]);
    }
}

static void no_file_passes_the_limit(void **state)
{
    (void)state;
    for (size_t step = 1; step < 30; step++) {
        write_text("0123456789012345678901234", step, 10);
        char all[64] = "";
        for (int i = 0; i < 2; i++) {
            char part[32] = "";
            int fd = open(i ? path : older, O_RDONLY | O_CLOEXEC);
            ssize_t n = read(fd, part, sizeof part - 1);
            close(fd);
            assert_in_range(n, 1, 10);
            strcat(all, part);
        }
        assert_string_equal(all + strlen(all) - 5, "01234"); /* the end is there */
    }
}

static void a_path_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    assert_null(log_file_open("/nonexistent/log", 0, &err));
    assert_non_null(strstr(err.text, "/nonexistent/log"));
    log_file_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_limit_it_grows),
        cmocka_unit_test(the_last_lines_are_kept),
        cmocka_unit_test(no_chunking_cuts_a_line),
        cmocka_unit_test(no_file_passes_the_limit),
        cmocka_unit_test(a_path_that_cannot_be_made_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

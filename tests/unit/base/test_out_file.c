/* out_file: what is replaced, and what is not ours to replace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/out_file.h"

static char folder[] = "/tmp/test-out-file-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* empty: nothing was left beside a file */
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void expect_text(const char *path, const char *text)
{
    char got[64];
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, got, sizeof got - 1);
    close(fd);
    got[n > 0 ? n : 0] = '\0';
    assert_string_equal(got, text);
}

static void expect_link(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void write_text(const char *path, const char *text)
{
    struct err e;
    assert_int_equal(out_file_check(path), 0);
    assert_int_equal(out_file_write(path, text, strlen(text), &e), 0);
}

static void a_plain_file_is_replaced(void **state)
{
    (void)state;
    char first[8] = "";
    put("f", "the old text");
    int reader = open("f", O_RDONLY);
    write_text("f", "new");
    expect_text("f", "new");
    assert_int_equal(read(reader, first, 7), 7);
    assert_string_equal(first, "the old");
    close(reader);
    unlink("f");
    write_text("f", "made");
    expect_text("f", "made");
    unlink("f");
}

static void a_link_is_followed(void **state)
{
    (void)state;
    put("f", "the old text");
    assert_int_equal(symlink("f", "link"), 0);
    write_text("link", "new");
    expect_link("link");
    expect_text("f", "new");
    unlink("f");
    write_text("link", "made");
    expect_link("link");
    expect_text("f", "made");
    unlink("f");
    unlink("link");
}

static void a_pipe_stays_one(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    char got[4] = "";
    write_text("pipe", "new");
    assert_int_equal(read(reader, got, 3), 3);
    assert_string_equal(got, "new");
    assert_int_equal(lstat("pipe", &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    close(reader);
    unlink("pipe");
}

/* As with `muster --report /dev/stdout ... >f`. */
static void standard_output_goes_on_where_it_is(void **state)
{
    (void)state;
    assert_int_equal(symlink("/proc/self/fd/1", "out"), 0);
    put("f", "said before\n");
    int kept = dup(STDOUT_FILENO), f = open("f", O_WRONLY);
    fflush(stdout);
    lseek(f, 0, SEEK_END);
    dup2(f, STDOUT_FILENO);
    write_text("out", "new\n");
    assert_int_equal(write(f, "after", 5), 5);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(f);
    expect_link("out");
    expect_text("f", "said before\nnew\nafter");
    unlink("f");
    unlink("out");
}

static void what_cannot_be_written_is_an_error_and_leaves_nothing(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(mkdir("sub", 0700), 0);
    assert_int_equal(out_file_check("sub"), EISDIR);
    assert_int_equal(out_file_write("sub", "x", 1, &e), -1);
    assert_int_equal(e.code, ERR_SYSTEM);
    assert_int_equal(e.sys, EISDIR);
    assert_int_equal(out_file_check("none/f"), ENOENT);
    assert_int_equal(out_file_write("none/f", "x", 1, &e), -1);
    assert_string_equal(e.text, "cannot write none/f: No such file or directory");
    assert_int_equal(rmdir("sub"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_file_is_replaced),
        cmocka_unit_test(a_link_is_followed),
        cmocka_unit_test(a_pipe_stays_one),
        cmocka_unit_test(standard_output_goes_on_where_it_is),
        cmocka_unit_test(what_cannot_be_written_is_an_error_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}

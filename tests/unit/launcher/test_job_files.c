/* job_files: log folders per attempt, names that lead nowhere else, the private folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/rank_set.h"
#include "launcher/io/job_files.h"

static char folder[] = "/tmp/muster-test-XXXXXX";
static struct err err;

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char *command = mem_printf("rm -r %s", folder);
    int rc = system(command);
    free(command);
    return rc;
}

static char *in_folder(const char *name)
{
    return mem_printf("%s/%s", folder, name);
}

static bool exists(const char *name)
{
    char *path = in_folder(name);
    bool found = access(path, F_OK) == 0;
    free(path);
    return found;
}

static void attempts_have_folders(void **state)
{
    (void)state;
    char *dir = in_folder("a/b");
    const struct options opt = {.log_dir = dir};
    struct order order = {.job_id = "job"};
    struct job_files files = {0}, again = {0};
    struct log_file *logs[2];
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the descriptor that comes next */
    close(next);
    assert_int_equal(job_files_open(&files, 3, STREAM_BOTH, logs, &err), 0);
    assert_true(fcntl(next, F_GETFD) & FD_CLOEXEC);
    log_file_close(logs[0]);
    log_file_close(logs[1]);
    order.generation = 1;
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    assert_string_equal(job_files_error_dir(&files), files.dir);
    assert_true(exists("a/b/job/0/rank-3.out") && exists("a/b/job/0/rank-3.err"));
    assert_true(exists("a/b/job/1"));
    assert_int_equal(job_files_prepare(&again, &opt, &order, &err), 0);
    assert_true(exists("a/b/job-2/1"));
    job_files_fini(&files);
    job_files_fini(&again);
    assert_true(exists("a/b/job/0/rank-3.out")); /* logs stay */
    free(dir);
}

static void a_job_id_is_one_name(void **state)
{
    (void)state;
    static const struct {
        const char *id, *folder;
    } rows[] = {
        {"../x", "logs/_._x"}, {"..", "logs/_."}, {"/etc", "logs/_etc"}, {"a/b", "logs/a_b"}};
    char *dir = in_folder("logs");
    const struct options opt = {.log_dir = dir};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct order order = {.job_id = rows[i].id};
        struct job_files files = {0};
        assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
        assert_true(exists(rows[i].folder));
        job_files_fini(&files);
    }
    free(dir);
}

static void what_cannot_be_made_is_named(void **state)
{
    (void)state;
    char *plain = in_folder("plain"), *below = in_folder("plain/logs");
    close(open(plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    char id[400];
    memset(id, 'x', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    const struct {
        const char *dir, *id;
    } rows[] = {{plain, "job"}, {below, "job"}, {folder, id}, {"/proc/none", "job"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct options opt = {.log_dir = rows[i].dir};
        const struct order order = {.job_id = rows[i].id};
        struct job_files files = {0};
        assert_int_equal(job_files_prepare(&files, &opt, &order, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.text, "--log-dir: cannot make /"));
        job_files_fini(&files);
    }
    free(plain);
    free(below);
}

static void without_logs_a_private_folder_that_goes(void **state)
{
    (void)state;
    setenv("TMPDIR", folder, 1);
    const struct options opt = {0};
    const struct order order = {.job_id = "job"};
    struct job_files files = {0};
    struct log_file *logs[2];
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    char *dir = mem_strdup(job_files_error_dir(&files));
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    assert_string_equal(job_files_error_dir(&files), dir); /* the same for all attempts */
    struct stat st;
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(job_files_open(&files, 0, STREAM_BOTH, logs, &err), 0);
    assert_true(!logs[0] && !logs[1]);
    char *sub = mem_printf("%s/sub", dir), *link = mem_printf("%s/sub/link", dir);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(symlink(folder, link), 0); /* not followed */
    job_files_fini(&files);
    assert_int_equal(access(dir, F_OK), -1);
    assert_int_equal(access(folder, F_OK), 0);
    free(dir);
    free(sub);
    free(link);
    unsetenv("TMPDIR");
}

static void without_a_place_there_is_none(void **state)
{
    (void)state;
    setenv("TMPDIR", "/no/such/folder", 1);
    const struct options opt = {0};
    const struct order order = {.job_id = "job"};
    struct job_files files = {0};
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    assert_null(job_files_error_dir(&files));
    job_files_fini(&files);
    unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_have_folders),
        cmocka_unit_test(a_job_id_is_one_name),
        cmocka_unit_test(what_cannot_be_made_is_named),
        cmocka_unit_test(without_logs_a_private_folder_that_goes),
        cmocka_unit_test(without_a_place_there_is_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

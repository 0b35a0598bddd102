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
#include "launcher/io/folder.h"
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
    folder_remove(folder);
    return access(folder, F_OK) == 0;
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

/* The only folder there whose name begins so; NULL if there are none or several. */
static char *only(const char *dir, const char *start)
{
    char *found = NULL;
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        if (strncmp(entry->d_name, start, strlen(start)) != 0)
            continue;
        free(found);
        found = mem_printf("%s/%s", dir, entry->d_name);
        n++;
    }
    if (d)
        closedir(d);
    if (n == 1)
        return found;
    free(found);
    return NULL;
}

static bool has(const char *dir, const char *name)
{
    char *path = mem_printf("%s/%s", dir, name);
    bool found = access(path, F_OK) == 0;
    free(path);
    return found;
}

static void torchruns_tree(void **state)
{
    (void)state;
    char *dir = in_folder("t/logs");
    const struct options opt = {
        .log_dir = dir, .tee = "3", .torchrun = {.is_on = true, .filters = {"a", NULL}}};
    struct order order = {.job_id = "job", .nworkers = 2, .first_rank = 4};
    struct job_files files = {0}, other = {0};
    struct log_file *logs[2];
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    char *job = only(dir, "job_");
    assert_non_null(job);
    assert_int_equal(job_files_open(&files, 5, STREAM_OUT, logs, &err), 0);
    assert_null(logs[1]);
    log_file_close(logs[0]);
    char *error = job_files_error_path(&files, 5);
    assert_non_null(strstr(error, "/attempt_0/1/error.json"));
    free(error);
    assert_true(has(job, "attempt_0/0") && has(job, "attempt_0/1/stdout.log"));
    assert_true(has(job, "attempt_0/filtered_stdout.log"));
    assert_false(has(job, "attempt_0/1/stderr.log"));
    assert_false(has(job, "attempt_0/filtered_stderr.log"));
    /* a generation that cost no restart: nothing of the earlier one is deleted */
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    assert_true(has(job, "attempt_0.1/0") && has(job, "attempt_0/1/stdout.log"));
    order.generation = 1;
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    assert_true(has(job, "attempt_1/0"));
    assert_int_equal(job_files_prepare(&other, &opt, &order, &err), 0); /* the same id again */
    assert_string_not_equal(other.job_dir, files.job_dir);
    job_files_fini(&files);
    job_files_fini(&other);
    assert_true(has(job, "attempt_1/0"));
    free(job);
    free(dir);
}

static void torchruns_own_folder(void **state)
{
    (void)state;
    setenv("TMPDIR", folder, 1);
    const struct options opt = {.redirects = "1", .torchrun = {.is_on = true}};
    const struct order order = {.job_id = "job", .nworkers = 1};
    for (int keeps = 0; keeps < 2; keeps++) {
        for (int writes = 0; writes < 2; writes++) {
            struct job_files files = {0};
            struct log_file *logs[2];
            assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
            char *dir = mem_strdup(files.temp_dir);
            assert_non_null(strstr(dir, "/torchelastic_"));
            assert_int_equal(job_files_open(&files, 0, STREAM_OUT, logs, &err), 0);
            if (writes)
                log_file_write(logs[0], "x", 1);
            log_file_close(logs[0]);
            files.keeps_temp = keeps;
            job_files_fini(&files);
            assert_int_equal(access(dir, F_OK) == 0, keeps && writes);
            free(dir);
        }
    }
    unsetenv("TMPDIR");
}

static void without_any_files(void **state)
{
    (void)state;
    const struct options opt = {
        .log_dir = "/dev/null", .tee = "3", .torchrun = {.is_on = true}};
    const struct order order = {.job_id = "job", .nworkers = 1};
    struct job_files files = {0};
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    assert_null(job_files_error_dir(&files));
    assert_null(job_files_error_path(&files, 0));
    job_files_fini(&files);
}

static void no_place_for_what_was_asked_for(void **state)
{
    (void)state;
    setenv("TMPDIR", "/no/such/folder", 1);
    struct options opt = {.torchrun = {.is_on = true}};
    const struct order order = {.job_id = "job", .nworkers = 1};
    struct job_files files = {0};
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), 0);
    assert_null(job_files_error_dir(&files));
    opt.tee = "3";
    assert_int_equal(job_files_prepare(&files, &opt, &order, &err), -1);
    assert_non_null(strstr(err.text, "--log-dir"));
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
        cmocka_unit_test(torchruns_tree),
        cmocka_unit_test(torchruns_own_folder),
        cmocka_unit_test(without_any_files),
        cmocka_unit_test(no_place_for_what_was_asked_for),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

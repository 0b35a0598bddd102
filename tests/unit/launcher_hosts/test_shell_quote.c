/* Every shell that is installed runs a program of an awkward path, quoted, as the remote
 * command does it. A shell that is missing is shown as skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/shell_quote.h"

/* Each is the last part of a path: what some shell might read as more than itself. */
static const char *const parts[] = {
    "plain",   "it's",     "'",          "''",          " a b ",     "$HOME ${x}",
    "`true`",  "$(true)",  "a\\b",       "a\\\\b",      "end\\",     "\\'",
    "\\n",     "bang!",    "!$",         "a\\!b",       "'\\!'\"$`", "a\"b;c&d|e>f<g",
    "*?[a-z]", "{a,b}~()", "#%^=@-root", "caf\xc3\xa9",
};

struct place {
    char folder[64];
};

static char *read_all(int fd)
{
    struct buf text;
    char chunk[512];
    buf_init(&text, 1 << 16);
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        buf_add(&text, chunk, (size_t)n);
    return buf_steal(&text);
}

/* Output and status of SHELL -c COMMAND. */
static int run_shell(const char *shell, char *command, char **output)
{
    posix_spawn_file_actions_t actions;
    char *const argv[] = {mem_strdup(shell), mem_strdup("-c"), command, NULL};
    int ends[2], status = -1;
    pid_t pid;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int rc = posix_spawnp(&pid, shell, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *output = read_all(ends[0]);
    close(ends[0]);
    free(argv[0]);
    free(argv[1]);
    if (rc == 0)
        assert_int_equal(waitpid(pid, &status, 0), pid);
    return rc == 0 ? status : -1;
}

static void check_part(const char *shell, const char *folder, const char *part)
{
    struct buf command;
    struct err e;
    char *path = mem_printf("%s/%s", folder, part), *output;
    buf_init(&command, 0);
    buf_adds(&command, "exec ");
    assert_int_equal(symlink("/bin/echo", path), 0);
    assert_int_equal(shell_quote(path, &command, &e), 0);
    buf_adds(&command, " agent --boot=0123456789abcdef");
    int status = run_shell(shell, command.data, &output);
    if (status != 0 || strcmp(output, "agent --boot=0123456789abcdef\n") != 0)
        fail_msg("%s: %s: status %d, output \"%s\"", shell, command.data, status, output);
    unlink(path);
    free(path);
    free(output);
    buf_fini(&command);
}

static int make_folder(void **state)
{
    struct place *place = mem_alloc(1, sizeof *place);
    snprintf(place->folder, sizeof place->folder, "/tmp/muster-quote-XXXXXX");
    *state = place;
    return mkdtemp(place->folder) ? setenv("HOME", place->folder, 1) : -1;
}

/* What a shell leaves in its home (fish) goes too. */
static int remove_folder(void **state)
{
    struct place *place = *state;
    char *const argv[] = {mem_strdup("rm"), mem_strdup("-rf"), place->folder, NULL};
    pid_t pid;
    int status = -1;
    if (posix_spawnp(&pid, "rm", NULL, NULL, argv, environ) == 0)
        waitpid(pid, &status, 0);
    free(argv[0]);
    free(argv[1]);
    free(place);
    return status;
}

static void check_shell(void **state, const char *shell)
{
    const struct place *place = *state;
    char command[] = "exit 0", *output;
    int status = run_shell(shell, command, &output);
    free(output);
    if (status != 0) {
        print_message("%s is not installed\n", shell);
        skip();
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        check_part(shell, place->folder, parts[i]);
}

static void sh(void **state)
{
    check_shell(state, "sh");
}

static void dash(void **state)
{
    check_shell(state, "dash");
}

static void bash(void **state)
{
    check_shell(state, "bash");
}

static void zsh(void **state)
{
    check_shell(state, "zsh");
}

static void mksh(void **state)
{
    check_shell(state, "mksh");
}

static void tcsh(void **state)
{
    check_shell(state, "tcsh");
}

static void fish(void **state)
{
    check_shell(state, "fish");
}

static void spelling(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"/usr/bin/muster", "'/usr/bin/muster'"},
        {"/o'x", "'/o'\\''x'"},
        {"/a\\b!", "'/a'\\\\'b'\\!''"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out;
        struct err e;
        buf_init(&out, 0);
        assert_int_equal(shell_quote(rows[i][0], &out, &e), 0);
        assert_string_equal(buf_str(&out), rows[i][1]);
        buf_fini(&out);
    }
}

static void what_cannot_be_quoted_is_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {"", "/a\nb", "/a\tb", "/a\x7f", "/\x1b[0m"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out;
        struct err e = {ERR_OK, 0, ""};
        buf_init(&out, 0);
        assert_int_equal(shell_quote(rows[i], &out, &e), -1);
        assert_int_equal(e.code, ERR_USAGE);
        assert_int_equal(out.len, 0);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spelling), cmocka_unit_test(what_cannot_be_quoted_is_refused),
        cmocka_unit_test(sh),       cmocka_unit_test(dash),
        cmocka_unit_test(bash),     cmocka_unit_test(zsh),
        cmocka_unit_test(mksh),     cmocka_unit_test(tcsh),
        cmocka_unit_test(fish),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* muster: picks the subcommand. `muster -n 4 ...` means `muster run -n 4 ...`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/option_unknown.h"
#include "launcher/io/say.h"

static int (*const commands[])(char *const *args) = {
#define X(name) [COMMAND_##name] = cmd_##name,
    COMMAND_TABLE(X)
#undef X
};

int cmd_fail(const struct err *e)
{
    log_error("", "%s", e->text);
    return err_exit_status(e->code);
}

int cmd_help(enum command_id command)
{
    struct buf text;
    buf_init(&text, 0);
    command_page_help(command_page(command), &text);
    fputs(buf_str(&text), stdout);
    buf_fini(&text);
    return 0;
}

static const char *name_of(unsigned i)
{
    return command_page((enum command_id)i)->name;
}

static int usage(FILE *to, int status)
{
    fprintf(to, "usage: muster [run] [options] program [arguments]\n\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  muster %-10s %s\n", name_of(i),
                command_page((enum command_id)i)->summary);
    fprintf(to, "\nAs in: muster -n 4 train.py     (muster run --help lists the options)\n");
    return status;
}

static int unknown_command(const char *word)
{
    struct err e;
    unsigned best = 0;
    for (unsigned i = 1; i < COMMAND_COUNT; i++)
        if (str_distance(word, name_of(i)) < str_distance(word, name_of(best)))
            best = i;
    if (str_distance(word, name_of(best)) <= 2)
        err_set(&e, ERR_USAGE, "'%s' is no command; the nearest is '%s'", word, name_of(best));
    else
        err_set(&e, ERR_USAGE, "'%s' is no command; to run a program: muster run %s", word,
                word);
    return cmd_fail(&e);
}

/* 0, 1 and 2 are always open, so that nothing else takes their numbers. */
static void open_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* A link of that name, or an alias. */
static bool is_called(const char *path, const char *name)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && strcmp(slash ? slash + 1 : path, name) == 0;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* A command with options reads --help itself. */
static int run_command(enum command_id id, char *const *args)
{
    bool has_options = command_page(id)->option != NULL;
    return !has_options && args[0] && is_help(args[0]) ? cmd_help(id) : commands[id](args);
}

/* "muster help run" */
static int help_of(const char *word)
{
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(word, name_of(i)) == 0)
            return cmd_help((enum command_id)i);
    return unknown_command(word);
}

static int dispatch(int argc, char **argv)
{
    if (argc > 0 && (is_called(argv[0], "torchrun") || is_called(argv[0], "muster-torchrun")))
        return cmd_torchrun(argv + 1);
    if (argc < 2)
        return usage(stderr, err_exit_status(ERR_USAGE));
    const char *word = argv[1];
    if (strcmp(word, "help") == 0 && argc > 2)
        return help_of(argv[2]);
    if (is_help(word) || strcmp(word, "help") == 0)
        return usage(stdout, 0);
    if (strcmp(word, "--version") == 0)
        return cmd_version(argv + 2);
    if (word[0] == '-' || option_unknown_is_long_dash(word))
        return cmd_run(argv + 1);
    if (strcmp(word, "agent") == 0) /* what muster starts on other hosts */
        return cmd_agent(argv + 2);
    if (strcmp(word, "sampler") == 0) /* what a node starts to measure */
        return cmd_sampler(argv + 2);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(word, name_of(i)) == 0)
            return run_command((enum command_id)i, argv + 2);
    return unknown_command(word);
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    log_set_sink(say_log, NULL);
    int status = dispatch(argc, argv);
    int was_lost =
        ferror(stdout); /* of what a command itself has flushed, the reason is gone */
    struct err e;
    if ((fflush(stdout) == 0 && !was_lost) || status != 0)
        return status;
    if (was_lost)
        err_set(&e, ERR_SYSTEM, "cannot write to standard output: not all of it was taken");
    else
        err_sys(&e, errno, "cannot write to standard output");
    return cmd_fail(&e);
}

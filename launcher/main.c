/* muster: picks the subcommand. `muster -n 4 ...` means `muster run -n 4 ...`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "launcher/cmd/cmd.h"
#include "launcher/io/say.h"

static const struct {
    const char *name;
    int (*run)(char *const *args);
    const char *help;
} commands[] = {
    {"run", cmd_run, "start a group of workers (the default when the first word is an option)"},
    {"gpus", cmd_gpus, "which GPUs there are, what CUDA calls them, which rank would get each"},
    {"plan", cmd_plan, "what run would do with the same words: nothing is started"},
    {"doctor", cmd_doctor, "what would go wrong on these hosts, and how to mend it"},
    {"torchrun", cmd_torchrun, "the same as run, with torchrun's command line"},
    {"store", cmd_store, "a store of its own, for TCPStore clients and torchrun's agents"},
    {"notify", cmd_notify, "from a worker's script: I am alive, as in muster notify STEP=17"},
    {"explain", cmd_explain, "say what an error code, or a rule of doctor, means"},
    {"version", cmd_version, "print the version"},
    {"agent", cmd_agent, NULL}, /* what muster starts on other hosts */
};
enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

int cmd_fail(const struct err *e)
{
    log_error("", "%s", e->text);
    return err_exit_status(e->code);
}

int cmd_help(enum option_command command)
{
    struct buf text;
    buf_init(&text, 0);
    options_help_command(command, &text);
    fputs(buf_str(&text), stdout);
    buf_fini(&text);
    return 0;
}

static int usage(FILE *to, int status)
{
    fprintf(to, "usage: muster [run] [options] program [arguments]\n\n");
    for (size_t i = 0; i < NCOMMANDS && commands[i].help; i++)
        fprintf(to, "  muster %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(to, "\nAs in: muster -n 4 train.py     (muster run --help lists the options)\n");
    return status;
}

static int unknown_command(const char *word)
{
    struct err e;
    size_t best = 0;
    for (size_t i = 1; i < NCOMMANDS; i++)
        if (str_distance(word, commands[i].name) < str_distance(word, commands[best].name))
            best = i;
    if (str_distance(word, commands[best].name) <= 2)
        err_set(&e, ERR_USAGE, "'%s' is no command; the nearest is '%s'", word,
                commands[best].name);
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

static int dispatch(int argc, char **argv)
{
    if (argc > 0 && is_called(argv[0], "torchrun"))
        return cmd_torchrun(argv + 1);
    if (argc < 2)
        return usage(stderr, err_exit_status(ERR_USAGE));
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return usage(stdout, 0);
    if (strcmp(word, "--version") == 0)
        return cmd_version(argv + 2);
    if (word[0] == '-')
        return cmd_run(argv + 1);
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (strcmp(word, commands[i].name) == 0)
            return commands[i].run(argv + 2);
    return unknown_command(word);
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    log_set_sink(say_log, NULL);
    int status = dispatch(argc, argv);
    if (fflush(stdout) == 0 || status != 0)
        return status;
    struct err e;
    err_sys(&e, errno, "cannot write to standard output");
    return cmd_fail(&e);
}

#include "launcher/core/jobs_options.h"

#include <assert.h>
#include <string.h>

#include "launcher/core/rank_set.h"

/* X(id, name, letter or 0, metavariable or NULL, commands, help) */
#define JOBS_OPTIONS(X)                                                                        \
    X(JSON, "json", 0, NULL, JOBS_PS | JOBS_TOP, "as JSON, with every rank")                   \
    X(ONCE, "once", 0, NULL, JOBS_TOP,                                                         \
      "print one look and end, as where there is no terminal")                                 \
    X(KILL, "kill", 0, NULL, JOBS_STOP, "at once: SIGKILL, without the job's --grace")         \
    X(FOLLOW, "follow", 'f', NULL, JOBS_LOGS, "go on with what is added, until the job ends")  \
    X(RANK, "rank", 0, "LIST", JOBS_LOGS, "of these ranks only, as in 0,4-7")                  \
    X(HELP, "help", 'h', NULL, JOBS_PS | JOBS_STOP | JOBS_STACK | JOBS_LOGS | JOBS_TOP,        \
      "this text")

enum jobs_option {
#define X(id, ...) JOBS_OPTION_##id,
    JOBS_OPTIONS(X)
#undef X
        JOBS_OPTION_COUNT
};

static const struct {
    const char *name;
    char letter;
    const char *metavar;
    unsigned commands;
    const char *help;
} rows[] = {
#define X(id, name, letter, metavar, commands, help)                                           \
    [JOBS_OPTION_##id] = {name, letter, metavar, commands, help},
    JOBS_OPTIONS(X)
#undef X
};
static_assert(sizeof rows / sizeof rows[0] == JOBS_OPTION_COUNT, "one row an option");

static const char *word_of(enum jobs_command command)
{
    switch (command) {
    case JOBS_PS:
        return "ps";
    case JOBS_STOP:
        return "stop";
    case JOBS_STACK:
        return "stack";
    case JOBS_LOGS:
        return "logs";
    case JOBS_TOP:
        return "top";
    }
    return "";
}

static int set(struct jobs_options *opt, enum jobs_option id, const char *text, struct err *e)
{
    switch (id) {
    case JOBS_OPTION_JSON:
        opt->is_json = true;
        return 0;
    case JOBS_OPTION_ONCE:
        opt->is_once = true;
        return 0;
    case JOBS_OPTION_KILL:
        opt->is_kill = true;
        return 0;
    case JOBS_OPTION_FOLLOW:
        opt->is_followed = true;
        return 0;
    case JOBS_OPTION_RANK:
        opt->ranks = text;
        return rank_set_is_valid(text)
                   ? 0
                   : err_set(e, ERR_USAGE, "--rank: '%.80s' is no list of ranks, as in 0,4-7",
                             text);
    case JOBS_OPTION_HELP:
        opt->is_help = true;
        return 0;
    case JOBS_OPTION_COUNT:
        break;
    }
    return 0;
}

static bool is_name(struct str given, const char *name)
{
    if (given.n != strlen(name))
        return false;
    for (size_t i = 0; i < given.n; i++)
        if (given.p[i] != name[i] && !(given.p[i] == '_' && name[i] == '-'))
            return false;
    return true;
}

/* JOBS_OPTION_COUNT: the command has no such option. */
static enum jobs_option find(enum jobs_command command, struct str name, char letter)
{
    unsigned i = 0;
    while (i < JOBS_OPTION_COUNT
           && !(rows[i].commands & command
                && (letter ? rows[i].letter == letter : is_name(name, rows[i].name))))
        i++;
    return (enum jobs_option)i;
}

static int unknown(enum jobs_command command, const char *word, struct err *e)
{
    unsigned best = JOBS_OPTION_HELP;
    for (unsigned i = 0; i < JOBS_OPTION_COUNT; i++)
        if (rows[i].commands & command
            && str_distance(word, rows[i].name) < str_distance(word, rows[best].name))
            best = i;
    return err_set(e, ERR_USAGE,
                   "%.80s: no such option; the nearest is --%s (see muster %s --help)", word,
                   rows[best].name, word_of(command));
}

static int parse_option(enum jobs_command command, char *const **args, struct jobs_options *opt,
                        struct err *e)
{
    const char *word = **args, *text = NULL;
    bool is_long = word[1] == '-';
    struct str name = is_long ? str_from(word + 2) : (struct str){word + 1, 1};
    const char *equals = is_long ? strchr(word, '=') : NULL;
    if (equals)
        name.n = (size_t)(equals - name.p);
    enum jobs_option id = find(command, name, is_long ? '\0' : word[1]);
    if (id == JOBS_OPTION_COUNT || (!is_long && word[2]))
        return unknown(command, word, e);
    if (equals && !rows[id].metavar)
        return err_set(e, ERR_USAGE, "--%s takes no value", rows[id].name);
    if (rows[id].metavar)
        text = equals ? equals + 1 : *++*args;
    if (rows[id].metavar && !text)
        return err_set(e, ERR_USAGE, "--%s needs a value: %s", rows[id].name, rows[id].metavar);
    return set(opt, id, text, e);
}

int jobs_options_parse(enum jobs_command command, char *const *args, struct jobs_options *opt,
                       struct err *e)
{
    *opt = (struct jobs_options){0};
    for (; *args; args++) {
        if ((*args)[0] == '-' && (*args)[1]) {
            if (parse_option(command, &args, opt, e) < 0)
                return -1;
            continue;
        }
        if (command == JOBS_PS)
            return err_set(e, ERR_USAGE, "'%.80s': muster ps takes options only; it lists all",
                           *args);
        if (opt->job)
            return err_set(e, ERR_USAGE, "'%.80s': muster %s takes one job, and '%.80s' is one",
                           *args, word_of(command), opt->job);
        opt->job = *args;
    }
    return 0;
}

bool jobs_options_face(enum jobs_command command, size_t i, struct option_face *out)
{
    for (unsigned id = 0; id < JOBS_OPTION_COUNT; id++) {
        if (!(rows[id].commands & command) || i-- > 0)
            continue;
        *out = (struct option_face){
            .name = rows[id].name,
            .letter = rows[id].letter,
            .metavar = rows[id].metavar,
            .help = rows[id].help,
        };
        return true;
    }
    return false;
}

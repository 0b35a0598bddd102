#include "launcher/core/store_options.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/option_name.h"

/* X(id, name, letter or 0, metavariable or NULL, help) */
#define STORE_OPTIONS(X)                                                                       \
    X(HOST, "host", 0, "ADDR",                                                                 \
      "where to listen: a name or an address of this machine, or all (default 127.0.0.1)")     \
    X(PORT, "port", 0, "PORT", "which port (default: any free one)")                           \
    X(READY_FD, "ready-fd", 0, "N",                                                            \
      "write the address to descriptor N, which is then closed, not to standard output")       \
    X(PRINT_PORT, "print-port", 0, NULL, "write the port alone")                               \
    X(STORE_OPEN, "store-open", 0, NULL, "serve other users of this machine too")              \
    X(VERBOSE, "verbose", 'v', NULL, "say more")                                               \
    X(HELP, "help", 'h', NULL, "this text")

enum store_option {
#define X(id, ...) STORE_##id,
    STORE_OPTIONS(X)
#undef X
        STORE_OPTION_COUNT
};

static const struct {
    const char *name;
    char letter;
    const char *metavar, *help;
} rows[] = {
#define X(id, name, letter, metavar, help) [STORE_##id] = {name, letter, metavar, help},
    STORE_OPTIONS(X)
#undef X
};
static_assert(sizeof rows / sizeof rows[0] == STORE_OPTION_COUNT, "one row an option");

static int bad(const char *where, const char *text, const char *right, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s: '%.80s' is not %s", where, text, right);
}

static int set(struct store_options *opt, enum store_option id, const char *where,
               const char *text, struct err *e)
{
    uint64_t v;
    switch (id) {
    case STORE_HOST:
        opt->host = text;
        return *text ? 0 : bad(where, text, "an address of this machine or all", e);
    case STORE_PORT:
        if (str_parse_u64(str_from(text), 0, UINT16_MAX, &v) < 0)
            return bad(where, text, "a port from 1 to 65535, or 0 for any", e);
        opt->port = (uint16_t)v;
        return 0;
    case STORE_READY_FD:
        if (str_parse_u64(str_from(text), 1, INT_MAX, &v) < 0)
            return bad(where, text, "the number of an open descriptor, from 1 on", e);
        opt->ready_fd = (int)v;
        return 0;
    case STORE_STORE_OPEN:
        return str_parse_bool(str_from(text), &opt->is_open) < 0
                   ? bad(where, text, "yes or no", e)
                   : 0;
    case STORE_PRINT_PORT:
        opt->is_port_only = true;
        return 0;
    case STORE_VERBOSE:
        opt->is_verbose = true;
        return 0;
    case STORE_HELP:
        opt->is_help = true;
        return 0;
    case STORE_OPTION_COUNT:
        break;
    }
    return 0;
}

static int find(struct str name, char letter, enum store_option *id, struct err *e)
{
    char word[65];
    unsigned best = 0;
    for (unsigned i = 0; i < STORE_OPTION_COUNT; i++)
        if (letter ? rows[i].letter == letter : option_name_is(name, rows[i].name)) {
            *id = (enum store_option)i;
            return 0;
        }
    if (letter)
        return err_set(e, ERR_USAGE, "-%c: no such option (see muster store --help)", letter);
    option_name_format(name, word, sizeof word);
    for (unsigned i = 1; i < STORE_OPTION_COUNT; i++)
        if (str_distance(word, rows[i].name) < str_distance(word, rows[best].name))
            best = i;
    return err_set(e, ERR_USAGE,
                   "--%s: no such option; the nearest is --%s (see muster store --help)", word,
                   rows[best].name);
}

static int parse_word(char *const **args, bool *is_open_given, struct store_options *opt,
                      struct err *e)
{
    const char *word = **args, *text = NULL;
    bool is_long = word[0] == '-' && word[1] == '-';
    if (word[0] != '-' || !word[1])
        return err_set(e, ERR_USAGE,
                       "'%.80s': muster store starts no program; it takes options only", word);
    struct str name = is_long ? str_from(word + 2) : (struct str){word + 1, 1};
    const char *equals = is_long ? strchr(word, '=') : NULL;
    enum store_option id = STORE_HELP;
    if (equals)
        name.n = (size_t)(equals - name.p);
    if (find(name, is_long ? '\0' : word[1], &id, e) < 0)
        return -1;
    if (!is_long && word[2])
        return err_set(e, ERR_USAGE, "-%c takes no value", word[1]);
    if (equals)
        text = equals + 1;
    else if (rows[id].metavar && !(text = *++*args))
        return err_set(e, ERR_USAGE, "--%s needs a value: %s", rows[id].name, rows[id].metavar);
    if (equals && !rows[id].metavar && id != STORE_STORE_OPEN)
        return err_set(e, ERR_USAGE, "--%s takes no value", rows[id].name);
    *is_open_given = *is_open_given || id == STORE_STORE_OPEN;
    char where[24] = "--";
    strcat(where, rows[id].name);
    return set(opt, id, where, text ? text : "yes", e);
}

/* The variable that `muster run` has for it. There is none for host and port: Kubernetes would
 * set MUSTER_STORE_PORT for a Service of that name. */
static int from_environment(const char *const *environment, struct store_options *opt,
                            struct err *e)
{
    static const char name[] = "MUSTER_STORE_OPEN=";
    for (const char *const *v = environment; v && *v; v++)
        if (strncmp(*v, name, sizeof name - 1) == 0 && (*v)[sizeof name - 1])
            return set(opt, STORE_STORE_OPEN, "MUSTER_STORE_OPEN", *v + sizeof name - 1, e);
    return 0;
}

int store_options_parse(char *const *args, const char *const *environment,
                        struct store_options *opt, struct err *e)
{
    bool is_open_given = false;
    *opt = (struct store_options){.host = "127.0.0.1", .ready_fd = -1};
    for (; *args; args++)
        if (parse_word(&args, &is_open_given, opt, e) < 0)
            return -1;
    return opt->is_help || is_open_given ? 0 : from_environment(environment, opt, e);
}

bool store_options_face(size_t i, struct option_face *out)
{
    if (i >= STORE_OPTION_COUNT)
        return false;
    *out = (struct option_face){
        .name = rows[i].name,
        .letter = rows[i].letter,
        .metavar = rows[i].metavar,
        .help = rows[i].help,
        .has_env = i == STORE_STORE_OPEN,
    };
    return true;
}

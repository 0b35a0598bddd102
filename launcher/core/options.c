#include "launcher/core/options.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/env_find.h"
#include "launcher/core/option_checks.h"
#include "launcher/core/option_name.h"
#include "launcher/core/option_row.h"
#include "launcher/core/option_unknown.h"
#include "launcher/core/option_value.h"
#include "launcher/core/restart.h"
#include "launcher/core/tree_shape.h"

static const struct option_row rows[] = {
#define X(id, name, letter, has_env, pet, type, member, metavar, help)                         \
    [OPTION_##id] = {name,    letter,       has_env,                                           \
                     pet,     VALUE_##type, offsetof(struct options, member),                  \
                     metavar, help},
    OPTION_TABLE(X)
#undef X
};
static_assert(sizeof rows / sizeof rows[0] == OPTION_ID_COUNT, "one row an option");

static const struct option_row *find_long(struct str name)
{
    for (size_t i = 0; i < OPTION_ID_COUNT; i++)
        if (option_name_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

static const struct option_row *find_letter(char letter)
{
    for (size_t i = 0; i < OPTION_ID_COUNT; i++)
        if (rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

static void set_origin(struct options *opt, const struct option_row *row,
                       enum option_origin origin)
{
    opt->origin[row - rows] = origin;
}

static int parse_long(char *const **args, struct options *opt, struct err *e)
{
    const char *word = **args, *equals = strchr(word, '=');
    struct str name = {word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2)};
    const struct option_row *row = find_long(name);
    if (!row)
        return option_unknown_long("--", name, e);
    char where[48] = "--";
    strncat(where, row->name, sizeof where - 3);
    set_origin(opt, row, ORIGIN_COMMAND_LINE);
    if (row->type == VALUE_FLAG)
        return option_value_set(opt, row, where, equals ? equals + 1 : "yes", e);
    if (!equals && !(*args)[1])
        return err_set(e, ERR_USAGE, "%s needs a value: %s", where, row->metavar);
    if (!equals)
        ++*args;
    return option_value_set(opt, row, where, equals ? equals + 1 : **args, e);
}

/* mpirun and Go's programs take a long name behind one dash. */
static int one_dash(const char *word, struct str name, struct err *e)
{
    const struct option_row *row = find_long(name);
    if (!row)
        return option_unknown_long("-", name, e);
    return err_set(e, ERR_USAGE, "%s: a long name takes two dashes: --%s", word, row->name);
}

/* "-v", "-n4", "-n 4", "-vn 4" */
static int parse_letters(char *const **args, struct options *opt, struct err *e)
{
    struct str name = {**args + 1, strcspn(**args + 1, "=")};
    if (option_unknown_is_long(name))
        return one_dash(**args, name, e);
    for (const char *p = **args + 1; *p; p++) {
        const struct option_row *row = find_letter(*p);
        char where[3] = {'-', *p, '\0'};
        if (!row)
            return option_unknown_letter(*p, e);
        set_origin(opt, row, ORIGIN_COMMAND_LINE);
        if (row->type == VALUE_FLAG) {
            if (option_value_set(opt, row, where, "yes", e) < 0)
                return -1;
            continue;
        }
        if (!p[1] && !(*args)[1])
            return err_set(e, ERR_USAGE, "%s needs a value: %s", where, row->metavar);
        if (p[1])
            return option_value_set(opt, row, where, p + 1, e);
        ++*args;
        return option_value_set(opt, row, where, **args, e);
    }
    return 0;
}

static int word_count_letters(const char *letters)
{
    for (const char *p = letters; *p; p++) {
        const struct option_row *row = find_letter(*p);
        if (!row)
            return 0;
        if (row->type != VALUE_FLAG)
            return p[1] ? 1 : 2;
    }
    return 1;
}

int options_word_count(const char *word)
{
    if (word[0] != '-' || !word[1])
        return 0;
    size_t n = strcspn(word + 1, "=");
    if (word[1] != '-' && option_unknown_is_long((struct str){word + 1, n}))
        return word[1 + n] ? 1 : 2; /* to be refused by its name, not by its value */
    if (word[1] != '-')
        return word_count_letters(word + 1);
    n = strcspn(word + 2, "=");
    const struct option_row *row = find_long((struct str){word + 2, n});
    if (!row)
        return 0;
    return row->type == VALUE_FLAG || word[2 + n] ? 1 : 2;
}

static const char env_prefix[] = "MUSTER_";

bool options_env_name(enum option_id id, struct buf *out)
{
    if (!rows[id].has_env)
        return false;
    buf_adds(out, env_prefix);
    for (const char *p = rows[id].name; *p; p++)
        buf_addc(out, (char)(*p == '-' ? '_' : *p - 'a' + 'A'));
    return true;
}

/* The names of all variables that stand for options begin with one of these two. */
static bool is_for_options(const char *entry)
{
    return strncmp(entry, env_prefix, sizeof env_prefix - 1) == 0
           || strncmp(entry, "PET_", 4) == 0;
}

static bool is_env_name(const struct option_row *row, const char *entry, size_t n)
{
    size_t skip = sizeof env_prefix - 1;
    if (!row->has_env || n != skip + strlen(row->name) || strncmp(entry, env_prefix, skip) != 0)
        return false;
    for (size_t i = skip; i < n; i++) {
        char c = row->name[i - skip];
        if (entry[i] != (c == '-' ? '_' : c - 'a' + 'A'))
            return false;
    }
    return true;
}

bool options_is_fallback(const char *entry)
{
    size_t n = strcspn(entry, "=");
    if (!is_for_options(entry))
        return false;
    for (size_t i = 0; i < OPTION_ID_COUNT; i++)
        if (is_env_name(&rows[i], entry, n)
            || (rows[i].pet && strlen(rows[i].pet) == n && strncmp(rows[i].pet, entry, n) == 0))
            return true;
    return false;
}

/* For an option that nothing stronger has set: a value that does not count may be anything. */
static int from_variable(struct options *opt, const struct option_row *row,
                         const char *const *environment, const char *variable,
                         enum option_origin origin, struct err *e)
{
    const char *text = env_find_set(environment, variable);
    if (opt->origin[row - rows] != ORIGIN_DEFAULT || !text)
        return 0;
    set_origin(opt, row, origin);
    return option_value_set(opt, row, variable, text, e);
}

int options_set(struct options *opt, enum option_id id, enum option_origin origin,
                const char *where, const char *text, struct err *e)
{
    opt->origin[id] = origin;
    return option_value_set(opt, &rows[id], where, text, e);
}

int options_parse_environment(const char *const *environment, bool has_pet, struct options *opt,
                              struct err *e)
{
    struct buf name;
    buf_init(&name, 0);
    int rc = 0;
    for (size_t i = 0; i < OPTION_ID_COUNT && rc == 0; i++) {
        buf_reset(&name);
        if (options_env_name((enum option_id)i, &name))
            rc = from_variable(opt, &rows[i], environment, buf_str(&name), ORIGIN_ENVIRONMENT,
                               e);
        if (rc == 0 && has_pet && rows[i].pet)
            rc = from_variable(opt, &rows[i], environment, rows[i].pet, ORIGIN_PET, e);
    }
    buf_fini(&name);
    return rc;
}

int options_parse(char *const *args, const char *const *environment, struct options *opt,
                  struct err *e)
{
    return options_parse_command(OPTIONS_RUN, args, environment, opt, e);
}

void options_init(struct options *opt)
{
    *opt = (struct options){
        .grace_ms = 25000,
        .prefix = "auto",
        .mpi = MPI_MODE_AUTO,
        .restart_delay_ms = RESTART_DELAY_MS,
        .restart_delay_max_ms = RESTART_DELAY_MAX_MS,
        .nnodes_min = 1,
        .nnodes_max = 1,
        .node_rank = NODE_RANK_NOT_GIVEN,
        .ssh_tree = TREE_ABOVE,
        .join_timeout_ms = 600000,
        .last_call_ms = 30000,
        .beat_ms = 2000,
        .beats_missed = 5,
    };
}

int options_parse_command(enum option_command command, char *const *args,
                          const char *const *environment, struct options *opt, struct err *e)
{
    options_init(opt);
    opt->is_plan = command == OPTIONS_PLAN;
    bool is_ended = false;
    for (; *args && **args == '-' && (*args)[1]; args++) {
        if (strcmp(*args, "--") == 0) {
            args++;
            is_ended = true;
            break;
        }
        int rc = (*args)[1] == '-' ? parse_long(&args, opt, e) : parse_letters(&args, opt, e);
        if (rc < 0)
            return -1;
    }
    opt->program = *args ? args : NULL;
    if (opt->program && !is_ended && option_unknown_is_long_dash(opt->program[0]))
        return option_unknown_long_dash(opt->program[0], e);
    if (!opt->is_help && options_parse_environment(environment, true, opt, e) < 0)
        return -1;
    return opt->is_help ? 0 : option_checks_command(command, opt, environment, e);
}

bool options_has_endpoint(const struct options *opt)
{
    return opt->nnodes_max > 1;
}

bool options_has_hosts(const struct options *opt)
{
    return opt->hosts || opt->hostfile;
}

const struct option_row *options_row(enum option_id id)
{
    return &rows[id];
}

void options_value_format(const struct options *opt, enum option_id id, struct buf *out)
{
    option_value_format(opt, &rows[id], opt->origin[id] != ORIGIN_DEFAULT, out);
}

const char *options_name(enum option_id id)
{
    return rows[id].name;
}

void options_origin_format(const struct options *opt, enum option_id id, struct buf *out)
{
    switch (opt->origin[id]) {
    case ORIGIN_DEFAULT:
        buf_adds(out, "default");
        return;
    case ORIGIN_PET:
        buf_adds(out, rows[id].pet ? rows[id].pet : "a PET_ variable");
        return;
    case ORIGIN_ENVIRONMENT:
        options_env_name(id, out);
        return;
    case ORIGIN_COMMAND_LINE:
        buf_adds(out, "command line");
        return;
    }
}

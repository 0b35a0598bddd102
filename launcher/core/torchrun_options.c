#include "launcher/core/torchrun_options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/env_find.h"
#include "launcher/core/option_name.h"

static const struct {
    const char *name;
    char letter;
    bool has_pet;
    enum torchrun_kind kind;
    const char *metavar, *help;
} rows[] = {
#define X(id, name, letter, has_pet, kind, metavar, help)                                      \
    [TORCHRUN_##id] = {name, letter, has_pet, TORCHRUN_##kind, metavar, help},
    TORCHRUN_OPTIONS(X)
#undef X
};
static_assert(sizeof rows / sizeof rows[0] == TORCHRUN_ID_COUNT, "one row an option");

enum { NOT_FOUND = TORCHRUN_ID_COUNT };

/* ---- names ---- */

static int fail_unknown(struct str name, struct err *e)
{
    char word[65];
    option_name_format(name, word, sizeof word);
    size_t best = 0;
    for (size_t i = 1; i < TORCHRUN_ID_COUNT; i++)
        if (str_distance(word, rows[i].name) < str_distance(word, rows[best].name))
            best = i;
    return err_set(e, ERR_USAGE,
                   "--%s: torchrun has no such option; the nearest is --%s (see torchrun "
                   "--help)",
                   word, rows[best].name);
}

static int fail_ambiguous(struct str name, struct err *e)
{
    struct buf all;
    buf_init(&all, 0);
    for (size_t i = 0; i < TORCHRUN_ID_COUNT; i++)
        if (option_name_begins(name, rows[i].name))
            buf_addf(&all, "%s--%s", all.len ? ", " : "", rows[i].name);
    err_set(e, ERR_USAGE, "--%.*s is ambiguous: it may be %s", name.n < 60 ? (int)name.n : 60,
            name.p, buf_str(&all));
    buf_fini(&all);
    return -1;
}

/* The whole name, or the only one that begins so. */
static int find_long(struct str name, enum torchrun_id *id, struct err *e)
{
    size_t found = NOT_FOUND, n = 0;
    for (size_t i = 0; name.n && i < TORCHRUN_ID_COUNT; i++) {
        if (!option_name_begins(name, rows[i].name))
            continue;
        found = i;
        n++;
        if (strlen(rows[i].name) == name.n) {
            n = 1;
            break;
        }
    }
    if (n > 1)
        return fail_ambiguous(name, e);
    *id = (enum torchrun_id)found;
    return n ? 0 : fail_unknown(name, e);
}

static size_t find_letter(char letter)
{
    size_t i = 0;
    while (i < TORCHRUN_ID_COUNT && rows[i].letter != letter)
        i++;
    return i;
}

/* ---- the command line ---- */

static bool is_number(const char *word)
{
    size_t digits = strspn(word + 1, "0123456789.");
    return digits > 0 && word[1 + digits] == '\0';
}

/* As argparse tells options from values: "-1" is a value, and so is what has a blank in it, but
 * behind "=". */
static bool is_option(const char *word)
{
    const char *blank = strchr(word, ' ');
    bool is_text = blank && blank < word + strcspn(word, "=");
    return word[0] == '-' && word[1] && !is_number(word) && !is_text;
}

static void give(struct torchrun_given *given, enum torchrun_id id, const char *text)
{
    given[id].text = text;
    given[id].origin = ORIGIN_COMMAND_LINE;
    snprintf(given[id].where, sizeof given[id].where, "--%s", rows[id].name);
}

static int take_value(char *const **args, enum torchrun_id id, struct torchrun_given *given,
                      struct err *e)
{
    const char *next = (*args)[1];
    if (!next || is_option(next))
        return err_set(e, ERR_USAGE, "--%s needs a value: %s", rows[id].name, rows[id].metavar);
    ++*args;
    give(given, id, next);
    return 0;
}

static int parse_long(char *const **args, struct torchrun_given *given, struct err *e)
{
    const char *word = **args + 2, *equals = strchr(word, '=');
    struct str name = {word, equals ? (size_t)(equals - word) : strlen(word)};
    enum torchrun_id id;
    if (find_long(name, &id, e) < 0)
        return -1;
    if (rows[id].kind == TORCHRUN_FLAG && equals)
        return err_set(e, ERR_USAGE, "--%s takes no value", rows[id].name);
    if (rows[id].kind == TORCHRUN_VALUE && !equals)
        return take_value(args, id, given, e);
    give(given, id, equals ? equals + 1 : "yes");
    return 0;
}

/* "-m", "-t3", "-t 3", "-t=3", "-mt3" */
static int parse_letters(char *const **args, struct torchrun_given *given, struct err *e)
{
    for (const char *p = **args + 1; *p; p++) {
        size_t i = find_letter(*p);
        if (i == NOT_FOUND)
            return err_set(e, ERR_USAGE,
                           "-%c: torchrun has no such option (see torchrun --help)", *p);
        enum torchrun_id id = (enum torchrun_id)i;
        if (rows[id].kind == TORCHRUN_FLAG) {
            give(given, id, "yes");
            continue;
        }
        if (!p[1])
            return take_value(args, id, given, e);
        give(given, id, p + 1 + (p[1] == '='));
        return 0;
    }
    return 0;
}

/* ---- the environment ---- */

static const char pet_prefix[] = "PET_";

static void pet_name(enum torchrun_id id, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "%s%s", pet_prefix, rows[id].name);
    for (size_t i = sizeof pet_prefix - 1; i < n; i++)
        out[i] = (char)(out[i] == '-' ? '_' : out[i] - 'a' + 'A');
}

/* A MUSTER_ variable comes before the PET_ one. */
static bool has_muster_variable(const char *const *environment, enum torchrun_id id)
{
    enum option_id option = torchrun_option_of(id);
    struct buf name;
    buf_init(&name, 0);
    bool has = option != OPTION_ID_COUNT && options_env_name(option, &name)
               && env_find_set(environment, buf_str(&name));
    buf_fini(&name);
    return has;
}

static void from_environment(const char *const *environment, struct torchrun_given *given)
{
    for (int i = 0; i < TORCHRUN_ID_COUNT; i++) {
        enum torchrun_id id = (enum torchrun_id)i;
        if (given[id].text || !rows[id].has_pet || has_muster_variable(environment, id))
            continue;
        pet_name(id, given[id].where, sizeof given[id].where);
        given[id].text = env_find_set(environment, given[id].where);
        given[id].origin = ORIGIN_PET;
    }
    struct torchrun_given *grace = &given[TORCHRUN_SHUTDOWN_TIMEOUT],
                          *prefix = &given[TORCHRUN_PREFIX];
    if (!grace->text && !has_muster_variable(environment, TORCHRUN_SHUTDOWN_TIMEOUT)) {
        strcpy(grace->where, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
        grace->text = env_find_set(environment, grace->where);
    }
    if (!prefix->text) {
        strcpy(prefix->where, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
        prefix->text = env_find_set(environment, prefix->where);
    }
}

bool torchrun_options_is_variable(const char *entry)
{
    size_t n = strcspn(entry, "=");
    char name[48];
    if (strncmp(entry, pet_prefix, sizeof pet_prefix - 1) != 0)
        return false;
    for (int i = 0; i < TORCHRUN_ID_COUNT; i++) {
        pet_name((enum torchrun_id)i, name, sizeof name);
        if (rows[i].has_pet && strlen(name) == n && strncmp(name, entry, n) == 0)
            return true;
    }
    return false;
}

/* ---- the whole ---- */

int torchrun_options_parse(char *const *args, const char *const *environment,
                           struct options *opt, struct err *e)
{
    struct torchrun_given given[TORCHRUN_ID_COUNT] = {{NULL, ORIGIN_DEFAULT, ""}};
    options_init(opt);
    for (; *args && is_option(*args); args++) {
        if (strcmp(*args, "--") == 0) {
            args++;
            break;
        }
        int rc =
            (*args)[1] == '-' ? parse_long(&args, given, e) : parse_letters(&args, given, e);
        if (rc < 0)
            return -1;
    }
    opt->torchrun.is_on = true;
    opt->is_help = given[TORCHRUN_HELP].text != NULL;
    if (opt->is_help)
        return 0;
    opt->program = *args ? args : NULL;
    from_environment(environment, given);
    if (torchrun_apply(given, opt, e) < 0)
        return -1;
    if (opt->torchrun.shell)
        return 0;
    if (!opt->program)
        return err_set(e, ERR_USAGE,
                       "no script to run; as in: torchrun --nproc-per-node 4 train.py");
    return options_parse_environment(environment, false, opt, e);
}

bool torchrun_options_face(size_t i, struct option_face *out)
{
    if (i >= TORCHRUN_ID_COUNT)
        return false;
    *out = (struct option_face){
        .name = rows[i].name,
        .letter = rows[i].letter,
        .metavar = rows[i].metavar,
        .help = rows[i].help,
        .offer = option_face_offer(rows[i].metavar),
        .has_pet = rows[i].has_pet,
    };
    return true;
}

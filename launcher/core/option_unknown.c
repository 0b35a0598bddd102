#include "launcher/core/option_unknown.h"

#include <string.h>

#include "launcher/core/option_name.h"
#include "launcher/core/options.h"
#include "launcher/core/torchrun_options.h"

/* What mpirun, srun, deepspeed and accelerate call what we have under a name that is not near.
 */
static const struct {
    const char *theirs;
    enum option_id ours;
} foreign[] = {
    {"np", OPTION_NPROC},          {"num-processes", OPTION_NPROC},
    {"num-gpus", OPTION_NPROC},    {"ntasks-per-node", OPTION_NPROC},
    {"H", OPTION_HOSTS},           {"host", OPTION_HOSTS},
    {"f", OPTION_HOSTFILE},        {"machinefile", OPTION_HOSTFILE},
    {"bind-to", OPTION_CPU_BIND},  {"gpu-ids", OPTION_GPUS},
    {"wdir", OPTION_CHDIR},        {"output-filename", OPTION_LOG_DIR},
    {"tag-output", OPTION_PREFIX},
};

static const char *find_foreign(struct str name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (option_name_is(name, foreign[i].theirs))
            return options_name(foreign[i].ours);
    return NULL;
}

static bool is_torchruns(struct str name)
{
    struct option_face face;
    for (size_t i = 0; torchrun_options_face(i, &face); i++)
        if (option_name_is(name, face.name))
            return true;
    return false;
}

/* What begins so, else what differs in at most half of its letters: farther is no slip. */
static const char *find_near(const char *word)
{
    size_t n = strlen(word);
    const char *best = NULL;
    unsigned least = (unsigned)(n / 2 + 1);
    for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
        const char *ours = options_name((enum option_id)i);
        bool is_prefix = n >= 2 && strncmp(ours, word, n) == 0;
        unsigned d = is_prefix ? 0 : str_distance(word, ours);
        if (d < least) {
            best = ours;
            least = d;
        }
    }
    return best;
}

int option_unknown_long(const char *dashes, struct str name, struct err *e)
{
    char word[65];
    option_name_format(name, word, sizeof word);
    size_t n = strlen(word);
    const char *more = n < name.n ? "..." : "", *best = find_foreign(name);
    if (!best && is_torchruns(name))
        return err_set(e, ERR_USAGE,
                       "%s%.*s: no such option; it is torchrun's, which muster torchrun takes "
                       "(see muster run --help)",
                       dashes, STR_ARG(name));
    if (!best)
        best = find_near(word);
    if (!best)
        return err_set(e, ERR_USAGE, "%s%.*s%s: no such option (see muster run --help)", dashes,
                       (int)n, name.p, more);
    return err_set(e, ERR_USAGE,
                   "%s%.*s%s: no such option; the nearest is --%s (see muster run --help)",
                   dashes, (int)n, name.p, more, best);
}

int option_unknown_letter(char letter, struct err *e)
{
    const char *best = find_foreign((struct str){&letter, 1});
    if (!best)
        return err_set(e, ERR_USAGE, "-%c: no such option (see muster run --help)", letter);
    return err_set(e, ERR_USAGE,
                   "-%c: no such option; the nearest is --%s (see muster run --help)", letter,
                   best);
}

bool option_unknown_is_long(struct str name)
{
    if (name.n < 2)
        return false;
    for (size_t i = 0; i < OPTION_ID_COUNT; i++)
        if (option_name_is(name, options_name((enum option_id)i)))
            return true;
    return find_foreign(name) || is_torchruns(name);
}

bool option_unknown_is_long_dash(const char *word)
{
    static const char *const dashes[] = {"\u2010", "\u2011", "\u2012", "\u2013",
                                         "\u2014", "\u2015", "\u2212"};
    for (size_t i = 0; i < sizeof dashes / sizeof dashes[0]; i++)
        if (str_starts(str_from(word), dashes[i]))
            return true;
    return false;
}

int option_unknown_long_dash(const char *word, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "%.80s: it begins with a typographic dash, as web pages make of - and --; "
                   "type the option anew",
                   word);
}

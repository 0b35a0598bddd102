#include "launcher/core/options.h" /* of which this is the part that describes */

#include <assert.h>

#include "launcher/core/option_row.h"
#include "launcher/core/option_words.h"

/* Which GPUs, for whom, where, and how it is said. */
static bool is_about_gpus(enum option_id id)
{
    static const enum option_id others[] = {
        OPTION_HOSTFILE, OPTION_HOSTS,   OPTION_INCLUDE,       OPTION_EXCLUDE,
        OPTION_SSH,      OPTION_SSH_ARG, OPTION_REMOTE_MUSTER, OPTION_JOIN_TIMEOUT,
        OPTION_JSON,     OPTION_HELP};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (id == others[i])
            return true;
    return id <= OPTION_SKIP_UNHEALTHY;
}
static_assert(OPTION_NPROC == 0, "the options of GPU selection come first in the table");

/* Which hosts and GPUs, what is judged, and how it is said. */
static bool is_about_doctor(enum option_id id)
{
    return is_about_gpus(id) || id == OPTION_NNODES
           || (id >= OPTION_HOSTFILE && id <= OPTION_EXCLUDE)
           || (id >= OPTION_SSH && id <= OPTION_REMOTE_MUSTER)
           || (id > OPTION_PREFLIGHT && id <= OPTION_VERBOSE);
}
static_assert(OPTION_PREFLIGHT < OPTION_ONLY && OPTION_ONLY < OPTION_VERBOSE,
              "the options of doctor stand together");

static bool is_shown(enum option_command command, enum option_id id)
{
    switch (command) {
    case OPTIONS_RUN:
        return id != OPTION_JSON && id != OPTION_LOOKUP && id != OPTION_EVIDENCE;
    case OPTIONS_PLAN:
        return !(id >= OPTION_PREFLIGHT && id <= OPTION_EVIDENCE);
    case OPTIONS_GPUS:
        return is_about_gpus(id);
    case OPTIONS_DOCTOR:
        return is_about_doctor(id);
    }
    return false;
}

bool options_face(enum option_command command, size_t i, struct option_face *out)
{
    size_t id = 0;
    while (id < OPTION_ID_COUNT && (!is_shown(command, (enum option_id)id) || i-- > 0))
        id++;
    if (id == OPTION_ID_COUNT)
        return false;
    const struct option_row *row = options_row((enum option_id)id);
    *out = (struct option_face){
        .name = row->name,
        .letter = row->letter,
        .metavar = row->metavar,
        .help = row->help,
        .words = option_words(row->type),
        .offer = option_face_offer(row->metavar),
        .is_repeated = row->type == VALUE_LIST,
        .has_env = row->has_env,
        .has_pet = row->pet != NULL,
    };
    return true;
}

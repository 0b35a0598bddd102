#include "launcher/core/options.h" /* of which this is the part that describes */

#include <assert.h>

#include "launcher/core/option_row.h"
#include "launcher/core/option_words.h"

/* Which GPUs, for whom, and how it is said. */
static bool is_about_gpus(enum option_id id)
{
    return id <= OPTION_SKIP_UNHEALTHY || id == OPTION_JSON || id == OPTION_HELP;
}
static_assert(OPTION_NPROC == 0, "the options of GPU selection come first in the table");

static bool is_shown(enum option_command command, enum option_id id)
{
    switch (command) {
    case OPTIONS_RUN:
        return id != OPTION_JSON;
    case OPTIONS_PLAN:
        return true;
    case OPTIONS_GPUS:
        return is_about_gpus(id);
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

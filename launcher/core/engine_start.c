#include "launcher/core/engine_start.h"

#include <assert.h>

static const char *const names[] = {
#define X(name, spelling) [START_##name] = spelling,
    ENGINE_STARTS(X)
#undef X
};
static_assert(sizeof names / sizeof names[0] == START_COUNT, "one name a way");

int engine_start_parse(struct str s, enum engine_start *out)
{
    for (int i = 0; i < START_COUNT; i++)
        if (names[i] && str_eq(s, names[i])) {
            *out = (enum engine_start)i;
            return 0;
        }
    return -1;
}

const char *engine_start_name(enum engine_start launch)
{
    return names[launch] ? names[launch] : "local";
}

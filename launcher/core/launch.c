#include "launcher/core/launch.h"

#include <assert.h>

static const char *const names[] = {
#define X(name, spelling) [LAUNCH_##name] = spelling,
    LAUNCHES(X)
#undef X
};
static_assert(sizeof names / sizeof names[0] == LAUNCH_COUNT, "one name a way");

int launch_parse(struct str s, enum launch *out)
{
    for (int i = 0; i < LAUNCH_COUNT; i++)
        if (names[i] && str_eq(s, names[i])) {
            *out = (enum launch)i;
            return 0;
        }
    return -1;
}

const char *launch_name(enum launch launch)
{
    return names[launch] ? names[launch] : "local";
}

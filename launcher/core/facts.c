#include "launcher/core/facts.h"

#include <string.h>

#include "launcher/core/env_find.h"

const char *facts_getenv(const struct facts *facts, const char *name)
{
    return env_find(facts->environment, name);
}

bool facts_is_dumb_terminal(const struct facts *facts)
{
    const char *term = facts_getenv(facts, "TERM");
    return term && strcmp(term, "dumb") == 0;
}

bool facts_allow_colour(const struct facts *facts)
{
    const char *no_colour = facts_getenv(facts, "NO_COLOR");
    return !(no_colour && *no_colour) && !facts_is_dumb_terminal(facts);
}

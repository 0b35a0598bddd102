#include "launcher/core/facts.h"

#include "launcher/core/env_find.h"

const char *facts_getenv(const struct facts *facts, const char *name)
{
    return env_find(facts->environment, name);
}

bool facts_allow_colour(const struct facts *facts)
{
    const char *no_colour = facts_getenv(facts, "NO_COLOR");
    return !(no_colour && *no_colour);
}

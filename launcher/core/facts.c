#include "launcher/core/facts.h"

#include "launcher/core/env_find.h"

const char *facts_getenv(const struct facts *facts, const char *name)
{
    return env_find(facts->environment, name);
}

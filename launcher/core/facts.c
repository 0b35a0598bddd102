#include "launcher/core/facts.h"

#include <string.h>

const char *facts_getenv(const struct facts *facts, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *v = facts->environment; v && *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return *v + n + 1;
    return NULL;
}

#include "launcher/core/env_find.h"

#include <string.h>

const char *env_find(const char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *v = environment; v && *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return *v + n + 1;
    return NULL;
}

const char *env_find_set(const char *const *environment, const char *name)
{
    const char *value = env_find(environment, name);
    return value && *value ? value : NULL;
}

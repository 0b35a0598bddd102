#include "launcher/core/option_name.h"

#include <string.h>

bool option_name_begins(struct str given, const char *name)
{
    if (given.n > strlen(name))
        return false;
    for (size_t i = 0; i < given.n; i++)
        if (given.p[i] != name[i] && !(given.p[i] == '_' && name[i] == '-'))
            return false;
    return true;
}

bool option_name_is(struct str given, const char *name)
{
    return given.n == strlen(name) && option_name_begins(given, name);
}

void option_name_format(struct str given, char *out, size_t size)
{
    size_t n = given.n < size - 1 ? given.n : size - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = given.p[i] == '_' ? '-' : given.p[i];
    out[n] = '\0';
}

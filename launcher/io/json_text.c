#include "launcher/io/json_text.h"

#include <stdlib.h>

#include "base/mem.h"

json_t *json_text(const char *s)
{
    if (!s)
        return json_null();
    json_t *j = json_string(s);
    if (j)
        return j;
    char *plain = mem_strdup(s);
    for (char *p = plain; *p; p++)
        if ((unsigned char)*p > 127)
            *p = '?';
    j = json_string(plain);
    free(plain);
    return j;
}

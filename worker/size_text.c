#include "worker/size_text.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

int size_parse(const char *text, uint64_t *bytes)
{
    struct str s = str_from(text);
    unsigned shift = 0;
    if (s.n > 1 && (s.p[s.n - 1] == 'B' || s.p[s.n - 1] == 'b'))
        s.n--;
    static const char units[] = "kKmMgGtT";
    const char *unit = s.n > 1 ? memchr(units, s.p[s.n - 1], sizeof units - 1) : NULL;
    if (unit) {
        shift = 10 * ((unsigned)(unit - units) / 2 + 1);
        s.n--;
    }
    uint64_t v;
    if (str_parse_u64(s, 0, (UINT64_MAX >> 8) >> shift, &v) < 0)
        return -1;
    *bytes = v << shift;
    return 0;
}

const char *size_format(uint64_t bytes, char text[24])
{
    static const char units[] = " KMGT";
    unsigned u = 0;
    while (u < 4 && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        u++;
    }
    snprintf(text, 24, u ? "%llu%c" : "%llu", (unsigned long long)bytes, units[u]);
    return text;
}

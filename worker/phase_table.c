#include "worker/phase_table.h"

static const char *const phase_names[] = {
#define X(name, seconds, per_1000, when) [PHASE_##name] = #name,
    PHASE_TABLE(X)
#undef X
};

const char *phase_name(enum phase phase)
{
    return phase_names[phase];
}

int phase_find(struct str s)
{
    for (int i = 0; i < PHASE_COUNT; i++)
        if (str_eq(s, phase_names[i]))
            return i;
    return -1;
}

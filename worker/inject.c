#include "worker/inject.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/str.h"
#include "worker/size_text.h"

static int parse_field(struct inject *in, struct str key, struct str value)
{
    uint64_t v;
    char text[32];
    if (str_eq(key, "phase")) {
        int phase = phase_find(value);
        in->phase = (enum phase)phase;
        return phase < 0 ? -1 : 0;
    }
    if (str_eq(key, "size")) {
        snprintf(text, sizeof text, "%.*s", STR_ARG(value));
        return size_parse(text, &in->size_bytes);
    }
    if (str_parse_u64(value, 0, 1000000, &v) < 0)
        return -1;
    if (str_eq(key, "rank"))
        in->rank = (uint32_t)v;
    else if (str_eq(key, "a"))
        in->a = (uint32_t)v;
    else if (str_eq(key, "b"))
        in->b = (uint32_t)v;
    else if (str_eq(key, "ms"))
        in->ms = v;
    else if (str_eq(key, "s"))
        in->ms = v * 1000;
    else if (str_eq(key, "signal") && v <= 64)
        in->signal = (int)v;
    else
        return -1;
    return 0;
}

int inject_parse(struct inject *out, const char *value, struct err *e)
{
    static const char *const kinds[] = {
        [INJECT_NONE] = "none",         [INJECT_CORRUPT] = "corrupt", [INJECT_SLOW] = "slow",
        [INJECT_SLOWLINK] = "slowlink", [INJECT_HANG] = "hang",       [INJECT_DIE] = "die",
        [INJECT_LATE] = "late"};
    struct str rest = str_from(value), part, kind;
    str_split(&rest, ':', &kind);
    *out = (struct inject){.phase = PHASE_bench};
    for (int i = INJECT_CORRUPT; i <= INJECT_LATE; i++)
        if (str_eq(kind, kinds[i]))
            out->kind = (enum inject_kind)i;
    bool ok = out->kind != INJECT_NONE && rest.p != NULL;
    while (ok && str_split(&rest, ',', &part)) {
        struct str key;
        str_split(&part, '=', &key);
        ok = part.p && parse_field(out, key, part) == 0;
    }
    if (!ok)
        return err_set(
            e, ERR_USAGE,
            "--inject takes corrupt:rank=R[,size=S], slow:rank=R,ms=N, "
            "slowlink:a=A,b=B,ms=N, hang:rank=R,phase=P, die:rank=R,phase=P[,signal=N] or "
            "late:rank=R,phase=P,s=N, not \"%s\"",
            value);
    return 0;
}

#include "launcher/core/strangers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct kind {
    struct peer_ip ip;
    char reason[STRANGERS_REASON_MAX + 1];
    uint64_t count;
};

struct strangers {
    struct kind kinds[STRANGERS_TOLD_MAX];
    size_t nkinds;
    uint64_t count, nothers; /* all; those for whom there was no room */
};

bool strangers_is_one(bool is_named, const struct err *why)
{
    return !is_named || why->code != ERR_UNAVAILABLE;
}

struct strangers *strangers_new(void)
{
    return mem_alloc(1, sizeof(struct strangers));
}

void strangers_free(struct strangers *s)
{
    free(s);
}

bool strangers_add(struct strangers *s, const struct peer_ip *ip, const char *reason)
{
    s->count++;
    for (size_t i = 0; i < s->nkinds; i++) {
        struct kind *k = &s->kinds[i];
        if (!peer_ip_is_same(&k->ip, ip)
            || strncmp(k->reason, reason, STRANGERS_REASON_MAX) != 0)
            continue;
        k->count++;
        return false;
    }
    if (s->nkinds == STRANGERS_TOLD_MAX) {
        s->nothers++;
        return false;
    }
    struct kind *k = &s->kinds[s->nkinds++];
    k->ip = *ip;
    k->count = 1;
    strncpy(k->reason, reason, STRANGERS_REASON_MAX);
    return true;
}

/* All of the address of kind i; 0 if an earlier kind has the same. */
static uint64_t of_address(const struct strangers *s, size_t i)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < s->nkinds; k++) {
        if (!peer_ip_is_same(&s->kinds[k].ip, &s->kinds[i].ip))
            continue;
        if (k < i)
            return 0;
        sum += s->kinds[k].count;
    }
    return sum;
}

void strangers_format(const struct strangers *s, struct buf *out)
{
    if (s->count == s->nkinds)
        return;
    buf_addf(out, "%llu connections were turned away in all", (unsigned long long)s->count);
    const char *before = ": ";
    for (size_t i = 0; i < s->nkinds; i++) {
        uint64_t n = of_address(s, i);
        if (!n)
            continue;
        buf_addf(out, "%s%llu from ", before, (unsigned long long)n);
        peer_ip_format(&s->kinds[i].ip, out);
        before = ", ";
    }
    if (s->nothers)
        buf_addf(out, "%s%llu others", before, (unsigned long long)s->nothers);
}

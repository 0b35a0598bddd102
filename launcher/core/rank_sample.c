#include "launcher/core/rank_sample.h"

#include <stddef.h>

static const size_t figures[] = {
    offsetof(struct rank_sample, asked_ms), offsetof(struct rank_sample, at_ms),
    offsetof(struct rank_sample, cpu_ms), offsetof(struct rank_sample, rss),
#define X(member) offsetof(struct rank_sample, gpu.member),
    GPU_FIGURES(X)
#undef X
};

void rank_sample_add(struct rank_sample *to, const struct rank_sample *from)
{
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const struct maybe_u64 *n = (const void *)((const char *)from + figures[i]);
        if (n->is_known)
            *(struct maybe_u64 *)(void *)((char *)to + figures[i]) = *n;
    }
}

void rank_sample_format(const struct rank_sample *s, char separator, struct buf *out)
{
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const struct maybe_u64 *n = (const void *)((const char *)s + figures[i]);
        buf_addc(out, separator);
        if (n->is_known)
            buf_addf(out, "%llu", (unsigned long long)n->value);
        else
            buf_addc(out, '-');
    }
}

bool rank_sample_parse(struct str *rest, char separator, struct rank_sample *out)
{
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        struct maybe_u64 *n = (void *)((char *)out + figures[i]);
        struct str word;
        if (!str_split(rest, separator, &word))
            return false;
        *n = (struct maybe_u64){.is_known = !str_eq(word, "-")};
        if (n->is_known && str_parse_u64(word, 0, UINT64_MAX, &n->value) < 0)
            return false;
    }
    return true;
}

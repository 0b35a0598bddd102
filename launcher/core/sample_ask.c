#include "launcher/core/sample_ask.h"

void sample_ask_format(const struct sample_subject *subject, struct buf *out)
{
    buf_addf(out, "%u,%u,", (unsigned)subject->local_rank, (unsigned)subject->pid);
    if (subject->uuid.p)
        buf_add(out, subject->uuid.p, subject->uuid.n);
    else
        buf_addc(out, '-');
    buf_addc(out, ';');
}

static bool take_number(struct str *rest, uint32_t *out)
{
    struct str word;
    uint64_t n;
    if (!str_split(rest, ',', &word) || str_parse_u64(word, 0, UINT32_MAX, &n) < 0)
        return false;
    *out = (uint32_t)n;
    return true;
}

int sample_ask_next(struct str *rest, struct sample_subject *subject)
{
    struct str item;
    if (!rest->n)
        return 0;
    if (!str_split(rest, ';', &item) || !rest->p || !take_number(&item, &subject->local_rank)
        || !take_number(&item, &subject->pid) || !item.n)
        return -1;
    subject->uuid = item;
    if (str_eq(item, "-"))
        subject->uuid = (struct str){NULL, 0};
    return 1;
}

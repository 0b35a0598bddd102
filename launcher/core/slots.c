#include "launcher/core/slots.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/host_fault.h"

/* Marks the slots that are named. */
static int mark(struct str text, uint32_t total, bool *is_named, struct err *e)
{
    struct str word;
    while (str_split(&text, ',', &word)) {
        uint64_t k;
        if (str_parse_u64(word, 0, HOST_SLOTS_MAX - 1, &k) < 0)
            return err_set(e, ERR_HOSTFILE, "'%.*s' is no slot of a host", STR_ARG(word));
        if (k >= total)
            return err_set(e, ERR_HOSTFILE,
                           "slot %u does not exist on this host; it has slots 0..%u",
                           (unsigned)k, total - 1);
        is_named[k] = true;
    }
    return 0;
}

int slots_choose(const char *text, uint32_t total, uint32_t **list, uint32_t *n, struct err *e)
{
    bool is_except = *text == '^';
    bool *is_named = mem_alloc(total + 1, sizeof *is_named);
    *list = NULL;
    *n = 0;
    int rc = mark(str_from(text + is_except), total, is_named, e);
    if (rc == 0) {
        *list = mem_alloc(total + 1, sizeof **list);
        for (uint32_t k = 0; k < total; k++)
            if (is_named[k] != is_except)
                (*list)[(*n)++] = k;
    }
    free(is_named);
    if (rc == 0 && !*n) {
        free(*list);
        *list = NULL;
        return err_set(e, ERR_HOSTFILE,
                       "no slot of this host is left after --exclude; exclude the whole host");
    }
    return rc;
}

void slots_gpus(const uint32_t *list, uint32_t n, const struct device_choice *all,
                const struct inventory *inv, struct buf *out)
{
    if (!all->units_known || !inv)
        return;
    for (uint32_t i = 0; i < n && list[i] < (uint32_t)all->nranks; i++) {
        struct buf uuids;
        buf_init(&uuids, 0);
        device_choice_fact(all, inv, (int)list[i], GPU_FACT_UUID, &uuids);
        if (uuids.len)
            buf_addf(out, "%s%s", out->len ? "," : "", buf_str(&uuids));
        buf_fini(&uuids);
    }
}

#include "launcher/core/device.h"

#include <stdlib.h>
#include <string.h>

void inventory_fini(struct inventory *inv)
{
    free(inv->devices);
    *inv = (struct inventory){0};
}

bool gpu_unit_eq(struct gpu_unit a, struct gpu_unit b)
{
    return a.device == b.device && a.mig == b.mig;
}

const char *gpu_unit_uuid(const struct inventory *inv, struct gpu_unit u)
{
    const struct device *d = &inv->devices[u.device];
    return u.mig < 0 ? d->uuid : d->mig[u.mig].uuid;
}

void gpu_unit_format(const struct inventory *inv, struct gpu_unit u, struct buf *out)
{
    const struct device *d = &inv->devices[u.device];
    buf_addf(out, "%d", d->index);
    if (u.mig >= 0)
        buf_addf(out, ":%d", d->mig[u.mig].slot);
}

/* Takes min to max hex digits from *p. */
static int take_hex(const char **p, int min, int max, uint32_t *out)
{
    int n = 0;
    uint32_t v = 0;
    for (; n < max; n++, ++*p) {
        char c = **p;
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (unsigned)((c | 0x20) - 'a') + 10;
        else
            break;
        v = v << 4 | digit;
    }
    *out = v;
    return n >= min ? 0 : -1;
}

int device_pci_parse(const char *pci, uint32_t *domain, uint32_t *bus, uint32_t *dev)
{
    const char *p = pci;
    if (take_hex(&p, 4, 8, domain) != 0 || *p++ != ':' || take_hex(&p, 2, 2, bus) != 0
        || *p++ != ':' || take_hex(&p, 2, 2, dev) != 0)
        return -1;
    return *p == '\0' || strcmp(p, ".0") == 0 ? 0 : -1;
}

static bool goes_before(const struct device *a, const struct device *b)
{
    uint32_t x[3], y[3];
    if (device_pci_parse(a->pci, &x[0], &x[1], &x[2]) != 0
        || device_pci_parse(b->pci, &y[0], &y[1], &y[2]) != 0)
        return a->index < b->index;
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i];
    return a->index < b->index;
}

void device_pci_order(const struct inventory *inv, int *order)
{
    for (int i = 0; i < inv->ndevices; i++) {
        int at = i;
        for (; at > 0 && goes_before(&inv->devices[i], &inv->devices[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* A lost GPU tells neither name nor capability, so it says nothing about being mixed. */
static bool is_described(const struct device *d)
{
    return d->name[0] != '\0';
}

bool device_is_mixed(const struct inventory *inv)
{
    const struct device *first = NULL;
    for (int i = 0; i < inv->ndevices; i++) {
        const struct device *d = &inv->devices[i];
        if (!is_described(d))
            continue;
        if (!first)
            first = d;
        else if (strcmp(first->name, d->name) != 0 || first->cc_major != d->cc_major
                 || first->cc_minor != d->cc_minor)
            return true;
    }
    return false;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool device_uuid_starts(const char *uuid, struct str text)
{
    if (strlen(uuid) < 5)
        return false;
    const char *hex = uuid + 4;
    for (size_t i = 0; i < text.n && i < 36; i++)
        if (hex[i] == '\0' || lower(hex[i]) != lower(text.p[i]))
            return false;
    return true;
}

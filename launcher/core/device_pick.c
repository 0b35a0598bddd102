#include "launcher/core/device_pick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void unit_list_add(struct unit_list *l, struct gpu_unit u, int item)
{
    array_grow(l->units, (size_t)l->n, l->cap);
    array_grow(l->items, (size_t)l->n, l->items_cap);
    l->items[l->n] = item;
    l->units[l->n++] = u;
}

void unit_list_fini(struct unit_list *l)
{
    free(l->units);
    free(l->items);
    *l = (struct unit_list){0};
}

static bool list_has(const struct unit_list *l, struct gpu_unit u)
{
    for (int i = 0; i < l->n; i++)
        if (gpu_unit_eq(l->units[i], u))
            return true;
    return false;
}

/* A GPU in MIG mode stands for its instances. */
static void add_expanded(const struct inventory *inv, struct gpu_unit u, int item,
                         struct unit_list *out)
{
    const struct device *d = &inv->devices[u.device];
    if (u.mig >= 0 || !d->mig_enabled) {
        unit_list_add(out, u, item);
        return;
    }
    for (int i = 0; i < d->nmig; i++)
        unit_list_add(out, (struct gpu_unit){u.device, i}, item);
}

void device_expand(const struct inventory *inv, const struct visible *seen,
                   struct unit_list *out)
{
    for (int i = 0; i < seen->nunits; i++)
        add_expanded(inv, seen->units[i], -1, out);
}

/* ---- words for messages ---- */

/* The visible list as text, "2,0,1", behind prefix; empties out first. */
static const char *seen_text(const struct pick *p, const char *prefix, struct buf *out)
{
    buf_reset(out);
    for (int i = 0; i < p->seen->nunits && out->len < 60; i++) {
        struct gpu_unit u = p->seen->units[i];
        buf_adds(out, i ? "," : "");
        if (u.mig < 0) {
            buf_adds(out, prefix);
            gpu_unit_format(p->inv, u, out);
        } else {
            buf_adds(out, prefix[0] ? "mig:" : "");
            gpu_unit_format(p->inv, u, out);
        }
    }
    if (out->len >= 60)
        buf_adds(out, ",...");
    return buf_str(out);
}

static void add_range(const struct gpu_item *it, struct buf *out)
{
    buf_addf(out, "%d", it->first);
    if (it->first != it->last)
        buf_addf(out, "-%d", it->last);
}

static int fail_range(struct pick *p, const struct gpu_item *it, int position)
{
    const struct gpu_spec *spec = p->req->spec;
    struct buf seen, phys;
    buf_init(&seen, 0);
    buf_init(&phys, 0);
    for (int i = 0; i < spec->nitems && phys.len < 60; i++) {
        if (spec->items[i].kind != GPU_ITEM_POSITION)
            continue;
        buf_adds(&phys, phys.len ? "," : "");
        buf_adds(&phys, spec->items[i].removes ? "^phys:" : "phys:");
        add_range(&spec->items[i], &phys);
    }
    int n = p->seen->nunits;
    char places[48];
    snprintf(places, sizeof places, "0%s%d", n == 2 ? "," : "-", n - 1);
    gpu_fail(p->f, GPU_E_RANGE,
             "--gpus %s: no position %d among the visible GPUs %s (%spositions %s); for "
             "nvidia-smi's numbers write %s",
             it->text, position, n ? seen_text(p, "", &seen) : "(none)",
             p->amb->cvd ? "from CUDA_VISIBLE_DEVICES; " : "",
             n > 1    ? places
             : n == 1 ? "0"
                      : "none",
             buf_str(&phys));
    buf_fini(&seen);
    buf_fini(&phys);
    return -1;
}

static int fail_no_match(struct pick *p, const struct gpu_item *it, int index)
{
    const struct inventory *inv = p->inv;
    if (it->kind == GPU_ITEM_PHYS)
        return gpu_fail(p->f, GPU_E_NO_MATCH,
                        "--gpus %s: this machine has no GPU %d; it has %d (phys:0 and on); "
                        "`muster gpus` lists them",
                        it->text, index, inv->ndevices);
    if (it->kind == GPU_ITEM_MIG_SLOT)
        return gpu_fail(p->f, GPU_E_NO_MATCH,
                        "--gpus %s: GPU %d has no MIG instance in slot %d; `muster gpus` lists "
                        "the instances, or write phys:%d for the whole GPU",
                        it->text, it->first, it->last, it->first);
    struct buf have;
    buf_init(&have, 0);
    for (int i = 0; i < inv->ndevices && have.len < 110; i++) {
        const struct device *d = &inv->devices[i];
        buf_adds(&have, i ? ", " : "");
        if (it->kind == GPU_ITEM_PCI)
            buf_addf(&have, "pci:%s", strlen(d->pci) > 4 ? d->pci + 4 : "?");
        else if (it->kind == GPU_ITEM_MINOR)
            buf_addf(&have, "minor:%d", d->minor);
        else if (it->kind == GPU_ITEM_GPU_UUID)
            buf_addf(&have, "%.12s", d->uuid);
        else
            for (int m = 0; m < d->nmig; m++)
                buf_addf(&have, "%s%.12s", m ? ", " : "", d->mig[m].uuid);
    }
    gpu_fail(p->f, GPU_E_NO_MATCH, "--gpus %s: no such device on this machine; it has %s",
             it->text, have.len ? buf_str(&have) : "none of that kind");
    buf_fini(&have);
    return -1;
}

static int fail_ambiguous(struct pick *p, const struct gpu_item *it,
                          const struct unit_list *found)
{
    struct buf names;
    buf_init(&names, 0);
    for (int i = 0; i < found->n && names.len < 120; i++) {
        buf_adds(&names, i ? ", " : "");
        if (it->kind == GPU_ITEM_PCI)
            buf_adds(&names, p->inv->devices[found->units[i].device].pci);
        else
            buf_adds(&names, gpu_unit_uuid(p->inv, found->units[i]));
    }
    gpu_fail(p->f, GPU_E_AMBIGUOUS, "--gpus %s: this means %d devices, %s; write more of it",
             it->text, found->n, buf_str(&names));
    buf_fini(&names);
    return -1;
}

static int fail_not_visible(struct pick *p, const struct gpu_item *it, struct gpu_unit u)
{
    struct buf seen, name;
    buf_init(&seen, 0);
    buf_init(&name, 0);
    gpu_unit_format(p->inv, u, &name);
    gpu_fail(
        p->f, GPU_E_NOT_VISIBLE,
        "--gpus %s: GPU %s exists but CUDA_VISIBLE_DEVICES=%.40s hides it; choose among %s, "
        "or add --ignore-visible",
        it->text, buf_str(&name), p->amb->cvd ? p->amb->cvd : "(unset)",
        seen_text(p, "phys:", &seen));
    buf_fini(&seen);
    buf_fini(&name);
    return -1;
}

static int fail_mig_parent(struct pick *p, const struct gpu_item *it, int device)
{
    const struct device *d = &p->inv->devices[device];
    struct buf names;
    buf_init(&names, 0);
    for (int i = 0; i < d->nmig; i++)
        buf_addf(&names, "%s%smig:%d:%d", i ? "," : "", it->removes ? "^" : "", d->index,
                 d->mig[i].slot);
    gpu_fail(p->f, GPU_E_MIG_PARENT,
             "--gpus %s: GPU %d is split by MIG and cannot be used whole; name its instances, "
             "%s",
             it->text, d->index, d->nmig ? buf_str(&names) : "of which it has none yet");
    buf_fini(&names);
    return -1;
}

/* ---- physical items ---- */

static bool mig_matches(const struct gpu_item *it, const struct device *d, const struct mig *m)
{
    if (it->kind == GPU_ITEM_MIG_UUID)
        return device_uuid_starts(m->uuid, str_from(it->hex));
    if (it->kind == GPU_ITEM_MIG_LEGACY)
        return device_uuid_starts(d->uuid, str_from(it->hex)) && m->gi == it->first
               && m->ci == it->last;
    return it->kind == GPU_ITEM_MIG_SLOT && d->index == it->first && m->slot == it->last;
}

static bool gpu_matches(const struct gpu_item *it, const struct device *d, int index)
{
    uint32_t domain, bus, dev;
    switch (it->kind) {
    case GPU_ITEM_PHYS:
        return d->index == index;
    case GPU_ITEM_GPU_UUID:
        return device_uuid_starts(d->uuid, str_from(it->hex));
    case GPU_ITEM_MINOR:
        return d->minor == it->first;
    case GPU_ITEM_PCI:
        return device_pci_parse(d->pci, &domain, &bus, &dev) == 0 && bus == it->bus
               && dev == it->dev && (it->domain < 0 || it->domain == domain);
    case GPU_ITEM_ALL:
    case GPU_ITEM_NONE:
    case GPU_ITEM_AUTO:
    case GPU_ITEM_FIRST:
    case GPU_ITEM_POSITION:
    case GPU_ITEM_MIG_UUID:
    case GPU_ITEM_MIG_LEGACY:
    case GPU_ITEM_MIG_SLOT:
        break;
    }
    return false;
}

static bool is_visible(const struct pick *p, struct gpu_unit u)
{
    for (int i = 0; i < p->seen->nunits; i++) {
        struct gpu_unit s = p->seen->units[i];
        if (s.device == u.device && (s.mig == -1 || s.mig == u.mig))
            return true;
    }
    return false;
}

/* One physical item (index: which one, of a phys: range) to the one unit that it names. */
static int find_physical(struct pick *p, const struct gpu_item *it, int index,
                         struct gpu_unit *u)
{
    struct unit_list found = {0};
    for (int d = 0; d < p->inv->ndevices; d++) {
        const struct device *dev = &p->inv->devices[d];
        if (gpu_matches(it, dev, index))
            unit_list_add(&found, (struct gpu_unit){d, -1}, -1);
        for (int m = 0; m < dev->nmig; m++)
            if (mig_matches(it, dev, &dev->mig[m]))
                unit_list_add(&found, (struct gpu_unit){d, m}, -1);
    }
    int rc = 0;
    if (found.n == 0)
        rc = fail_no_match(p, it, index);
    else if (found.n > 1)
        rc = fail_ambiguous(p, it, &found);
    else
        *u = found.units[0];
    unit_list_fini(&found);
    if (rc != 0)
        return -1;
    if (!p->req->ignore_visible && !is_visible(p, *u))
        return fail_not_visible(p, it, *u);
    return 0;
}

/* ---- items ---- */

static int add_named(struct pick *p, const struct gpu_item *it, struct gpu_unit u, int item,
                     struct unit_list *out)
{
    if (u.mig < 0 && p->inv->devices[u.device].mig_enabled)
        return fail_mig_parent(p, it, u.device);
    unit_list_add(out, u, item);
    return 0;
}

static int add_range_items(struct pick *p, const struct gpu_item *it, int item,
                           struct unit_list *out)
{
    int step = it->first <= it->last ? 1 : -1;
    for (int i = it->first;; i += step) {
        struct gpu_unit u;
        if (it->kind == GPU_ITEM_PHYS) {
            if (find_physical(p, it, i, &u) != 0)
                return -1;
        } else if (i >= p->seen->nunits) {
            return fail_range(p, it, i);
        } else {
            u = p->seen->units[i];
        }
        if (add_named(p, it, u, item, out) != 0)
            return -1;
        if (i == it->last)
            return 0;
    }
}

static int add_first(struct pick *p, const struct gpu_item *it, int item, struct unit_list *out)
{
    struct unit_list all = {0};
    device_expand(p->inv, p->seen, &all);
    int have = all.n;
    for (int i = 0; i < it->first && i < have; i++)
        unit_list_add(out, all.units[i], item);
    unit_list_fini(&all);
    if (have >= it->first)
        return 0;
    return gpu_fail(p->f, GPU_E_INSUFFICIENT,
                    "--gpus %s: only %d GPU%s visible here; ask for n:%d or all", it->text,
                    have, have == 1 ? " is" : "s are", have);
}

static int add_item(struct pick *p, const struct gpu_item *it, int item, struct unit_list *out)
{
    struct gpu_unit u;
    switch (it->kind) {
    case GPU_ITEM_ALL:
        for (int i = 0; i < p->seen->nunits; i++)
            add_expanded(p->inv, p->seen->units[i], item, out);
        return 0;
    case GPU_ITEM_FIRST:
        return add_first(p, it, item, out);
    case GPU_ITEM_POSITION:
    case GPU_ITEM_PHYS:
        return add_range_items(p, it, item, out);
    case GPU_ITEM_GPU_UUID:
    case GPU_ITEM_MIG_UUID:
    case GPU_ITEM_MIG_LEGACY:
    case GPU_ITEM_MIG_SLOT:
    case GPU_ITEM_PCI:
    case GPU_ITEM_MINOR:
        if (find_physical(p, it, it->first, &u) != 0)
            return -1;
        return add_named(p, it, u, item, out);
    case GPU_ITEM_NONE:
    case GPU_ITEM_AUTO: /* device_pick_auto: needs the removals first */
        return 0;
    }
    return 0;
}

static int collect(struct pick *p, struct unit_list *added, struct unit_list *removed)
{
    const struct gpu_spec *spec = p->req->spec;
    const struct gpu_item *autos = NULL;
    int adding = 0;
    for (int i = 0; spec && i < spec->nitems; i++) {
        const struct gpu_item *it = &spec->items[i];
        adding += !it->removes;
        if (it->kind == GPU_ITEM_AUTO)
            autos = it;
        if (add_item(p, it, i, it->removes ? removed : added) != 0)
            return -1;
    }
    if (!adding)
        device_expand(p->inv, p->seen, added);
    return autos ? device_pick_auto(p, autos, removed, added) : 0;
}

/* ---- what is refused ---- */

/* The words that named a unit. */
static const char *named_by(const struct pick *p, const struct unit_list *l, int i)
{
    return l->items[i] < 0 ? "CUDA_VISIBLE_DEVICES" : p->req->spec->items[l->items[i]].text;
}

static int check_twice(struct pick *p, const struct unit_list *l)
{
    for (int i = 1; i < l->n; i++) {
        for (int j = 0; j < i; j++) {
            if (!gpu_unit_eq(l->units[i], l->units[j]))
                continue;
            struct buf name;
            buf_init(&name, 0);
            gpu_unit_format(p->inv, l->units[i], &name);
            gpu_fail(p->f, GPU_E_DUPLICATE,
                     "--gpus: \"%s\" and \"%s\" are both GPU %s; name it once (several workers "
                     "on one GPU: --procs-per-gpu 2)",
                     named_by(p, l, j), named_by(p, l, i), buf_str(&name));
            buf_fini(&name);
            return -1;
        }
    }
    return 0;
}

static int check_state(struct pick *p, const struct unit_list *l)
{
    for (int i = 0; i < l->n; i++) {
        const struct device *d = &p->inv->devices[l->units[i].device];
        if (d->lost)
            return gpu_fail(
                p->f, GPU_E_UNHEALTHY,
                "GPU %d (%s) is lost: it has fallen off the bus and needs a reset or "
                "a reboot; leave it out with ^phys:%d or --skip-unhealthy",
                d->index, d->pci[0] ? d->pci : "address unknown", d->index);
    }
    for (int i = 0; i < l->n; i++) {
        const struct device *d = &p->inv->devices[l->units[i].device];
        if (d->mode == COMPUTE_PROHIBITED)
            return gpu_fail(p->f, GPU_E_PROHIBITED,
                            "GPU %d is in compute mode PROHIBITED; leave it out with ^phys:%d, "
                            "or have root run nvidia-smi -i %d -c DEFAULT",
                            d->index, d->index, d->index);
        if (d->mode == COMPUTE_EXCLUSIVE_PROCESS && p->req->procs_per_gpu > 1 && !p->amb->mps)
            return gpu_fail(p->f, GPU_E_EXCLUSIVE,
                            "GPU %d is in compute mode EXCLUSIVE_PROCESS, which allows one "
                            "process, and --procs-per-gpu is %d; use MPS or --procs-per-gpu 1",
                            d->index, p->req->procs_per_gpu);
    }
    return 0;
}

int device_pick(struct pick *p, struct unit_list *out)
{
    struct unit_list added = {0}, removed = {0};
    int rc = collect(p, &added, &removed);
    for (int i = 0; rc == 0 && i < added.n; i++)
        if (!list_has(&removed, added.units[i]))
            unit_list_add(out, added.units[i], added.items[i]);
    unit_list_fini(&added);
    unit_list_fini(&removed);
    if (rc != 0 || check_twice(p, out) != 0)
        return -1;
    int kept = 0;
    for (int i = 0; i < out->n; i++) {
        if (p->req->skip_unhealthy && p->inv->devices[out->units[i].device].lost)
            continue;
        out->items[kept] = out->items[i];
        out->units[kept++] = out->units[i];
    }
    out->n = kept;
    if (!kept)
        return gpu_fail(p->f, GPU_E_EMPTY,
                        "--gpus leaves no GPU at all; for workers without a GPU write "
                        "--gpus none -n N, else choose some of the %d visible",
                        p->seen->nunits);
    return check_state(p, out);
}

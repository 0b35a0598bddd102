/* device_pick.h - the part of resolve() that turns the items of --gpus into GPUs.
 *
 * Owns what each item means (positions in the visible list, physical names, `auto`) and which
 * GPUs are refused. Knows nothing of ranks but how many GPUs they need. Called by device_select
 * alone.
 */
#ifndef MUSTER_LAUNCHER_CORE_DEVICE_PICK_H
#define MUSTER_LAUNCHER_CORE_DEVICE_PICK_H

#include "launcher/core/device_select.h"

/* A list of units; owned, free with unit_list_fini. */
struct unit_list {
    struct gpu_unit *units;
    int *items; /* place in the spec of the item that named each; -1 = none did */
    int n;
    size_t cap, items_cap;
};

/* Appends a unit that was chosen by this item of the request. */
void unit_list_add(struct unit_list *l, struct gpu_unit u, int item);
void unit_list_fini(struct unit_list *l);

/* The visible list with each GPU in MIG mode replaced by its instances. */
void device_expand(const struct inventory *inv, const struct visible *seen,
                   struct unit_list *out);

/* What picking works on. */
struct pick {
    const struct request *req;
    const struct ambient *amb;
    const struct inventory *inv;
    const struct visible *seen;
    struct gpu_fault *f;
    bool busy; /* out: `auto` took a GPU with processes */
};

/* Steps 6 and 7: fills out, which is the caller's to release also on failure. */
int device_pick(struct pick *p, struct unit_list *out);

/* `auto`: the least used n of the candidates (all but those that removed holds), in their
 * order.
 */
int device_pick_auto(struct pick *p, const struct gpu_item *it, const struct unit_list *removed,
                     struct unit_list *out);

#endif

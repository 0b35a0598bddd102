/* heap.h - the simulator's future: items in order of (time, sequence). Tests only. */
#ifndef MUSTER_TESTS_SIM_HEAP_H
#define MUSTER_TESTS_SIM_HEAP_H

#include "launcher/core/event.h"

enum item_kind {
    ITEM_EVENT,    /* ev for the machine of target */
    ITEM_TICK,     /* the timer of target */
    ITEM_PROC_END, /* worker local of target comes to its natural end */
    ITEM_FAULT,    /* fault number local of the configuration begins */
    ITEM_THAW,     /* target runs again */
    ITEM_SIGN,     /* worker local of target gives its next sign of life */
    ITEM_SSH,      /* target, the head or a node, and the agent of node local: see ssh.c */
};

struct item {
    enum item_kind kind;
    uint32_t target, local;
    uint32_t generation; /* whose processes it is about; HEAP_ANY = does not matter */
    struct worker_end end;
    struct event ev;
};

#define HEAP_HEAD (UINT32_MAX - 1) /* target: the head */
#define HEAP_ANY UINT32_MAX

/* Zero-initialised by the owner. */
struct heap {
    struct heap_key {
        uint64_t at_ms, sequence;
        uint32_t slot;
    } * keys;
    struct item *slots;
    uint32_t *unused;
    size_t len, cap, nslots, slots_cap, nunused, unused_cap;
    uint64_t sequence;
};

void heap_push(struct heap *h, uint64_t at_ms, const struct item *item);
/* Takes the earliest, of equals the one pushed first. False if there is none. */
bool heap_pop(struct heap *h, uint64_t *at_ms, struct item *item);
void heap_fini(struct heap *h);

#endif

/* spares.h - nodes that came while the job had no place for them. They wait, first come first
 * taken, for the place of one that is lost, or for the end of the job.
 *
 * Owns what they said in their hello and when each was heard last. Who may wait, and when one
 * is taken, decides job.c.
 */
#ifndef MUSTER_LAUNCHER_CORE_SPARES_H
#define MUSTER_LAUNCHER_CORE_SPARES_H

#include "launcher/core/event.h"

struct spare {
    uint32_t link;
    struct frame hello; /* its text is owned */
    uint64_t last_heard_ms;
};

/* Zero-initialised by the owner. */
struct spares {
    struct spare *list;
    size_t n, capacity;
};

void spares_fini(struct spares *s);

/* hello is copied. */
void spares_add(struct spares *s, uint32_t link, const struct frame *hello, uint64_t now_ms);

/* The one behind a link; NULL if it is none. Valid until the next add or remove. */
struct spare *spares_find(const struct spares *s, uint32_t link);

/* Forgets one of the list; the others stay in order. */
void spares_remove(struct spares *s, struct spare *spare);

/* None of them is judged by a time in which nothing could be heard. */
void spares_hear_all(struct spares *s, uint64_t now_ms);

#endif

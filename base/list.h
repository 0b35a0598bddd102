/* list.h - intrusive doubly linked list: the link lives in the element, nothing is allocated.
 *
 * A list is a ring through its head. An element that is in no list points to itself, so
 * removing it twice is harmless.
 */
#ifndef MUSTER_BASE_LIST_H
#define MUSTER_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

/* For a head, and for an element before its first use. */
void list_init(struct list *l);
void list_push(struct list *head, struct list *item); /* at the end; item must be in no list */
void list_remove(struct list *item);                  /* leaves item in no list */
bool list_is_empty(const struct list *head);

#define list_entry(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))
#define list_first(head, type, member) list_entry((head)->next, type, member)

#endif

#include "base/list.h"

void list_init(struct list *l)
{
    l->next = l->prev = l;
}

void list_push(struct list *head, struct list *item)
{
    item->prev = head->prev;
    item->next = head;
    head->prev->next = item;
    head->prev = item;
}

void list_remove(struct list *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    list_init(item);
}

bool list_is_empty(const struct list *head)
{
    return head->next == head;
}

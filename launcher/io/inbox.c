#include "launcher/io/inbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct letter {
    struct list link;
    struct wire_message message;
    char bytes[];
};

void inbox_init(struct inbox *box)
{
    list_init(&box->letters);
}

const struct wire_message *inbox_add(struct inbox *box, struct str bytes, struct err *e)
{
    struct letter *l = mem_alloc(1, sizeof *l + bytes.n);
    memcpy(l->bytes, bytes.p, bytes.n);
    if (link_wire_decode((struct str){l->bytes, bytes.n}, &l->message, e) < 0) {
        free(l);
        return NULL;
    }
    list_push(&box->letters, &l->link);
    return &l->message;
}

void inbox_empty(struct inbox *box)
{
    while (!list_is_empty(&box->letters)) {
        struct letter *l = list_first(&box->letters, struct letter, link);
        list_remove(&l->link);
        wire_message_fini(&l->message);
        free(l);
    }
}

/* inbox.h - messages of a link, kept while the frames that were read from them are looked at.
 *
 * What a frame borrows lies in the message's bytes; events that carry it wait in a queue. So
 * the messages stay until all queues are empty.
 */
#ifndef MUSTER_LAUNCHER_IO_INBOX_H
#define MUSTER_LAUNCHER_IO_INBOX_H

#include "base/list.h"
#include "launcher/core/link_wire.h"

struct inbox {
    struct list letters;
};

/* The caller's memory; inbox_empty before it goes. */
void inbox_init(struct inbox *box);

/* Copies and decodes a message. It stays until inbox_empty. NULL with ERR_PROTOCOL. */
const struct wire_message *inbox_add(struct inbox *box, struct str bytes, struct err *e);

/* Forgets all messages: no event that was made from one may be waiting. */
void inbox_empty(struct inbox *box);

#endif

/* notify.h - the socket through which workers tell that they are alive: MUSTER_NOTIFY_SOCKET.
 *
 * One datagram socket a node, with an abstract name of the kernel's choice ("@0001f", as
 * sd_notify(3) writes it): nothing to remove, whatever ends muster. Reads messages and who sent
 * them; does not know ranks and decides nothing. Costs six system calls where nobody uses it.
 */
#ifndef MUSTER_LAUNCHER_IO_NOTIFY_H
#define MUSTER_LAUNCHER_IO_NOTIFY_H

#include <sys/types.h>

#include "launcher/core/notify_parse.h"
#include "launcher/io/watch.h"

struct notify;

struct notify_events {
    void *ctx;
    /* pid: the sender's, as the kernel says; 0 = outside our pid namespace. m stays valid until
     * the next round of callbacks. */
    void (*on_message)(void *ctx, pid_t pid, const struct notify_message *m);
    /* A datagram that is not understood. */
    void (*on_refused)(void *ctx, pid_t pid, const struct err *e);
};

/* NULL with ERR_SYSTEM: the job can do without. Messages of other users are dropped. */
struct notify *notify_open(struct watch_set *watches, const struct notify_events *events,
                           struct err *e);
void notify_close(struct notify *n); /* NULL is fine */

/* For MUSTER_NOTIFY_SOCKET. */
const char *notify_address(const struct notify *n);

/* The sender's side, for `muster notify`: one datagram, never waiting. address: "@name" or a
 * path. 0, or -1 with ERR_SYSTEM. */
int notify_send(const char *address, const char *text, size_t n, struct err *e);

#endif

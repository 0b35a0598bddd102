/* peer_uid.h - which user owns the other end of a TCP connection within this machine.
 *
 * Asks the kernel for the one socket (NETLINK_SOCK_DIAG, no privilege needed, some 20 us);
 * where that cannot be asked, reads /proc/net/tcp and tcp6, whose cost grows with all
 * connections of the machine, once for a batch. Which users may do what decides the caller.
 */
#ifndef MUSTER_RENDEZVOUS_PEER_UID_H
#define MUSTER_RENDEZVOUS_PEER_UID_H

#include <stdbool.h>
#include <stdint.h>

struct peer_uid;
struct sockaddr;

/* has_netlink: ask the kernel first. tables: folder of the files tcp and tcp6, "/proc/net";
 * borrowed. Opens nothing yet. */
struct peer_uid *peer_uid_new(bool has_netlink, const char *tables);
void peer_uid_free(struct peer_uid *p); /* NULL is fine */

enum peer_uid_result {
    PEER_UID_FOUND,
    PEER_UID_UNKNOWN,   /* nobody has that socket any more, or it cannot be told just now */
    PEER_UID_IMPOSSIBLE /* this system can tell it of no connection */
};

/* near, far: the two ends of a connection as our socket has them (getsockname, getpeername).
 * batch: a number that stays the same while connections that were accepted together are asked
 * for; a table that was read is good for one batch. *uid is in our user namespace; an owner
 * that has no number in it appears as the kernel's overflow uid (65534). A socket that its
 * process has closed is UNKNOWN: kernels show it as root's. */
enum peer_uid_result peer_uid_find(struct peer_uid *p, const struct sockaddr *near,
                                   const struct sockaddr *far, uint64_t batch, uint32_t *uid);

#endif

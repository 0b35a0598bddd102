/* held_ports.h - ports of this machine for workers that listen themselves.
 *
 * A port is held by a socket that is bound and does not listen: the kernel gives it to nobody
 * who asks for any port, while a server of the same user that sets SO_REUSEADDR or SO_REUSEPORT
 * before it binds, as nearly all do, can listen on it.
 */
#ifndef MUSTER_LAUNCHER_IO_HELD_PORTS_H
#define MUSTER_LAUNCHER_IO_HELD_PORTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Zero-initialised by the owner. */
struct held_ports {
    uint16_t *numbers; /* n of them; NULL if n is 0 */
    int *fds;
    size_t n;
};

/* Holds n ports of 127.0.0.1, none if n is 0. 0, or -1 with ERR_SYSTEM: then none is held. */
int held_ports_open(struct held_ports *p, size_t n, struct err *e);

/* Lets go of all; fine if there is none. */
void held_ports_close(struct held_ports *p);

#endif

/* live_server.h - a listening store in a thread of the test, for tests through sockets. */
#ifndef MUSTER_TESTS_UNIT_RENDEZVOUS_LIVE_SERVER_H
#define MUSTER_TESTS_UNIT_RENDEZVOUS_LIVE_SERVER_H

#include <stdint.h>

#include "rendezvous/port.h"

struct live_server;

/* opt may be NULL: the defaults. Its callbacks run on the server's thread. Ends the test
 * process if it cannot start. */
struct live_server *live_server_start(const struct port_options *opt);
uint16_t live_server_port(const struct live_server *s);

/* Runs fn on the server's thread and returns when it has. */
void live_server_call(struct live_server *s, void (*fn)(struct port *p, void *arg), void *arg);
void live_server_generation(struct live_server *s);
void live_server_stop(struct live_server *s);

#endif

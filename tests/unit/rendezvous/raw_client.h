/* raw_client.h - the blocking end of a connection to a store in the same process, byte by byte,
 * for tests. What goes wrong, or takes longer than 10 s, fails the test.
 */
#ifndef MUSTER_TESTS_UNIT_RENDEZVOUS_RAW_CLIENT_H
#define MUSTER_TESTS_UNIT_RENDEZVOUS_RAW_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define VALIDATE "\x00\xce\xf7\x85\x3c"

/* A connection to this port on 127.0.0.1, which has said nothing yet. */
int client_dial(uint16_t port);

/* One that is validated and has had an answer. */
int client_join(uint16_t port);

void client_say(int fd, const void *p, size_t n);
#define SAY(fd, text) client_say((fd), (text), sizeof(text) - 1)

/* Exactly n bytes into p. */
void client_hear(int fd, void *p, size_t n);

/* All that comes up to the end of the stream, appended to out; closes fd. */
void client_hear_all(int fd, struct buf *out);

/* End of stream or reset; closes fd. */
void client_hear_end(int fd);

/* Nothing has come so far, nor has the connection ended. */
void client_hear_nothing(int fd);

/* Closes with a reset; what was said has gone out before it. */
void client_reset(int fd);

#endif

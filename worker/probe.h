/* probe.h - small TCP tools of the bootstrap: a listener to be probed, a connection to it, and
 * NCCL's RAS service.
 *
 * NCCL's own root accepts without a deadline and connects retry for a minute in silence, so the
 * way to its address is tried with a listener of our own beside it. Knows no store.
 */
#ifndef MUSTER_WORKER_PROBE_H
#define MUSTER_WORKER_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { PROBE_ADDRESS_MAX = 80, PROBE_INTERFACE_MAX = 32 };

/* The address in an ncclUniqueId (u64 magic, then a sockaddr; NCCL's bootstrap.cc) and the
 * interface that has it ("" if unknown). -1: ERR_PROTOCOL, the layout is another one. */
int probe_root_address(const void *id, size_t len, char ip[PROBE_ADDRESS_MAX], uint16_t *port,
                       char interface[PROBE_INTERFACE_MAX], struct err *e);

/* A listening socket on ip and any port, which is stored; close it with close(). -1: err. The
 * kernel completes connections; nobody accepts. */
int probe_listen(const char *ip, uint16_t *port, struct err *e);

/* A connected, non-blocking socket; close it with close(). -1 (ERR_TIMEOUT, ERR_SYSTEM). */
int probe_open(const char *ip, uint16_t port, uint64_t timeout_ms, struct err *e);

/* Connects and closes again; 0 or -1 (ERR_TIMEOUT, ERR_SYSTEM). */
int probe_connect(const char *ip, uint16_t port, uint64_t timeout_ms, struct err *e);

/* A TCP port of loopback that is free now. */
int probe_free_port(uint16_t *port, struct err *e);

/* The port of an NCCL_RAS_ADDR on this machine ("localhost:28028"), 0 if it is none. */
uint16_t probe_ras_port(const char *address);

/* Sends "VERBOSE STATUS" to NCCL's RAS at 127.0.0.1:port (NCCL's documentation, "RAS") and
 * appends its answer: at most 1 MiB within 12 s, since RAS itself waits 5 s for silent peers;
 * bytes that are no text become "?". 0, or -1 if nobody answers. */
int probe_ras(uint16_t port, struct buf *answer, struct err *e);

#endif

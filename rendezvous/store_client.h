/* store_client.h - a blocking client of a c10d TCPStore, without libuv.
 *
 * Used by muster-worker, diagnosis and tests. Speaks the protocol of PyTorch 2.2 and later
 * (VALIDATE first) to any server of it. Keys are sent as given: PyTorch's own classes put "/"
 * before theirs, so a key without it is out of their reach. One request at a time; every answer
 * has a deadline. After ERR_CLOSED, ERR_PROTOCOL or a failed send the connection is dead and
 * every further call fails with ERR_CLOSED. Not thread-safe: one client a thread.
 */
#ifndef MUSTER_RENDEZVOUS_STORE_CLIENT_H
#define MUSTER_RENDEZVOUS_STORE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct store_client;

/* Connects to host:port (a name or a numeric address; all its addresses are tried) and sends
 * VALIDATE and PING; retries with growing pauses until timeout_ms is over. answer_ms is the
 * deadline of every later answer except those of store_client_wait. NULL: ERR_UNAVAILABLE (says
 * what was tried) or ERR_USAGE. */
struct store_client *store_client_new(const char *host, uint16_t port, uint64_t timeout_ms,
                                      uint64_t answer_ms, struct err *e);
void store_client_free(struct store_client *c); /* closes; NULL is fine */

/* All return 0, or -1 with ERR_TIMEOUT, ERR_CLOSED or ERR_PROTOCOL. Values are bytes. */
int store_client_set(struct store_client *c, const char *key, const void *value, size_t len,
                     struct err *e);
/* Replaces the content of out (initialised by the caller). A missing key gives an empty value;
 * it does not wait. */
int store_client_get(struct store_client *c, const char *key, struct buf *out, struct err *e);
int store_client_add(struct store_client *c, const char *key, int64_t delta, int64_t *sum,
                     struct err *e);
/* Stores desired if the value equals expected (expected_len 0 matches a missing key); out = the
 * value afterwards. */
int store_client_compare_set(struct store_client *c, const char *key, const void *expected,
                             size_t expected_len, const void *desired, size_t desired_len,
                             struct buf *out, struct err *e);
int store_client_delete(struct store_client *c, const char *key, bool *deleted, struct err *e);
int store_client_num_keys(struct store_client *c, int64_t *n, struct err *e);
/* *present: all n keys exist. */
int store_client_check(struct store_client *c, const char *const *keys, size_t n, bool *present,
                       struct err *e);
/* Until all n keys exist, at most timeout_ms; on ERR_TIMEOUT the wait was cancelled and the
 * connection stays usable. */
int store_client_wait(struct store_client *c, const char *const *keys, size_t n,
                      uint64_t timeout_ms, struct err *e);
/* n values, one after another; values[i] initialised by the caller. Missing keys give empty
 * values. */
int store_client_multi_get(struct store_client *c, const char *const *keys, size_t n,
                           struct buf *values, struct err *e);

#endif

/* tcpstore_wire.h - the bytes of PyTorch's c10d TCPStore: requests in, replies out.
 *
 * Decides who a client is from its first bytes, decodes requests from any chunking, and writes
 * the parts that requests and replies are made of. Knows no keys, no sockets and no clock.
 * Protocol: docs/design/0007-tcpstore.md; there is no framing, an error is a closed connection.
 */
#ifndef MUSTER_RENDEZVOUS_TCPSTORE_WIRE_H
#define MUSTER_RENDEZVOUS_TCPSTORE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "rendezvous/blob.h"

/* X(name, number since 2.2, number in 1.13 or -1, is a list, fields of one item): k = key,
 * v = value, i = 64-bit number, u = 32-bit number. A list has a count before its items. */
#define WIRE_QUERIES(X)                                                                        \
    X(VALIDATE, 0, -1, false, "u")                                                             \
    X(SET, 1, 0, false, "kv")                                                                  \
    X(COMPARE_SET, 2, 1, false, "kvv")                                                         \
    X(GET, 3, 2, false, "k")                                                                   \
    X(ADD, 4, 3, false, "ki")                                                                  \
    X(CHECK, 5, 4, true, "k")                                                                  \
    X(WAIT, 6, 5, true, "k")                                                                   \
    X(GETNUMKEYS, 7, 6, false, "")                                                             \
    X(DELETE_KEY, 8, 8, false, "k")                                                            \
    X(APPEND, 9, -1, false, "kv")                                                              \
    X(MULTI_GET, 10, -1, true, "k")                                                            \
    X(MULTI_SET, 11, -1, true, "kv")                                                           \
    X(CANCEL_WAIT, 12, -1, false, "")                                                          \
    X(PING, 13, -1, false, "u")                                                                \
    X(QUEUE_PUSH, 14, -1, false, "kv")                                                         \
    X(QUEUE_POP, 15, -1, false, "k")                                                           \
    X(QUEUE_LEN, 16, -1, false, "k")                                                           \
    X(LIST_KEYS, 17, -1, false, "")                                                            \
    X(BARRIER, 18, -1, false, "ki")

enum wire_query {
#define X(name, number, legacy, list, fields) WIRE_##name = number,
    WIRE_QUERIES(X)
#undef X
        WIRE_QUERY_COUNT
};

enum {
    WIRE_MAGIC = 0x3C85F7CE, /* follows VALIDATE */
    WIRE_STOP_WAITING = 0,   /* the byte that ends WAIT and BARRIER */
    WIRE_WAIT_CANCELED = 1,  /* the byte that answers CANCEL_WAIT */
    WIRE_DETECT_MAX = 24,    /* wire_detect decides at the latest with this many bytes */
};

/* Why a client is not served. X(name, text) */
#define WIRE_REASONS(X)                                                                        \
    X(NONE, "no reason")                                                                       \
    X(NOT_C10D, "its first bytes are not those of a TCPStore client")                          \
    X(BYTE_ORDER, "it is a TCPStore client of the other byte order")                           \
    X(DEV_2023, "it speaks a 2023 development version of TCPStore (a magic in each request)")  \
    X(LEGACY_OFF, "it is a client of PyTorch 1.13, which is switched off")                     \
    X(LEGACY_QUERY, "PyTorch 1.13 has no such query: a client of PyTorch 2.1, perhaps")        \
    X(NO_QUERY, "there is no such query")                                                      \
    X(VALIDATE_TWICE, "it sent VALIDATE twice")                                                \
    X(MAGIC, "VALIDATE with a wrong magic")                                                    \
    X(KEY_LENGTH, "a key is longer than the limit")                                            \
    X(VALUE_LENGTH, "a value is longer than the limit")                                        \
    X(LIST_LENGTH, "a list has more keys than the limit")                                      \
    X(REQUEST_SIZE, "a request is larger than the limit")

enum wire_reason {
#define X(name, text) WIRE_BAD_##name,
    WIRE_REASONS(X)
#undef X
        WIRE_REASON_COUNT
};

/* Largest lengths that are accepted; judged when the number is read. */
struct wire_limits {
    uint32_t max_key;   /* bytes of a key */
    uint32_t max_value; /* bytes of a value */
    uint32_t max_keys;  /* keys in a list */
    size_t max_request; /* bytes of all keys and values of one request */
};

/* 8192, 8388608, 131072 (those of PyTorch's libuv server) and 64 MiB. */
struct wire_limits wire_limits_default(void);

enum wire_dialect { WIRE_MODERN, WIRE_LEGACY }; /* PyTorch 2.2 and later; 1.13 */

enum wire_client {
    WIRE_CLIENT_UNDECIDED, /* more bytes are needed */
    WIRE_CLIENT_MODERN,
    WIRE_CLIENT_LEGACY,
    WIRE_CLIENT_LINK, /* 'M': a node of the same job, served elsewhere */
    WIRE_CLIENT_REFUSED,
};

/* Who sent these first n bytes of a connection; *why is set when refused. Part of a number is a
 * lower bound, so that nonsense is refused early. legacy: whether 1.13 is served. */
enum wire_client wire_detect(const char *p, size_t n, const struct wire_limits *limits,
                             bool legacy, enum wire_reason *why);

/* A key or value. Bytes that arrived in one piece stay where the caller read them (blob NULL);
 * else blob holds exactly them. */
struct wire_field {
    const char *p;
    size_t n;
    struct blob *blob;
};

struct wire_item {
    struct wire_field key;
    struct wire_field value;   /* SET, APPEND, MULTI_SET, QUEUE_PUSH; expected of COMPARE_SET */
    struct wire_field desired; /* COMPARE_SET */
};

struct wire_request {
    enum wire_query query;
    int64_t number; /* ADD delta, BARRIER world size, PING nonce */
    size_t count;   /* items; 0 for an empty list and a query without fields */
    struct wire_item *items;
};

enum wire_event {
    WIRE_MORE,    /* all input is used */
    WIRE_BEGUN,   /* a query byte was read, not yet a whole request of one item */
    WIRE_REQUEST, /* one request is complete, with or without BEGUN before it */
    WIRE_BAD,     /* close: wire_bad() says why; never call decode again */
};

/* State of one connection; its members are private. Small while no request is unfinished. */
struct wire_decoder {
    const struct wire_limits *limits;
    struct wire_request request;
    struct wire_item one; /* the items of a request that has just one */
    size_t cap, kept;     /* room in items; leading items that no longer point into the input */
    size_t need;          /* bytes of the field being read */
    size_t bytes;         /* announced by this request so far */
    uint64_t left;        /* items of a list still to come, the current one included */
    unsigned char number[8], have;
    unsigned char dialect, state, field, reason;
    bool validated;
};

/* limits must outlive it. */
void wire_decoder_init(struct wire_decoder *d, enum wire_dialect dialect,
                       const struct wire_limits *limits);
void wire_decoder_fini(struct wire_decoder *d);

/* Takes bytes off the front of *in up to the next event. After WIRE_REQUEST *request points to
 * the request, valid until the next call and as long as the input's memory: a taker of a blob
 * adds a reference. After WIRE_MORE the input's memory may be reused. */
enum wire_event wire_decode(struct wire_decoder *d, struct str *in,
                            const struct wire_request **request);

/* Where the next bytes of a large key or value may be read to, *n of them at most, to spare
 * their copy: wire_decode then gets them from there. NULL: anywhere else. */
char *wire_room(const struct wire_decoder *d, size_t *n);

/* Whether a request has begun and is not complete. */
bool wire_is_partial(const struct wire_decoder *d);
enum wire_reason wire_bad(const struct wire_decoder *d);

const char *wire_reason_text(enum wire_reason reason);

/* Parts of requests and replies. Little-endian; a key or value is its 64-bit length and its
 * bytes. */
void wire_add_query(struct buf *b, enum wire_query query);
void wire_add_validate(struct buf *b);
void wire_add_bytes(struct buf *b, const void *p, size_t n);
void wire_add_i64(struct buf *b, int64_t v);
uint64_t wire_u64(const char *p); /* 8 bytes at p */

#endif

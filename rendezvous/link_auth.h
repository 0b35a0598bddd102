/* link_auth.h - proves to the head and a node that they belong to one job, and seals what then
 * travels between them. Bytes in, bytes out: sockets and time are link.c's.
 *
 * Owns the handshake and sealed frames; what is proved is link_key.h's. What it does not stop:
 * a peer that has the secret, and whoever cuts the connection. Why it is so:
 * docs/design/0011-link.md.
 *
 *     1 node -> head   "MSTR" min max mode 0 job[16] Na[32]
 *     2 head -> node   "MSTR" version mode other 0 Nh[32] Th[32]
 *     3 node -> head   Ta[32]
 *     then each way    header[24], then frames: u32 little-endian length, so many sealed bytes
 *
 * Th = H(K, "muster head", 1, 2 up to Th) and Ta = H(K, "muster agent", 1, 2).
 * mode 1: K is a secret; 0: K is made of the job's id. H: BLAKE2b with 32 bytes. A refusal
 * stands in the place of 2 (8 bytes) or 3 (32 bytes): "MSTR" 0 reason min max. It proves
 * nothing, so it costs its reader no more than the connection it came on.
 */
#ifndef MUSTER_RENDEZVOUS_LINK_AUTH_H
#define MUSTER_RENDEZVOUS_LINK_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "rendezvous/link_key.h"

enum {
    LINK_VERSION = 1,          /* fixes all algorithms; this program speaks no other */
    LINK_FRAME_MAX = 16 << 20, /* bytes of a frame before it is sealed */
};

/* ---- the handshake */

enum link_role { LINK_HEAD, LINK_NODE };

struct link_auth;

/* One end of one connection. key is borrowed and must outlive it. A node's hello is appended to
 * out. Free with link_auth_free, which wipes the keys of the connection. */
struct link_auth *link_auth_new(const struct link_key *key, enum link_role role,
                                struct buf *out);
void link_auth_free(struct link_auth *a);

enum link_auth_result {
    LINK_AUTH_MORE,    /* send out; more bytes are needed */
    LINK_AUTH_OPEN,    /* send out; the other side has proved itself: seal and unseal */
    LINK_AUTH_REFUSED, /* send out, then close; *e says why */
};

/* Takes whole messages off the front of *in and appends answers to out, until the handshake is
 * over; never call it again then. What is left in *in after LINK_AUTH_OPEN are frames. Errors:
 * ERR_AUTH wrong, missing or unexpected secret; ERR_UNAVAILABLE another version or job;
 * ERR_PROTOCOL no muster at all. The texts are for the end that reads them and name no address.
 */
enum link_auth_result link_auth_take(struct link_auth *a, struct str *in, struct buf *out,
                                     struct err *e);

/* The head's end: whether a whole hello has come that names this job by this key. That is no
 * proof, for a hello can be sent again by whoever has seen one. */
bool link_auth_is_named(const struct link_auth *a);

/* ---- frames, after LINK_AUTH_OPEN */

enum link_tag {
    LINK_TAG_FRAME,
    LINK_TAG_CONTROL, /* between the two ends of the link itself */
    LINK_TAG_FINAL,   /* nothing follows */
};

/* Appends the frame, sealed, to out. At most LINK_FRAME_MAX bytes; none after LINK_TAG_FINAL.
 */
void link_auth_seal(struct link_auth *a, enum link_tag tag, struct str frame, struct buf *out);

enum link_unseal {
    LINK_UNSEAL_MORE, /* *in holds no whole frame */
    LINK_UNSEAL_DONE, /* *tag, and the frame in plain (its old content is gone) */
    LINK_UNSEAL_BAD,  /* *e: ERR_PROTOCOL too long or too short, ERR_AUTH altered, repeated or
                         out of order; the link must end */
};

/* Takes one frame off the front of *in. */
enum link_unseal link_auth_unseal(struct link_auth *a, struct str *in, struct buf *plain,
                                  enum link_tag *tag, struct err *e);

/* How many bytes *in has to hold before link_auth_unseal takes the next frame, as far as the
 * bytes that are there tell. */
size_t link_auth_need(const struct link_auth *a, struct str in);

#endif

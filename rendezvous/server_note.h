/* server_note.h - what the listener and the store server have to tell: an enum and values.
 *
 * The servers do not decide what is said; whoever runs them maps notes to words, with
 * server_note_format as the plain default. Pure.
 */
#ifndef MUSTER_RENDEZVOUS_SERVER_NOTE_H
#define MUSTER_RENDEZVOUS_SERVER_NOTE_H

#include "base/buf.h"
#include "base/str.h"
#include "rendezvous/peer_ip.h"
#include "rendezvous/tcpstore_wire.h"

/* X(name, text after "PEER: ") */
#define SERVER_NOTES(X)                                                                        \
    X(STRANGER, "closed") /* first bytes of nobody we serve; reason */                         \
    X(SILENT, "sent too little to be told apart in time; closed")                              \
    X(NOT_ADMITTED, "is not part of the job; closed")                                          \
    X(GATE_CLOSED, "came while the gate was closed; closed")                                   \
    X(OLD_GENERATION, "connected before this generation began; closed")                        \
    X(NO_LINK, "wants to join as a node, which is not possible here; closed")                  \
    X(BAD_REQUEST, "sent something that is no request; closed")     /* reason */               \
    X(NOT_NUMBER, "counts on a value that is no number; closed")    /* key */                  \
    X(STORE_FULL, "the store has no room for its request; closed")  /* key */                  \
    X(DESCRIPTORS_LOW, "the limit of open files is nearly reached") /* value: the limit */     \
    X(BACKLOG_SMALL, "the kernel's listen queue is short") /* value: net.core.somaxconn */     \
    X(ACCEPT_FAILED, "a connection could not be accepted") /* sys */

enum server_note_kind {
#define X(name, text) SERVER_NOTE_##name,
    SERVER_NOTES(X)
#undef X
        SERVER_NOTE_COUNT
};

struct server_note {
    enum server_note_kind kind;
    enum wire_reason reason; /* WIRE_BAD_NONE where it has none */
    struct str key;          /* valid during the call */
    int sys;                 /* errno, 0 if none */
    unsigned long value;
    char peer[64];     /* "10.0.0.7:40112", "" if there is none */
    struct peer_ip ip; /* the same of one that is refused before it is served */
};

/* One line without newline, "10.0.0.7:40112: closed: its first bytes ...". */
void server_note_format(const struct server_note *note, struct buf *out);

/* Whether it is about somebody who was not served, whoever that is and however often. */
bool server_note_is_stranger(const struct server_note *note);

#endif

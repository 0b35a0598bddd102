/* transcript.h - plays the recorded conversations of tests/vectors/tcpstore against a server.
 *
 * Owns parsing and the rules of the format (README.md there); the server is behind a table of
 * functions, so that the pure store and one behind sockets are held to the same files.
 */
#ifndef MUSTER_TESTS_UNIT_RENDEZVOUS_TRANSCRIPT_H
#define MUSTER_TESTS_UNIT_RENDEZVOUS_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>

enum { TRANSCRIPT_CONNS = 64 }; /* connections are numbered 1 to 63 */

enum transcript_cut { CUT_AS_WRITTEN, CUT_BYTES, CUT_JOINED, CUT_COUNT };

/* What plays the server. Functions that return bool: false = not as the file says. */
struct transcript_server {
    void (*open)(void *ctx, unsigned conn);
    void (*send)(void *ctx, unsigned conn, const void *p, size_t n);
    void (*half_close)(void *ctx, unsigned conn);
    void (*close)(void *ctx, unsigned conn);
    void (*generation)(void *ctx);
    /* All that was sent has been handled. */
    void (*settle)(void *ctx);
    /* Reads exactly n bytes that conn receives. */
    bool (*receive)(void *ctx, unsigned conn, void *p, size_t n);
    bool (*is_quiet)(void *ctx, unsigned conn);
    bool (*is_ended)(void *ctx, unsigned conn);
};

/* Plays one file; false after printing where it differs. ctx is a fresh server. */
bool transcript_play(const char *path, enum transcript_cut cut,
                     const struct transcript_server *server, void *ctx);

/* Calls fn for each *.txt of the folder, sorted; returns how many. */
size_t transcript_each(const char *folder, void (*fn)(void *ctx, const char *path), void *ctx);

#endif

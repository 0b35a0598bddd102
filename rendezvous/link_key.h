/* link_key.h - the secret of a job: where it comes from, and what is proved with it.
 *
 * Owns keys, in memory that is locked and left out of core dumps; with link_auth.c the only
 * user of libsodium. What is sent to prove a key is link_auth.h's. Why it is so:
 * docs/design/0011-link.md.
 */
#ifndef MUSTER_RENDEZVOUS_LINK_KEY_H
#define MUSTER_RENDEZVOUS_LINK_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum {
    LINK_SECRET_SIZE = 32,
    LINK_SECRET_TEXT_SIZE = 2 * LINK_SECRET_SIZE + 1,
    LINK_SECRET_FILE_MIN = 16,   /* bytes, line end not counted */
    LINK_SECRET_FILE_MAX = 4096, /* bytes */
    LINK_JOB_MAX = 255,          /* bytes of a job's id */
    LINK_HASH = 32,              /* bytes that BLAKE2b gives */
    LINK_KEY_TAG = 16,           /* bytes of a job's tag */
};

struct link_key;

/* From a secret that the head made for this job. secret stays the caller's to wipe. NULL with
 * ERR_USAGE for an id that is empty or longer than LINK_JOB_MAX, ERR_SYSTEM if there are no
 * random bytes or no memory to lock; likewise the other two. */
struct link_key *link_key_from_secret(const unsigned char secret[LINK_SECRET_SIZE],
                                      const char *job_id, struct err *e);

/* From the bytes of a file but for one line end at its end. NULL with ERR_USAGE if it cannot be
 * read, is no regular file, is not ours, gives group or others anything, or has too few or too
 * many bytes. */
struct link_key *link_key_from_file(const char *path, const char *job_id, struct err *e);

/* From the job's id alone (mode 0): keeps strangers apart that do not know it, no more. */
struct link_key *link_key_from_id(const char *job_id, struct err *e);

bool link_key_has_secret(const struct link_key *k);
void link_key_free(struct link_key *k); /* wipes it; NULL is fine */

/* A new random secret; its text (hexadecimal, NUL-terminated) for a boot record, and back: 0,
 * or -1 if text is not exactly that. ERR_SYSTEM if there are no random bytes. */
int link_secret_new(unsigned char secret[LINK_SECRET_SIZE], struct err *e);
void link_secret_format(const unsigned char secret[LINK_SECRET_SIZE],
                        char text[LINK_SECRET_TEXT_SIZE]);
int link_secret_parse(struct str text, unsigned char secret[LINK_SECRET_SIZE]);
void link_secret_wipe(void *p, size_t n);

/* ---- for the handshake */

/* Names the job to who has the same key, and says nothing to others: LINK_KEY_TAG bytes. Owned
 * by k, like the job's id. */
const unsigned char *link_key_tag(const struct link_key *k);
const char *link_key_job(const struct link_key *k);

struct link_piece {
    const void *p;
    size_t n;
};

/* BLAKE2b, keyed with k, of the word and the n pieces in this order. The word goes in with its
 * NUL, so that none is the beginning of another. */
void link_key_hash(const struct link_key *k, const char *word, const struct link_piece *pieces,
                   size_t n, unsigned char out[LINK_HASH]);

#endif

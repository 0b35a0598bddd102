/* blob.h - bytes with a reference count: a value that is stored and sent without being copied.
 *
 * Owns its memory and nothing else. Several owners may hold one blob; it may be changed only by
 * its sole owner. Not thread-safe. Pure.
 */
#ifndef MUSTER_RENDEZVOUS_BLOB_H
#define MUSTER_RENDEZVOUS_BLOB_H

#include <stddef.h>

struct blob {
    size_t len, cap;
    unsigned refs;
    char data[];
};

/* An empty blob with room for cap bytes, or one with a copy of n bytes; one reference, the
 * caller's. */
struct blob *blob_sized(size_t cap);
struct blob *blob_new(const void *p, size_t n);

struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b); /* NULL is fine */

/* Adds n bytes; room at least doubles up to limit when it has to grow (limit 0: no bound), so
 * that appending is linear. b must have one owner; it may move: use what is returned. */
struct blob *blob_append(struct blob *b, const void *p, size_t n, size_t limit);

#endif

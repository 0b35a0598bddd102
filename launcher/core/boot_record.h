/* boot_record.h - what an agent must know before it can reach the head: lines `key=value`, then
 * an empty one, over its standard input or in a file of mode 0600.
 *
 * Owns the form of that text and its limits. Errors never repeat a value, because one of them
 * is the job's secret. Does not check the secret, dial or start anything.
 *
 *   muster-boot=1
 *   job=ID
 *   secret=64 hexadecimal digits
 *   address=HOST:PORT        one or more, in the order in which to try; IPv6 in brackets
 *   node=N                   absent: any
 *   parent=N                 the node that starts this one; absent: the head
 *   radix=N                  whom it starts itself: see boot_record_for_child
 *   muster=PATH              its path on all hosts
 *   ssh=PROGRAM              absent: ssh
 *   ssh-arg=WORD             in this order
 *   child=N [USER@]HOST[:PORT]   everybody below it, in the order of the tree
 *
 * tree_shape.h says who starts whom; without children there is nothing behind `parent`.
 */
#ifndef MUSTER_LAUNCHER_CORE_BOOT_RECORD_H
#define MUSTER_LAUNCHER_CORE_BOOT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    BOOT_VERSION = 1,
    BOOT_SECRET_SIZE = 32,
    BOOT_NODE_ANY = -1,
    BOOT_NODES_MAX = 65536,
    BOOT_ADDRESSES_MAX = 64,
    BOOT_ARGS_MAX = 256,
    BOOT_JOB_MAX = 255,       /* bytes of a job id */
    BOOT_VALUE_MAX = 1024,    /* bytes of one value */
    BOOT_TEXT_MAX = 24 << 20, /* of a whole record: 65,536 children */
};

struct boot_address {
    char *host; /* without brackets */
    uint16_t port;
};

/* A host further down the tree. */
struct boot_child {
    uint32_t node;
    char *host, *user; /* user NULL = not given */
    uint16_t port;     /* for ssh; 0 = not given */
};

/* All text is owned. */
struct boot_record {
    char *job;
    uint8_t secret[BOOT_SECRET_SIZE];
    struct boot_address *addresses;
    size_t naddresses, addresses_cap;
    int64_t node, parent; /* or BOOT_NODE_ANY */
    uint32_t radix;       /* how many children an agent starts itself; 0 = not given */
    char *muster, *ssh;   /* NULL = not given */
    char **ssh_args;      /* NULL-terminated, unless there are none */
    size_t nssh_args, ssh_args_cap;
    struct boot_child *children;
    size_t nchildren, children_cap;
};

/* The caller's memory; an empty record. Each init has its fini. */
void boot_record_init(struct boot_record *r);

/* Also wipes the secret. */
void boot_record_fini(struct boot_record *r);

/* These copy. */
void boot_record_add_address(struct boot_record *r, const char *host, uint16_t port);
void boot_record_add_child(struct boot_record *r, uint32_t node, const char *user,
                           const char *host, uint16_t port);
void boot_record_add_ssh_arg(struct boot_record *r, const char *word);

/* Appends the text to out, without moving what it has written on the way; the caller wipes it.
 * ERR_USAGE, with out as it was, for a value that cannot travel (control characters, above
 * BOOT_VALUE_MAX). */
int boot_record_encode(const struct boot_record *r, struct buf *out, struct err *e);

/* Overwrites memory that held a secret, in a way that no compiler leaves out. */
void boot_record_wipe(void *p, size_t n);

/* How many children the agent of this record starts itself; 0 without children, or if it lacks
 * radix, its own node or the path. */
uint32_t boot_record_nchildren(const struct boot_record *r);

/* The i-th of them (i below that). */
const struct boot_child *boot_record_child(const struct boot_record *r, uint32_t i);

/* The record that the i-th of them is given: the same, but for whom it is and whom it starts.
 * *out is initialised here, and the caller's. */
void boot_record_for_child(const struct boot_record *r, uint32_t i, struct boot_record *out);

#endif

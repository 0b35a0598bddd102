/* host_name.h - what may name a host, and names that stand for many: node[01-16,20]-ib.
 *
 * Owns the rules for names, addresses and users, and the order in which a range counts. Does
 * not look anything up. The rules keep a word from being read as something else by ssh (an
 * option) or by the resolver (12 is 0.0.0.12).
 *
 *   name := RFC 1123 labels and "_", at most 253 bytes, last label no number; or IPv4; or IPv6
 *   hosts := name with "[" A ["-" B] { "," A ["-" B] } "]" anywhere | "[" IPv6 "]"
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_NAME_H
#define MUSTER_LAUNCHER_CORE_HOST_NAME_H

#include "launcher/core/host_fault.h"

enum { HOST_NAME_SIZE = 254 }; /* with its NUL */

/* Why s names no host, as the end of a sentence; NULL if it does. Addresses without brackets.
 */
const char *host_name_fault(struct str s);

/* Why s is no user that ssh could be given; NULL if it is one. */
const char *host_user_fault(struct str s);

/* Whether s is an IPv6 address, without brackets. */
bool host_is_ipv6(struct str s);

/* Equal but for case. */
bool host_name_eq(const char *a, const char *b);

/* Parts a word at the ":" behind its host expression: *hosts, and where the ":" stands, NULL if
 * there is none. An IPv6 address in brackets may be followed by one, a bare one may not. */
const char *host_part(struct str word, struct str *hosts);

/* One A-B, and one bracket of them: values of the source's text, never a list of names. */
struct host_range {
    uint64_t first, last;
    int width;
};

struct host_bracket {
    struct str before; /* what stands before it */
    size_t first_range, nranges;
    size_t at_range; /* where the odometer stands */
    uint64_t at;
};

struct host_names {
    uint32_t count; /* of names, repeats included; 1 to HOSTS_MAX */
    uint32_t left;  /* not taken yet */
    struct host_bracket *brackets;
    struct host_range *ranges;
    size_t nbrackets, nranges, brackets_cap, ranges_cap;
    struct str tail; /* what stands behind the last bracket */
};

/* Reads a host expression and checks every name that it stands for: E_BRACKET, E_TOOMANY,
 * E_HOSTNAME. Borrows the source's text. Failure leaves nothing to free. */
int host_names_parse(const struct host_source *src, struct str hosts, struct host_names *out);

/* The next name, the last bracket counting fastest; false when all have been taken. */
bool host_names_next(struct host_names *names, char out[HOST_NAME_SIZE]);

/* Frees what the names keep; also before all have been taken. */
void host_names_fini(struct host_names *names);

#endif

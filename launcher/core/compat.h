/* compat.h - presets of --compat=LIST: variables that a framework reads and no launcher sets by
 * itself, because they cost something or mean something to others.
 *
 * Which variables there are, and of which preset, says the table CONTRACT_COMPAT. Ports are
 * held by the caller; their number and meaning are decided here. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_COMPAT_H
#define MUSTER_LAUNCHER_CORE_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum compat_preset {
    COMPAT_JAX,
    COMPAT_ACCELERATE_CPU,
    COMPAT_TF,
    COMPAT_PADDLE,
    COMPAT_COUNT
};

struct node_plan;

/* "jax,tf" to bits 1 << COMPAT_x; *set is 0 for "none". 0, or -1 with ERR_USAGE: which word is
 * none, and which are known. where: how the user spelled the option. */
int compat_parse(const char *where, const char *list, unsigned *set, struct err *e);

/* How many ports of the loopback address a node with n workers has to hold for a set. */
uint32_t compat_ports(unsigned set, uint32_t n);

/* Whether the set can be had with these nodes. 0, or -1 with ERR_USAGE: where processes listen
 * on ports of their own, only one node knows them. */
int compat_check(unsigned set, uint32_t nnodes, struct err *e);

/* Whether an inherited entry NAME=VALUE is written anew by a preset of the set. */
bool compat_is_own(unsigned set, const char *entry);

/* How many variables a worker gets at most. */
uint32_t compat_variables(unsigned set);

/* Appends NAME=VALUE and a zero byte for each variable of a worker under plan->compat. ports:
 * compat_ports() of them; NULL = "(free port)" stands for each. */
void compat_format(const struct node_plan *plan, uint32_t local_rank, const uint16_t *ports,
                   struct buf *out);

#endif

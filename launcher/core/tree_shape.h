/* tree_shape.h - who starts whose agent over ssh when there are many hosts: of n hosts in the
 * order of their list, each is started by the head or by another one, and starts at most radix.
 *
 * Ranges, not lists: below a host is what directly follows it in the list, so that a subtree is
 * [first, first + count) and nothing has to be remembered. The hosts below somebody are cut
 * into radix runs of equal length, to one; the first of a run is started, and given the others.
 * Pure arithmetic; O(radix) or O(depth) each.
 */
#ifndef MUSTER_LAUNCHER_CORE_TREE_SHAPE_H
#define MUSTER_LAUNCHER_CORE_TREE_SHAPE_H

#include <stdint.h>

enum {
    TREE_ABOVE = 64, /* more hosts than these: a tree, unless the user says something else */
    TREE_RADIX = 32, /* how many agents one host starts; as many logins run at a time */
    TREE_RADIX_MIN = 2,
};

/* The radix for n hosts when a tree is asked for above `above` hosts; 0 = none, the head starts
 * all. Nobody starts more than `above` either, but two. above 0 = never. */
uint32_t tree_shape_radix(uint32_t n, uint32_t above);

struct tree_run {
    uint32_t first, count; /* count with the first, which is started and given the others */
};

/* How many runs n hosts below somebody are cut into, and the i-th of them (i below that). */
uint32_t tree_shape_runs(uint32_t n, uint32_t radix);
struct tree_run tree_shape_run(uint32_t n, uint32_t radix, uint32_t i);

enum { TREE_HEAD = UINT32_MAX };

/* Where host i of n stands. */
struct tree_place {
    uint32_t parent; /* who starts it: a host, or TREE_HEAD */
    uint32_t count;  /* of its subtree, itself included: [i, i + count) */
    uint32_t depth;  /* 1 = started by the head */
};
struct tree_place tree_shape_find(uint32_t n, uint32_t radix, uint32_t i);

#endif

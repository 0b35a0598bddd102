/* start_tree.h - which hosts' agents the head starts itself, and when it takes over those that
 * another host should have started.
 *
 * A pure machine over tree_shape.h: sees how far each host is and what time it is, answers with
 * the hosts whose command the head is to run now. At first these are the hosts at the top;
 * then the children of a host
 *   - that has ended, or has failed for good: at once;
 *   - that is not up START_TREE_MS after its command began, or that is up but has not brought
 *     them to a link within START_TREE_MS more: those without a link;
 * and a host that its parent cannot reach: the head may have a key or a way that it has not.
 * Running the commands is io's; what a failure means for the job decides job.c.
 *
 *   DELEGATED --(taken over)--> OWN --> LINKED
 *       '-------------------------------^
 */
#ifndef MUSTER_LAUNCHER_CORE_START_TREE_H
#define MUSTER_LAUNCHER_CORE_START_TREE_H

#include <stdbool.h>
#include <stdint.h>

enum { START_TREE_MS = 10000 };

struct start_tree;

/* Of n hosts; radix 0: no tree, the head starts all. Free with start_tree_free. */
struct start_tree *start_tree_new(uint32_t n, uint32_t radix);
void start_tree_free(struct start_tree *t);

/* A host from n on is not looked at, here and below. */

/* The head's command for host i begins. */
void start_tree_began(struct start_tree *t, uint32_t i, uint64_t now_ms);

/* Its agent runs and is told, or is about to be told, whom to start. */
void start_tree_up(struct start_tree *t, uint32_t i, uint64_t now_ms);

/* Its agent has its link. */
void start_tree_linked(struct start_tree *t, uint32_t i, uint64_t now_ms);

/* Its agent, which may have had its link, has ended: it starts nobody any more. */
void start_tree_ended(struct start_tree *t, uint32_t i);

/* A command for host i has failed for good: the head's own, or its parent's; is_way: that never
 * got there. True if the job has to know. False if it has its link, if the head tries, or will
 * try, itself: then the failure is no news. */
bool start_tree_failed(struct start_tree *t, uint32_t i, bool is_own, bool is_way);

/* Whether host i is in the subtree of `above`, and another one. */
bool start_tree_is_below(const struct start_tree *t, uint32_t i, uint32_t above);

/* Whether the head has taken it over, or had it from the beginning. */
bool start_tree_is_own(const struct start_tree *t, uint32_t i);

/* How many hosts, from i + 1 on, stand in the record of host i: all below it; none once the
 * head has taken over its children. */
uint32_t start_tree_below(const struct start_tree *t, uint32_t i);

/* Takes the next host that the head is to start now; false = none. */
bool start_tree_next(struct start_tree *t, uint64_t now_ms, uint32_t *i);

/* When start_tree_next has to be asked again, if nothing else happens; UINT64_MAX = never. */
uint64_t start_tree_due_ms(const struct start_tree *t);

#endif

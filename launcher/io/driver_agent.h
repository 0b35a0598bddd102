/* driver_agent.h - one node of a job whose head is elsewhere: dials the head, then runs the
 * node machine over the link until the head, or the lack of one, ends it. Decides nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_DRIVER_AGENT_H
#define MUSTER_LAUNCHER_IO_DRIVER_AGENT_H

#include "launcher/core/boot_record.h"
#include "launcher/core/facts.h"
#include "launcher/core/options.h"
#include "launcher/core/status_line.h"
#include "rendezvous/link.h"

/* Everything is borrowed. */
struct agent {
    const struct options *opt; /* NULL: the head has started this node and tells what to run */
    const struct facts *facts; /* NULL likewise */
    uint32_t node;             /* then: its place in the list of hosts, or WIRE_NONE */
    uint32_t task;             /* else: its number among the engine's tasks, or WIRE_NONE */
    const char *name;          /* and what the engine calls it; NULL = nothing */
    /* then, too: what becomes of it and of those that it starts; NULL = nobody asks */
    void (*on_status)(const struct status_line *s);
    const struct boot_record *boot; /* whom it starts; NULL = nobody */
    int lifeline;  /* a descriptor whose end means that who started us is gone; -1 = none */
    bool is_inner; /* that was another agent: once there is a link, its end means nothing */
    const struct link_key *key;
    const struct addr *heads; /* where the head may be, in order of preference */
    size_t nheads;
};

/* Runs to the end: afterwards no worker is left. The status of the whole job, as the head told
 * it, but 0 of one that the head has started (engines kill what is left of a step of which a
 * task failed); 69 or 77 if there is no way to the head, or none any more. All has been said.
 */
int driver_agent_run(const struct agent *agent);

#endif

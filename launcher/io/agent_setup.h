/* agent_setup.h - makes this process what the head's SETUP message describes: environment,
 * working directory, the options of the head's command line, the facts and address of this
 * machine.
 */
#ifndef MUSTER_LAUNCHER_IO_AGENT_SETUP_H
#define MUSTER_LAUNCHER_IO_AGENT_SETUP_H

#include "launcher/core/facts.h"
#include "launcher/core/link_wire.h"
#include "launcher/core/options.h"
#include "rendezvous/addr.h"

struct agent_setup {
    struct options options; /* borrows from args and the environment */
    struct facts facts;
    char **args, *slots;
    struct addr
        reach;      /* where other nodes reach this one; host "" = where its link comes from */
    char *log_name; /* before what this muster says: "muster: n2" */
    bool has_facts;
};

/* command: what reads the command line; OPTIONS_GPUS starts nothing, so it stays in its working
 * directory and needs no address. 0, or -1 with the error that the head's user has to see;
 * agent_setup_fini is right after both.
 */
int agent_setup(struct agent_setup *s, enum option_command command,
                const struct wire_setup *setup, struct err *e);
void agent_setup_fini(struct agent_setup *s);

#endif

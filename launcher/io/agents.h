/* agents.h - which commands start the agents of a job: ssh or our own program for each host,
 * one srun or mpirun for all of them; and the boot record that they get.
 *
 * Owns the tokens and, for mpirun, the file with the record: of mode 0600, in the job's working
 * directory, which all hosts have. Running the commands is remotes'; the list is spread's.
 */
#ifndef MUSTER_LAUNCHER_IO_AGENTS_H
#define MUSTER_LAUNCHER_IO_AGENTS_H

#include "launcher/core/engine_detect.h"
#include "launcher/core/options.h"
#include "launcher/io/remotes.h"
#include "rendezvous/link_auth.h"
#include "rendezvous/netif.h"

/* How the job is started, as cmd has found. */
struct engine_found {
    enum engine_start launch;
    struct engine_view view;
};

/* Everything is borrowed, but the name of the file. */
struct agents {
    const struct options *opt;
    const struct engine_found *found;
    const struct host_list *hosts;
    const struct addr *heads; /* where the head may be reached; ports are not looked at */
    size_t nheads;
    const unsigned char *secret; /* LINK_SECRET_SIZE bytes */
    const struct netif_list *netifs;
    const char *self, *dir; /* our program; the working directory */
    const char *host;       /* our own name */
    char *boot_file;        /* NULL = none, or gone */
};

/* Whether the host is this machine, as far as can be told without asking anybody. */
bool agents_is_here(const struct agents *a, const struct host *host);

/* What would keep the commands from working, as far as it can be told before they run. 0, or -1
 * with ERR_NOT_FOUND (no such program), ERR_USAGE (hosts that are not in the allocation, words
 * that the engine does not take). */
int agents_check(const struct agents *a, struct err *e);

/* Adds the commands, in the order of the hosts; agents will look for the head at this port. 0,
 * or -1 with ERR_USAGE or ERR_SYSTEM, and then not all were added. */
int agents_add(struct agents *a, uint16_t port, struct remotes *r, struct err *e);

/* Adds the command that starts the agent of one host, by ssh or here; record, copied, is what
 * it gets down its standard input. 0, or -1 with ERR_USAGE or ERR_SYSTEM. */
int agents_add_host(const struct agents *a, uint32_t node, struct str record, struct remotes *r,
                    struct err *e);

/* All agents have read their record, or none will any more: removes its file. May be called
 * again. */
void agents_forget(struct agents *a);

#endif

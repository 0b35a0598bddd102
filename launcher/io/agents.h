/* agents.h - which commands start the agents of a job: ssh or our own program for each host,
 * one srun or mpirun for all of them; and the boot record that they get.
 *
 * Owns which hosts are reached by ssh (the others are this machine) and, for mpirun, the file
 * with the record: of mode 0600, in the job's working directory, which all hosts have. Running
 * the commands is remotes'; the list is spread's; who starts whom decides start_tree.h.
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

/* Everything down to `host` is borrowed. */
struct agents {
    const struct options *opt;
    const struct engine_found *found;
    const struct host_list *hosts;
    const struct addr *heads; /* where the head may be reached; ports are not looked at */
    size_t nheads;
    const unsigned char *secret; /* LINK_SECRET_SIZE bytes */
    const struct netif_list *netifs;
    const char *self, *dir; /* our program; the working directory */
    const char *start_dir;  /* the one that muster was started in */
    const char *host;       /* our own name */
    uint16_t port;          /* where agents look for the head; from agents_add on */
    char *boot_file;        /* NULL = none, or gone */
    uint32_t *far;          /* the hosts that ssh reaches, in their order; of --engine ssh */
    uint32_t nfar, radix;   /* of their tree, 0 = the head starts all */
    char *ssh;              /* --ssh as other hosts understand it; NULL = ssh */
};

void agents_fini(struct agents *a);
/* Whether the host is this machine, as far as can be told without asking anybody. */
bool agents_is_here(const struct agents *a, const struct host *host);

/* Finds what is far, and what would keep the commands from working, as far as it can be told
 * before they run. Once. 0, or -1 with ERR_NOT_FOUND (no such program), ERR_USAGE (hosts that
 * are not in the allocation, words that the engine does not take). */
int agents_check(struct agents *a, struct err *e);

/* Adds the commands but those by ssh; agents will look for the head at this port. 0, or -1 with
 * ERR_USAGE or ERR_SYSTEM, and then not all were added. */
int agents_add(struct agents *a, uint16_t port, struct remotes *r, struct err *e);

/* How many commands run here for as long as the job, unless other hosts fail to start theirs;
 * agents_check comes first. */
uint32_t agents_commands(const struct agents *a);

/* Adds a command for every host, by ssh or here; agents_check comes first. 0, or -1 with
 * ERR_USAGE or ERR_SYSTEM, and then not all were added. */
int agents_add_each(const struct agents *a, struct remotes *r, struct err *e);

/* Adds the command for far host i; likewise. */
int agents_add_far(const struct agents *a, uint32_t i, struct remotes *r, struct err *e);

/* Which far host this node is; nfar or more: none. */
uint32_t agents_find_far(const struct agents *a, uint32_t node);

/* Appends the boot record of the command that begins with this node; far hosts also start the
 * `below` ones that follow them. The caller wipes out. 0, or -1 with ERR_USAGE. */
int agents_boot(const struct agents *a, uint32_t node, uint32_t below, struct buf *out,
                struct err *e);

/* All agents have read their record, or none will any more: removes its file. May be called
 * again. */
void agents_forget(struct agents *a);

#endif

/* hosts_plan.h - `muster plan` over the hosts of a list: who would run where, and which value
 * came from where, as far as it can be told without asking a host.
 *
 * What only a host knows (its GPUs and cores, whether the program is there) is said to be
 * decided there. Lays out and renders; the same as JSON is io/hosts_plan_json.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOSTS_PLAN_H
#define MUSTER_LAUNCHER_CORE_HOSTS_PLAN_H

#include <stdbool.h>

#include "launcher/core/host_list.h"
#include "launcher/core/options.h"
#include "rendezvous/addr.h"

/* Everything is borrowed. */
struct hosts_view {
    const struct options *opt;
    const struct host_list *hosts;
    const bool *is_here;    /* by host: it is this machine, the head's */
    const char *engine;     /* what starts the agents: "ssh" */
    const char *head;       /* what this machine calls itself */
    struct addr_list heads; /* where agents and workers would look for the head */
    char *const *forwarded; /* NAME=VALUE that would go along */
    size_t nforwarded;
};

enum { HOSTS_UNKNOWN = UINT32_MAX }; /* the host decides, or one before it */

struct hosts_row {
    uint32_t first_rank, nworkers; /* or HOSTS_UNKNOWN */
};

/* Fills out[i], one for each host; *world likewise a number or HOSTS_UNKNOWN. 0, or -1 with
 * ERR_HOSTFILE: a host has no worker left. */
int hosts_plan_rows(const struct host_list *hosts, struct hosts_row *out, uint32_t *world,
                    struct err *e);

/* Whether this machine is none of the list. */
bool hosts_plan_is_head_outside(const struct hosts_view *v);

/* What that means, one line for people. */
void hosts_plan_warning(const struct hosts_view *v, struct buf *out);

/* What decides how many workers a host has, and which GPUs they get: "command line",
 * "MUSTER_GPUS", "hosts:3", "--hosts"; "" = nothing here, the host does. Appended to out. */
void hosts_plan_slots_from(const struct hosts_view *v, const struct host *host,
                           struct buf *out);
void hosts_plan_gpus_from(const struct hosts_view *v, const struct host *host, struct buf *out);

/* Which GPUs were asked for of a host, as --gpus has them; NULL = nothing was said. */
const char *hosts_plan_gpus(const struct hosts_view *v, const struct host *host);

/* Appends the text. rows and world as from hosts_plan_rows. */
void hosts_plan_render(const struct hosts_view *v, const struct hosts_row *rows, uint32_t world,
                       struct buf *out);

#endif

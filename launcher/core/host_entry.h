/* host_entry.h - one entry of a host list: [user@]hosts[:N] with what its keys say, on its way
 * into the list.
 *
 * Owns what a host that is named again means: bare lines add up, gpus= lines are joined, all
 * else is an error. Keys are read by host_keys, lines by hostfile and host_option.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_ENTRY_H
#define MUSTER_LAUNCHER_CORE_HOST_ENTRY_H

#include "launcher/core/host_list.h"
#include "launcher/core/host_name.h"

enum host_key {
    HOST_KEY_SLOTS,
    HOST_KEY_MAX_SLOTS,
    HOST_KEY_GPUS,
    HOST_KEY_USER,
    HOST_KEY_PORT,
    HOST_KEY_ADDR,
    HOST_KEY_IFACE,
    HOST_KEY_ENV, /* env.NAME */
    HOST_KEY_COUNT
};

struct host_entry {
    struct host host; /* what all its hosts have; text is the list's */
    struct str hosts; /* the expression, as written */
    struct host_names names;
    char **env; /* NAME=VALUE, owned until host_entry_add */
    size_t nenv, env_cap;
    bool has[HOST_KEY_COUNT]; /* given, as a key or as :N and user@ */
    struct str key_addr;      /* places, for what concerns the line as a whole */
    struct str value_max_slots, value_gpus;
};

/* Reads the first word of an entry, which begins none of the special forms. Failure leaves
 * nothing to free. */
int host_entry_parse(const struct host_source *src, struct str word, struct host_list *list,
                     struct host_entry *out);

/* Checks the line as a whole and puts its hosts into the list. */
int host_entry_add(const struct host_source *src, struct host_entry *entry,
                   struct host_list *list);

/* Frees what parsing has kept in the entry. */
void host_entry_fini(struct host_entry *entry);

/* Checks a gpus= value as far as that can be done without the host: E_SYNTAX at its item.
 * state: what was chosen before, brought up to date. */
int host_gpus_check(const struct host_source *src, struct str value, struct host_gpus *state);

#endif

/* spread.h - a job over the hosts of a list: how each one's agent is started, and what it is
 * told once it has its link.
 *
 * Owns the list, the job's secret and what travels. Starting is remotes'; who is let in is the
 * link's and the job's.
 */
#ifndef MUSTER_LAUNCHER_IO_SPREAD_H
#define MUSTER_LAUNCHER_IO_SPREAD_H

#include "launcher/core/env_forward.h"
#include "launcher/core/host_list.h"
#include "launcher/core/link_wire.h"
#include "launcher/core/options.h"
#include "launcher/io/agents.h"
#include "rendezvous/link_auth.h"

struct spread;

/* Only the hosts that opt names, filtered; freed with host_list_fini. 0, or -1 as spread_new
 * and nothing to free. */
int spread_read_hosts(const struct options *opt, struct host_list *out, struct buf *text,
                      struct err *e);

/* Only the variables that would travel. 0, or -1 with ERR_USAGE; free with env_list_fini. */
int spread_read_env(const struct options *opt, struct env_list *out, struct err *e);

/* Reads the list and all that has to be right before anything is started: the filters, the
 * variables, the program that starts agents. found, borrowed: how. args: the command line to be
 * repeated there. NULL with ERR_HOSTFILE (*text has the whole message, several lines;
 * initialised by the caller), ERR_USAGE, ERR_NOT_FOUND or ERR_SYSTEM. */
struct spread *spread_new(const struct options *opt, const struct engine_found *found,
                          char *const *args, struct buf *text, struct err *e);
void spread_free(struct spread *s);

/* Whether muster may open as many files as a job on all of them needs (open_files.h). limit: as
 * descriptors_limit. 0, or -1 with ERR_USAGE. */
int spread_check_files(const struct spread *s, uint64_t limit, struct err *e);

uint32_t spread_nodes(const struct spread *s);
const struct link_key *spread_key(const struct spread *s);

/* A numeric address of this machine, for the workers of this process. */
const char *spread_reach(const struct spread *s);

/* How its agents are started. */
struct agents *spread_agents(struct spread *s);

/* Adds a command for every host, whose agents answer a question (ask_record.h) instead of being
 * part of a job. 0, or -1 with ERR_USAGE or ERR_SYSTEM. */
int spread_ask(struct spread *s, struct remotes *r, struct err *e);

/* Appends what the agent of a host gets then: the record with its SETUP message. 0, or -1 as
 * spread_setup. */
int spread_question(struct spread *s, uint32_t node, struct buf *out, struct err *e);

/* All nodes have their link, or none will get one any more. */
void spread_started(struct spread *s);

/* Which host it is: by the place that it was given, else by its name, else by its number among
 * the engine's tasks. A place is given once. 0, or -1 with ERR_USAGE. */
int spread_place(struct spread *s, const struct wire_who *who, uint32_t *node, struct err *e);

/* Whether spread_place has given its place away. */
bool spread_has_come(const struct spread *s, uint32_t node);

/* The SETUP message of a host. 0, or -1 with ERR_USAGE: what it should be told is too much. */
int spread_setup(const struct spread *s, uint32_t node, struct buf *out, struct err *e);

/* For a plan: the hosts, whether one is this machine, where the head would be looked for, and
 * the variables that would go along. Owned by s. */
const struct host_list *spread_hosts(const struct spread *s);
bool spread_is_here(const struct spread *s, uint32_t node);
struct addr_list spread_heads(const struct spread *s);
const struct env_list *spread_env(const struct spread *s);

/* What reports call it. */
const char *spread_host(const struct spread *s, uint32_t node);

#endif

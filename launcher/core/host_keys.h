/* host_keys.h - the key=value words of a hostfile line.
 *
 * Owns the table of keys, their synonyms in other launchers' files, and what each value may be.
 * Does not know lines or lists.
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_KEYS_H
#define MUSTER_LAUNCHER_CORE_HOST_KEYS_H

#include "launcher/core/host_entry.h"

/* Reads all words of rest, the part of a line behind its host, into entry. Text goes into the
 * list. */
int host_keys_parse(const struct host_source *src, struct str rest, struct host_list *list,
                    struct host_entry *entry);

#endif

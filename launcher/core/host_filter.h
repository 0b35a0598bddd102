/* host_filter.h - --include and --exclude: which hosts and slots of a list take part.
 *
 * Owns their grammar and what both together mean: include first, then exclude, in the order of
 * the list. A host whose number of slots is not known checks them itself (host_workers).
 *
 *   value := item { "@" item }
 *   item  := (hosts | "+n" K ["-" M]) [ ":" I ["-" J] { "," ... } ]
 */
#ifndef MUSTER_LAUNCHER_CORE_HOST_FILTER_H
#define MUSTER_LAUNCHER_CORE_HOST_FILTER_H

#include "launcher/core/host_list.h"

/* Takes hosts out of the list and sets `chosen` of those that are left. include, exclude: the
 * options' values, NULL = not given. Failure (ERR_HOSTFILE; the fault's text begins with the
 * option) leaves the list as it was; it must not be empty. */
int host_filter_apply(struct host_list *list, const char *include, const char *exclude,
                      struct host_fault *fault, struct err *e);

#endif

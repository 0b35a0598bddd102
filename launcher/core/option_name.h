/* option_name.h - the long name of an option as somebody wrote it: "max_restarts" and
 * "max-restarts" are one. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTION_NAME_H
#define MUSTER_LAUNCHER_CORE_OPTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* given: without the two dashes in front and without "=VALUE"; name: as the tables have it. */
bool option_name_is(struct str given, const char *name);
/* Whether name begins with it, as a unique prefix does. */
bool option_name_begins(struct str given, const char *name);

/* Writes given as the tables would have it, cut to size - 1 bytes, for a message or a search
 * for the nearest name. */
void option_name_format(struct str given, char *out, size_t size);

#endif

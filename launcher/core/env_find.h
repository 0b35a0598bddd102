/* env_find.h - a variable's value in a list of NAME=VALUE entries. Pure: the list is passed in.
 */
#ifndef MUSTER_LAUNCHER_CORE_ENV_FIND_H
#define MUSTER_LAUNCHER_CORE_ENV_FIND_H

/* The value, within its entry; NULL if there is none. environment: NULL-terminated, or NULL for
 * an empty one. */
const char *env_find(const char *const *environment, const char *name);

/* The same where an empty value means that the variable is not set. */
const char *env_find_set(const char *const *environment, const char *name);

#endif

/* descriptors.h - the descriptors that muster was started with, and how many it may open.
 *
 * Changes the process; to be called once, at the start.
 */
#ifndef MUSTER_LAUNCHER_IO_DESCRIPTORS_H
#define MUSTER_LAUNCHER_IO_DESCRIPTORS_H

#include <stdint.h>
#include <sys/resource.h>

/* Those above 2 are its parent's business: workers get 0, 1 and 2 alone. */
void descriptors_keep(void);

/* Raises the soft limit of open files to the hard one; returns what it was, which workers get
 * back. */
struct rlimit descriptors_raise_limit(void);

/* What it may be raised to; UINT64_MAX = anything. */
uint64_t descriptors_limit(void);

#endif

/* descendants.h - the processes below this one: what workers started and left behind.
 *
 * muster is a child subreaper, so a process whose parent died becomes muster's child and is
 * found here, whatever session or group it moved to. Reads /proc.
 */
#ifndef MUSTER_LAUNCHER_IO_DESCENDANTS_H
#define MUSTER_LAUNCHER_IO_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Becomes a subreaper. 0 or -1 (errno). */
int descendants_adopt(void);

/* Collects zombies among our direct children for which is_known says no; those it knows are
 * left alone. */
void descendants_collect(bool (*is_known)(void *ctx, pid_t pid), void *ctx);

/* Sends signo (0 = only count) to every live descendant, direct children first; returns how
 * many there are. Processes in the state of zombie do not count. */
uint32_t descendants_signal(int signo);

#endif

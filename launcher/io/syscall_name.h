/* syscall_name.h - names of the system calls in which processes wait, by this machine's
 * numbers. */
#ifndef MUSTER_LAUNCHER_IO_SYSCALL_NAME_H
#define MUSTER_LAUNCHER_IO_SYSCALL_NAME_H

/* "futex" for its number; "" for one that is not in the table. Static. */
const char *syscall_name(long number);

#endif

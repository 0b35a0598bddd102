/* kernel_log.h - what the GPU driver has written into the kernel log since it was opened:
 * evidence for a worker that failed. Reads /dev/kmsg, which often only root may; without it
 * nothing is known. Never blocks.
 */
#ifndef MUSTER_LAUNCHER_IO_KERNEL_LOG_H
#define MUSTER_LAUNCHER_IO_KERNEL_LOG_H

struct kernel_log;

/* From now on. root: before /dev, "" but in tests. NULL if it cannot be read. */
struct kernel_log *kernel_log_open(const char *root);
void kernel_log_close(struct kernel_log *k); /* NULL is fine */

/* One line about the first Xid of one of these GPUs (PCI addresses, commas between; NULL =
 * none), one that is no aftermath if there is one; NULL if there is none. k may be NULL. Free
 * with free(). */
char *kernel_log_cause(struct kernel_log *k, const char *gpus);

#endif

/* log_file.h - the file that keeps one stream of one worker, with a limit on its size.
 *
 * A full file becomes PATH.1, in place of an older one, and a new one begins: the last bytes
 * are kept, at most twice the limit. A file that cannot be written costs the log, not the job.
 */
#ifndef MUSTER_LAUNCHER_IO_LOG_FILE_H
#define MUSTER_LAUNCHER_IO_LOG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct log_file;

/* Makes it, empty and close-on-exec. limit: bytes, 0 = none. NULL with ERR_SYSTEM. */
struct log_file *log_file_open(const char *path, uint64_t limit, struct err *e);

/* A new file begins with a new line where one fits. Says once that it failed. */
void log_file_write(struct log_file *f, const char *p, size_t n);

/* NULL is fine. */
void log_file_close(struct log_file *f);

#endif

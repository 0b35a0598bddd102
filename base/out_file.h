/* out_file.h - a file that a user has named for a result.
 *
 * A plain file that is there is replaced by rename, so that a reader never sees a part. All
 * else that may be there (a link, a pipe, a device) is not ours to replace: it is written to.
 * Standard output and error under names such as /dev/stdout are not opened again for that,
 * which would empty the file that they may be.
 */
#ifndef MUSTER_BASE_OUT_FILE_H
#define MUSTER_BASE_OUT_FILE_H

#include <stddef.h>

#include "base/err.h"

/* Whether it will be writable: a folder is looked at, not tried. 0, or an errno value. */
int out_file_check(const char *path);

/* Writes n bytes. 0, or -1 with ERR_SYSTEM; a plain file is then as it was. */
int out_file_write(const char *path, const void *p, size_t n, struct err *e);

#endif

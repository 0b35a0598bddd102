/* error_file.h - error.json, by which a worker tells why it failed (PyTorch's @record writes
 * it): reads one for the report, hands one on to whoever launched muster.
 *
 * What a worker writes is never trusted: any content, any kind of file, bounded size. Decides
 * nothing.
 */
#ifndef MUSTER_LAUNCHER_IO_ERROR_FILE_H
#define MUSTER_LAUNCHER_IO_ERROR_FILE_H

#include "base/err.h"

enum { ERROR_FILE_MAX = 1024 * 1024 }; /* bytes; a larger file is called unreadable */

/* What the file says, in one line: the first line of the exception's text and the innermost
 * frame that is not in a library, "RuntimeError: boom  train.py:17 in main (error.json)". Of a
 * file that cannot be understood: "error.json is unreadable: WHY". NULL if there is no file, or
 * an empty one. Free with free(). */
char *error_file_read(const char *path);

/* The file's content for an outer launcher: {"message": {...}} with message.errorCode added, as
 * PyTorch's own launcher hands it on. NULL if there is none that can be read. Free with free().
 */
char *error_file_stamp(const char *path, int error_code);

/* Writes text to path, in place: it may be any file that the outer launcher has made ready. 0,
 * or -1 with ERR_SYSTEM. */
int error_file_write(const char *path, const char *text, struct err *e);

#endif

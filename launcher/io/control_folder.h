/* control_folder.h - where the control sockets of a user's jobs are: $XDG_RUNTIME_DIR/muster,
 * or /tmp/muster-UID where that cannot be had; commands look in both, as a job may have been
 * started from cron or another login. MUSTER_RUNTIME_DIR is in place of both. A folder is used
 * only if it is ours and nobody else may enter it (mode 0700).
 *
 * MUSTER_RUNTIME_DIR may name any folder, one with other files in it too, or one that several
 * hosts share: what is not known to be the socket of a dead job stays.
 */
#ifndef MUSTER_LAUNCHER_IO_CONTROL_FOLDER_H
#define MUSTER_LAUNCHER_IO_CONTROL_FOLDER_H

#include <sys/types.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum control_place { CONTROL_RUNTIME, CONTROL_TMP, CONTROL_PLACES };

/* Appends the path of the folder; false if there is none: XDG_RUNTIME_DIR is not set to an
 * absolute path, or MUSTER_RUNTIME_DIR is in its place. */
bool control_folder_format(enum control_place place, struct buf *out);

/* Whether it may be used. *is_there: false if there is none; then it is no error. 0, or -1 with
 * ERR_SYSTEM: whose it is, or which mode it has. */
int control_folder_check(const char *path, bool *is_there, struct err *e);

/* Makes it where it is missing. Else as control_folder_check. */
int control_folder_make(const char *path, struct err *e);

/* Fills the address of a job's socket, FOLDER/ID.PID: the id as a file name, cut where it is
 * long. 0, or -1 with ERR_LIMIT: the folder's path is too long. */
int control_address(const char *folder, const char *job_id, pid_t pid, struct sockaddr_un *out,
                    struct err *e);

/* Whether a file may be a job's socket by its name, ID.PID. *id is borrowed from name; both may
 * be NULL. */
bool control_name_parse(const char *name, struct str *id, pid_t *pid);

/* Whether there is a socket, and no link to one. */
bool control_is_socket(const char *path);

#endif

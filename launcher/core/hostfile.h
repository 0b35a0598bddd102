/* hostfile.h - a hostfile, or the value of --hosts, into a list of hosts.
 *
 * Owns lines, comments and exclusions. One grammar takes what Open MPI, Hydra, DeepSpeed, PBS
 * and the Kubernetes MPI operator write, and Slurm's node lists; it is strict, so that a
 * mistyped line never starts something else than was meant. Words are host_entry's and
 * host_keys'. Pure: the caller has read the file.
 *
 *   file    := [BOM] { line (LF | CRLF) }       the last line end may be missing
 *   line    := [entry] [comment]                comment: "#" or "//", first or after a blank
 *   entry   := ("^" | "!") hosts | [user "@"] hosts [":" N] { blank key [blank] "=" [blank]
 * value }
 *   --hosts := [user "@"] hosts [":" N] { "," ... }
 */
#ifndef MUSTER_LAUNCHER_CORE_HOSTFILE_H
#define MUSTER_LAUNCHER_CORE_HOSTFILE_H

#include "launcher/core/host_list.h"

/* Fills out with the hosts of a file's text; name is its name, for messages. Failure
 * (ERR_HOSTFILE) leaves nothing to free; fault, initialised by the caller or NULL, then has the
 * class, the place and the whole text. */
int hostfile_parse(struct str text, const char *name, struct host_list *out,
                   struct host_fault *fault, struct err *e);

/* The same for the value of an option or variable called name ("--hosts",
 * "SLURM_JOB_NODELIST"). */
int hostfile_parse_option(const char *value, const char *name, struct host_list *out,
                          struct host_fault *fault, struct err *e);

#endif

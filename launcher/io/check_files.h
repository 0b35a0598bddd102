/* check_files.h - the reports that a check was asked for: files that are replaced by rename,
 * and standard output.
 */
#ifndef MUSTER_LAUNCHER_IO_CHECK_FILES_H
#define MUSTER_LAUNCHER_IO_CHECK_FILES_H

#include "launcher/core/check_options.h"
#include "launcher/core/check_result.h"

/* Whether all of them can be written at the end, and at most one is standard output. 0, or -1
 * with ERR_USAGE. */
int check_files_check(const struct check_options *opt, struct err *e);

/* Writes them. json: what the worker left. One that cannot be written is said; the answer
 * is then its status, which a good result ends with, else 0. */
int check_files_write(const struct check_options *opt, const struct check_result *r,
                      const struct buf *json);

/* Whether one of them is standard output: then the table is not. */
bool check_files_use_stdout(const struct check_options *opt);

#endif

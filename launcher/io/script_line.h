/* script_line.h - whether what the first line of a script names is there, before workers are
 * started from it: execve would only say "No such file or directory" of the script itself.
 */
#ifndef MUSTER_LAUNCHER_IO_SCRIPT_LINE_H
#define MUSTER_LAUNCHER_IO_SCRIPT_LINE_H

#include "base/err.h"

/* path: an executable file. 0 also for what is no script, and for what cannot be read, of which
 * the kernel judges. -1 with ERR_NOT_FOUND for an interpreter that is not there,
 * ERR_NOT_EXECUTABLE for one that is no program, and for a first line that ends in a carriage
 * return. */
int script_line_check(const char *path, struct err *e);

#endif

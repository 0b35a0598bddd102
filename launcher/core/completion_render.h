/* completion_render.h - what a shell completes behind `muster`: commands, options, their
 * values; from the tables that parsing and --help read. Pure.
 *
 * `muster completion SHELL` prints it, and packages install it as a file. The scripts need
 * nothing but their shell; where bash-completion is, what stands behind a program is completed
 * as that program's own.
 */
#ifndef MUSTER_LAUNCHER_CORE_COMPLETION_RENDER_H
#define MUSTER_LAUNCHER_CORE_COMPLETION_RENDER_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the script for bash, zsh or fish. 0, or -1 with ERR_USAGE: there is none for another
 * shell; shell NULL: none was given. */
int completion_render(const char *shell, struct buf *out, struct err *e);

/* The same for whoever calls muster by the name torchrun: that name is completed, too. */
int completion_render_torchrun(const char *shell, struct buf *out, struct err *e);

/* The three. */
void completion_bash(struct buf *out);
void completion_zsh(struct buf *out);
void completion_fish(struct buf *out);

#endif

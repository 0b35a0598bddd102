/* shell_quote.h - one word for whatever shell a user has on another machine.
 *
 * Owns the spelling that sh, bash, mksh, zsh, tcsh and fish read alike. Only our own path needs
 * it: all else of the remote command is constant, so no user data ever meets a shell.
 *
 * Single quotes, within which nothing is special but ' itself; for fish also \, and for tcsh !
 * (history). Those three are written outside of the quotes, as \', \\ and \!.
 */
#ifndef MUSTER_LAUNCHER_CORE_SHELL_QUOTE_H
#define MUSTER_LAUNCHER_CORE_SHELL_QUOTE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends word, quoted. -1 with ERR_USAGE for an empty word or one with a control character: a
 * line end within quotes is not read alike. */
int shell_quote(const char *word, struct buf *out, struct err *e);

#endif

/* option_unknown.h - what to say of an option that muster run does not have: the one that was
 * meant, by spelling, or by the name that another launcher has for it. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTION_UNKNOWN_H
#define MUSTER_LAUNCHER_CORE_OPTION_UNKNOWN_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* name: without its dashes and value. -1 with ERR_USAGE, always. */
int option_unknown_long(const char *dashes, struct str name, struct err *e);
int option_unknown_letter(char letter, struct err *e);

/* Whether a word behind one dash ("np", "hostfile=h") is a long name, ours or another
 * launcher's, and no letters with a value. */
bool option_unknown_is_long(struct str name);

/* Whether a word begins with a dash that is not the keyboard's: U+2010 to U+2015 or the minus
 * sign U+2212, as web pages and word processors make of - and --. */
bool option_unknown_is_long_dash(const char *word);

/* For such a word. -1 with ERR_USAGE. */
int option_unknown_long_dash(const char *word, struct err *e);

#endif

/* signal_names.h - signals by name: the one table. Pure. */
#ifndef MUSTER_LAUNCHER_CORE_SIGNAL_NAMES_H
#define MUSTER_LAUNCHER_CORE_SIGNAL_NAMES_H

#include "base/str.h"

enum { SIGNAL_NAMES_END = 32 }; /* numbers below it have a name */

/* "SIGTERM" for 15; "real-time signal" for numbers without a name. Never NULL; static. */
const char *signal_name(int signo);

/* The reverse, also of SIGPOLL, which is SIGIO; -1 for what is no name, "SIG0" included. */
int signal_number(struct str name);

#endif

/* notice.h - what --preempt-signal asks for: a signal that workers get before the stop begins,
 * and the time that they have to act on it. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_NOTICE_H
#define MUSTER_LAUNCHER_CORE_NOTICE_H

#include "base/str.h"
#include "launcher/core/event.h"

enum { NOTICE_DEFAULT_MS = 10000 };

/* "USR1", "SIGUSR1:30s", "12:1m"; without a time, ten seconds. NULL gives none (ms = 0). 0, or
 * -1 for an unknown signal, SIGKILL, SIGSTOP, or a time of 0. */
int notice_parse(const char *text, struct notice *out);

#endif

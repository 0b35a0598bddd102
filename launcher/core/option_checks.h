/* option_checks.h - which options may stand together, and what a command must have.
 *
 * Sees options that are right one by one. Reads no text; that is option_value.h's.
 */
#ifndef MUSTER_LAUNCHER_CORE_OPTION_CHECKS_H
#define MUSTER_LAUNCHER_CORE_OPTION_CHECKS_H

#include "launcher/core/options.h"

/* 0, or -1 with ERR_USAGE: the first combination that makes no sense, and what would.
 * environment: of an engine, which may have brought nodes. */
int option_checks_command(enum option_command command, const struct options *opt,
                          const char *const *environment, struct err *e);

/* What a run cannot do where it starts no other node (launch is START_LOCAL or START_MANUAL):
 * hand variables on to hosts, or change into a folder there. 0, or -1 with ERR_USAGE and what
 * would. Only words of the command line are refused; a variable may stand for many runs. */
int option_checks_launch(const struct options *opt, enum engine_start launch, struct err *e);

#endif

/* facts.h - what is known about this machine and this process before anything starts. A plain
 * value; io/facts_gather fills it, everything else only reads it.
 */
#ifndef MUSTER_LAUNCHER_CORE_FACTS_H
#define MUSTER_LAUNCHER_CORE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/core/device.h"
#include "launcher/core/placement.h"

struct facts {
    const char *host;               /* as gethostname says; never resolved */
    const char *const *environment; /* NAME=VALUE, NULL-terminated; the process's own */
    const char *python;     /* interpreter for .py programs and -m: $PYTHON or python3 */
    uint32_t ncpus;         /* CPUs this process may use, cgroup quota included; at least 1 */
    uint32_t cpu_quota;     /* CPUs' worth of time that the cgroup allows; 0 = no limit */
    uint64_t max_files;     /* that this process may open, the hard limit; 0 = not known */
    struct cpu_set allowed; /* CPUs of this process; empty = unknown */
    const struct topology *topology;   /* NULL: not asked for, or not to be had */
    const struct inventory *inventory; /* the GPUs; NULL: nobody could be asked (no driver) */
    bool is_stdout_tty, is_stderr_tty;
    bool has_terminal; /* all three streams are its controlling terminal, in the foreground */
};

/* Value of a variable in facts->environment, or NULL. */
const char *facts_getenv(const struct facts *facts, const char *name);

/* TERM=dumb, as in Emacs' shell: escape sequences would be shown as they are. */
bool facts_is_dumb_terminal(const struct facts *facts);

/* Whether what goes to a terminal may be coloured: NO_COLOR is unset or empty (no-color.org),
 * and the terminal is not dumb. */
bool facts_allow_colour(const struct facts *facts);

#endif

#include "launcher/core/signal_names.h"

#include <assert.h>
#include <signal.h>

/* Linux numbers, so that texts do not depend on the machine that reads them. */
static const char *const names[] = {
    "SIG0",      "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
    "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
    "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
    "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};
static_assert(sizeof names / sizeof names[0] == SIGNAL_NAMES_END, "one name a number");

const char *signal_name(int signo)
{
    return signo >= 0 && signo < SIGNAL_NAMES_END ? names[signo] : "real-time signal";
}

int signal_number(struct str name)
{
    if (str_eq(name, "SIGPOLL"))
        return SIGIO;
    for (int i = 1; i < SIGNAL_NAMES_END; i++)
        if (str_eq(name, names[i]))
            return i;
    return -1;
}

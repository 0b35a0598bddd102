/* remote_failure.h - what a command that should have started an agent died of, and whether
 * another try may help.
 *
 * Owns the table of what OpenSSH says in which trouble (ssh exits with 255 for all of its own)
 * and the pauses between tries: 4 more, from 0.5 s, doubled, each with up to half as much again
 * at random, so that many hosts behind one bastion do not come back at the same moment. Pure:
 * whoever starts commands has the timer and the random number.
 */
#ifndef MUSTER_LAUNCHER_CORE_REMOTE_FAILURE_H
#define MUSTER_LAUNCHER_CORE_REMOTE_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* X(name, another try may help, it is the way, short words for "waiting for ...") */
#define REMOTE_FAILURES(X)                                                                     \
    X(REFUSED, true, true, "ssh refused")                                                      \
    X(CLOSED, true, true, "ssh closed before the login")                                       \
    X(NAME, true, true, "unknown name")                                                        \
    X(TIMEOUT, true, true, "ssh timed out")                                                    \
    X(AUTHENTICATION, false, true, "login denied")                                             \
    X(HOST_KEY, false, true, "host key refused")                                               \
    X(NOT_EXECUTABLE, false, false, "muster is not executable there")                          \
    X(NOT_FOUND, false, false, "muster is not there")                                          \
    X(SSH, false, true, "ssh failed")                                                          \
    X(OTHER, false, false, "failed")

#define X(name, ...) REMOTE_FAILURE_##name,
enum remote_failure { REMOTE_FAILURES(X) REMOTE_FAILURE_COUNT };
#undef X

enum { REMOTE_TRIES = 5 };

/* exit_code: of the command, -1 where a signal ended it. complaint: the end of its standard
 * error. */
enum remote_failure remote_failure_of(int exit_code, struct str complaint);

/* How a command has ended. */
struct remote_end {
    const char *program;
    int exit_code, signo; /* -1 and the signal, or the code and 0 */
    struct str complaint; /* the end of its standard error */
    bool was_up;          /* its agent had begun to run */
    bool is_group;        /* srun, mpirun: one command for all */
};

/* In *why, ERR_UNAVAILABLE, why there is no agent: the line that says most, and what would help
 * where that is known. */
void remote_failure_describe(const struct remote_end *end, struct err *why);

/* Whether the way to the host failed, which from another machine may be open; else the host is
 * there, and what is wrong is on it. */
bool remote_failure_is_way(enum remote_failure failure);

/* "ssh refused". Static text. */
const char *remote_failure_words(enum remote_failure failure);

/* ms to wait after so many tries (1 = the first has failed); random: any number. 0 = no more.
 */
uint64_t remote_failure_pause_ms(enum remote_failure failure, uint32_t tries, uint32_t random);

#endif

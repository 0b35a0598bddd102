#include "launcher/io/reap.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/wait.h>

#include "base/clock.h"

bool reap(pid_t pid, int pidfd, int limit_ms, int *status)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    const uint64_t until_ms = now_ms() + (uint64_t)limit_ms;
    int ready;
    pid_t ended;
    *status = 0;
    do {
        uint64_t now = now_ms();
        ready = pidfd < 0 ? 0 : poll(&end, 1, now < until_ms ? (int)(until_ms - now) : 0);
    } while (ready < 0 && errno == EINTR);
    do {
        ended = waitpid(pid, status, WNOHANG); /* 0 also where a debugger has it still */
    } while (ended < 0 && errno == EINTR);
    return ended != 0;
}

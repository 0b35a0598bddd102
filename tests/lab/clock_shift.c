/* clock_shift.c - loaded by LD_PRELOAD: the program's clock of the day is CLOCK_SHIFT_S seconds
 * ahead (or behind, if negative), as on a host whose clock nobody set. CLOCK_MONOTONIC, by
 * which programs measure, stays.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// The C library's own names for these parameters are reserved.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
static long shift_s(void)
{
    const char *text = getenv("CLOCK_SHIFT_S");
    return text ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ts->tv_sec += shift_s();
    return rc;
}

int gettimeofday(struct timeval *tv, void *zone)
{
    struct timespec ts;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &ts) < 0)
        return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) < 0)
        return -1;
    if (out)
        *out = ts.tv_sec;
    return ts.tv_sec;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

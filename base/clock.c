#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t now_ms(void)
{
    return read_ns(CLOCK_MONOTONIC) / 1000000u;
}

uint64_t now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t wall_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000u;
}

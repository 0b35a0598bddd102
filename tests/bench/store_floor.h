/* store_floor.h - what store_floor may be asked for instead of a number of bytes. */
#ifndef MUSTER_TESTS_BENCH_STORE_FLOOR_H
#define MUSTER_TESTS_BENCH_STORE_FLOOR_H

#include <stdint.h>

static const uint64_t PARK = UINT64_MAX;        /* one byte, later */
static const uint64_t RELEASE = UINT64_MAX - 1; /* none; all that are parked get theirs */

#endif

/* host_math.h - reductions in C for the host backend, every type and operation.
 *
 * Pure. Small floats are computed in float and rounded to nearest even after each step.
 */
#ifndef MUSTER_WORKER_HOST_MATH_H
#define MUSTER_WORKER_HOST_MATH_H

#include <stddef.h>
#include <stdint.h>

#include "worker/pattern.h"

/* into[i] = into[i] op from[i] for n elements; avg adds. Integers wrap. */
void host_reduce(enum type type, enum op op, void *into, const void *from, size_t n);

/* Ends a reduction over nranks: avg divides. */
void host_finish(enum type type, enum op op, void *data, size_t n, uint32_t nranks);

#endif

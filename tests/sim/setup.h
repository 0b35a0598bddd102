/* setup.h - a request and a host without GPUs, made by hand, as the simulator, the traces and
 * the fuzzer give them to the machines. Tests only.
 */
#ifndef MUSTER_TESTS_SIM_SETUP_H
#define MUSTER_TESTS_SIM_SETUP_H

#include "launcher/core/facts.h"
#include "launcher/core/options.h"

struct setup {
    struct options options;
    struct facts facts;
    struct inventory inventory; /* nobody has a GPU */
};

/* nproc workers on each node, grace 25 s, no restart, no wait before one, no time limit, a
 * program "./worker". Points into itself: not to be copied. */
void setup_init(struct setup *s, uint32_t nproc);

#endif

/* setup.h - a request and a host, without GPUs unless they are added, made by hand, as the
 * simulator, the traces and the fuzzer give them to the machines. Tests only.
 */
#ifndef MUSTER_TESTS_SIM_SETUP_H
#define MUSTER_TESTS_SIM_SETUP_H

#include "launcher/core/facts.h"
#include "launcher/core/options.h"

enum { SETUP_GPUS_MAX = 4 };

struct setup {
    struct options options;
    struct facts facts;
    struct inventory inventory;
    struct device gpus[SETUP_GPUS_MAX];
};

/* nproc workers on each node, grace 25 s, no restart, no wait before one, no time limit, a
 * program "./worker". Points into itself: not to be copied. */
void setup_init(struct setup *s, uint32_t nproc);

/* The host has so many GPUs, at most SETUP_GPUS_MAX: GPU-a, GPU-b, ... */
void setup_add_gpus(struct setup *s, int n);

#endif

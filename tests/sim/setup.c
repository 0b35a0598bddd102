#include "tests/sim/setup.h"

#include <stddef.h>
#include <stdio.h>

void setup_init(struct setup *s, uint32_t nproc)
{
    static char program[] = "./worker";
    static char *const argv[] = {program, NULL};
    static const char *const environment[] = {NULL};
    *s = (struct setup){0};
    s->options = (struct options){.nnodes_min = 1,
                                  .nnodes_max = 1,
                                  .node_rank = -1,
                                  .join_timeout_ms = 600000,
                                  .beats_missed = 5,
                                  .nproc = nproc,
                                  .grace_ms = 25000,
                                  .prefix = "none",
                                  .job_id = "job",
                                  .restart_delay_max_ms = 30000,
                                  .program = argv};
    s->facts = (struct facts){.host = "host",
                              .environment = environment,
                              .python = "python3",
                              .ncpus = 8,
                              .inventory = &s->inventory};
}

void setup_add_gpus(struct setup *s, int n)
{
    s->inventory.devices = s->gpus;
    s->inventory.ndevices = n < SETUP_GPUS_MAX ? n : SETUP_GPUS_MAX;
    for (int i = 0; i < s->inventory.ndevices; i++) {
        s->gpus[i] = (struct device){.index = i, .minor = i, .numa = -1, .util = -1};
        snprintf(s->gpus[i].uuid, sizeof s->gpus[i].uuid, "GPU-%c", 'a' + i);
    }
}

#include "tests/sim/setup.h"

#include <stddef.h>

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

/* measure.h - one size of one collective on one rank: what is poisoned, filled, timed and
 * compared when (README.md, "Method").
 *
 * The launch loop calls the backend and nothing else. Knows no store and no other rank.
 */
#ifndef MUSTER_WORKER_MEASURE_H
#define MUSTER_WORKER_MEASURE_H

#include "worker/backend.h"
#include "worker/options.h"

enum { OUT_OF_PLACE, IN_PLACE, PLACEMENTS };

/* What a rank says about a size, as bytes to rank 0; all ranks run the same program on the same
 * kind of machine. */
struct report {
    double us[PLACEMENTS],
        busy_us[PLACEMENTS]; /* an operation; busy = not waiting for others */
    uint64_t wrong[PLACEMENTS], hash[PLACEMENTS], compared_bytes;
    char finding[320]; /* the first thing found wrong */
};

struct measure {
    struct backend *backend;
    const struct options *options;
    uint32_t rank, nranks;
    uint64_t max_bytes; /* of a buffer, without its guard band */
    struct operation op;
    struct report report;
};

/* 0 or a status; 0 also with wrong data, which the report shows. */
int measure_size(struct measure *m, struct err *e);

/* "all_reduce of 1M float sum", "broadcast of 8 float from rank 2" */
const char *measure_describe(const struct measure *m, char text[96]);

#endif

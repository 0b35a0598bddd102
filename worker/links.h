/* links.h - bandwidths and latencies between every two ranks, and which of them stand out.
 *
 * Judged against each other, never against the wire: a pair alone reaches less than a ring of
 * all. Pure.
 */
#ifndef MUSTER_WORKER_LINKS_H
#define MUSTER_WORKER_LINKS_H

#include <stddef.h>
#include <stdint.h>

enum links_kind { LINKS_LINK, LINKS_RANK };

/* A link, or a rank that is slow to all others (b is unused). */
struct links_outlier {
    enum links_kind kind;
    uint32_t a, b;
    double gbs, median; /* GB/s: its own, the best of a rank's; of what it is compared with */
};

/* Squares row by row: from rank a (row) to b (column); 0 = not measured. */
struct links {
    uint32_t n;
    uint64_t bytes;
    double *uni, *bidi; /* GB/s, 1e9 bytes; bidi: both ways together */
    double *latency_us; /* one way */
    struct links_outlier *outliers;
    size_t noutliers;
};

/* Zeroed squares for n ranks; fini frees them. */
void links_init(struct links *l, uint32_t n);
void links_fini(struct links *l);

/* Fills outliers from uni: a rank whose best link is below 0.8 of the median of the links
 * without it; then a link, between other ranks, below 0.8 of the median of its ranks' links. A
 * link is as fast as its slower direction. slack_us: a transfer of bytes must also take that
 * much longer, for links whose times vary by as much. Fewer than three ranks: nothing to
 * compare with. */
void links_judge(struct links *l, double slack_us);

#endif

/* node_sample.h - the samples of one node's ranks as the text that travels: from its helpers to
 * the node, and with what the node itself knows on to the head. Pure.
 *
 *   rank,LOCAL,INDEX,UUID,STEP,QUIET_MS,ASKED_MS;   of the node, when it was asked
 *   sample,LOCAL,NUMBERS;       of a helper, as rank_sample_format; several of a rank add up
 *   why,WORDS;                  why figures are missing
 *
 * - is not known. A node says all this in at most NODE_SAMPLE_BYTES_MAX bytes, of a rank with a
 * GPU in about 250, at most in 800. What has no room is left out, whole items, the last first;
 * a why always has some, and whoever leaves out says so by node_sample_add_left_out.
 */
#ifndef MUSTER_LAUNCHER_CORE_NODE_SAMPLE_H
#define MUSTER_LAUNCHER_CORE_NODE_SAMPLE_H

#include "launcher/core/rank_sample.h"

enum { NODE_SAMPLE_BYTES_MAX = 4 << 20 }; /* for the 4,096 workers that a node may have */

enum node_sample_kind { NODE_SAMPLE_RANK, NODE_SAMPLE_FIGURES, NODE_SAMPLE_WHY };

/* One item. Texts lie in what was read. */
struct node_sample_item {
    enum node_sample_kind kind;
    uint32_t local_rank;
    struct str index, uuid;          /* of NODE_SAMPLE_RANK; p NULL = no GPU */
    struct maybe_u64 step, quiet_ms; /* likewise */
    struct rank_sample figures;      /* of NODE_SAMPLE_FIGURES; of NODE_SAMPLE_RANK asked_ms */
    struct str why;                  /* of NODE_SAMPLE_WHY */
};

/* What a node knows of a rank without looking at its process. */
struct node_sample_rank {
    uint32_t local_rank;
    const char *index, *uuid; /* NULL = no GPU */
    struct maybe_u64 step, quiet_ms, asked_ms;
};

/* Append an item. What would not fit into a word, or into why, becomes '_'; texts that are too
 * long are cut. Returned is how many were left out: 0 or 1. */
size_t node_sample_add_rank(const struct node_sample_rank *rank, struct buf *out);
size_t node_sample_add_figures(uint32_t local_rank, const struct rank_sample *figures,
                               struct buf *out);
size_t node_sample_add_why(const char *why, struct buf *out);

/* Appends the items of text and returns how many had no room. What is behind the last ; is
 * none. */
size_t node_sample_add_items(struct str text, struct buf *out);

/* Appends why n figures are missing: they had no room. Nothing for 0. */
void node_sample_add_left_out(size_t n, struct buf *out);

/* Takes the next item off the front of *rest, any bytes; items of a later muster are skipped.
 * 1, 0 at the end, or -1: this is none. */
int node_sample_next(struct str *rest, struct node_sample_item *item);

#endif

/* check_table.h - a check as text for a terminal: one screen, the verdict last; as the table
 * that nccl-tests prints; and as CSV. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_TABLE_H
#define MUSTER_LAUNCHER_CORE_CHECK_TABLE_H

#include "launcher/core/check_result.h"

/* Ranks, preflight, a line a size, pairs, notes and errors; the verdict last. */
void check_table(const struct check_result *r, struct buf *out);

/* The last line alone, "PASS: ...", without colour. */
void check_table_verdict(const struct check_result *r, struct buf *out);

/* The columns of nccl-tests, so that what reads its output reads this. */
void check_nccl_tests(const struct check_result *r, struct buf *out);

/* A line of names, then one a size and placement (RFC 4180); empty where nothing is known. */
void check_csv(const struct check_result *r, struct buf *out);

#endif

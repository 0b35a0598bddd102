/* result_table.h - a result as lines for people, or in nccl-tests' columns for its parsers.
 *
 * Pure: fills buffers.
 */
#ifndef MUSTER_WORKER_RESULT_TABLE_H
#define MUSTER_WORKER_RESULT_TABLE_H

#include "worker/options.h"
#include "worker/result.h"

/* Head with the ranks; names of the columns before the rows of a collective; one line for a
 * size (in_place NULL: that collective has none). */
void result_table_head(const struct result *r, struct buf *out);
void result_table_columns(enum collective c, enum output_format format, struct buf *out);
void result_table_line(const struct result *r, enum output_format format,
                       const struct result_row *out_of_place, const struct result_row *in_place,
                       struct buf *out);

/* Bandwidths between pairs and which stand out; busbw without each rank. Nothing if neither was
 * tested. */
void result_table_links(const struct result *r, struct buf *out);

/* What was found wrong, and the verdict. */
void result_table_end(const struct result *r, enum output_format format, struct buf *out);

#endif

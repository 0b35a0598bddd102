/* check_json.h - the result of a check as one JSON object, schema "muster.check/1": reads what
 * muster-worker left, writes the whole.
 *
 * Keys are only ever added. What the worker wrote and muster does not know is kept as it is.
 */
#ifndef MUSTER_LAUNCHER_IO_CHECK_JSON_H
#define MUSTER_LAUNCHER_IO_CHECK_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/check_result.h"

/* Fills r, which is initialised and empty, from the worker's object. Whatever is not there or
 * of another type than it should be counts as not told. 0 with is_tested set, or -1 with
 * ERR_PROTOCOL: it is no such object; r is unchanged then. */
int check_json_read(const char *text, size_t len, struct check_result *r, struct err *e);

/* Appends the whole, indented: the worker's object (text; "" if it left none) with verdict,
 * preflight, errors and what is expected. */
void check_json_write(const struct check_result *r, const char *text, size_t len,
                      struct buf *out);

#endif

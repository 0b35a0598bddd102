/* check_store.h - takes from a job's store what muster-worker left there: its result, and who
 * reached which phase when. Decides nothing; the keys are core/check_trace's.
 */
#ifndef MUSTER_LAUNCHER_IO_CHECK_STORE_H
#define MUSTER_LAUNCHER_IO_CHECK_STORE_H

#include "launcher/core/check_result.h"

struct port;

/* Appends the worker's JSON object; false if it left none. */
bool check_store_result(const struct port *port, struct buf *json);

/* Fills what r's ranks left; r has them all. */
void check_store_trace(const struct port *port, struct check_result *r);

#endif

/* gpus_json.h - `muster gpus --json`: the view as one JSON object of the schema
 * "muster-gpus/1", to which keys may be added. Decides nothing. */
#ifndef MUSTER_LAUNCHER_IO_GPUS_JSON_H
#define MUSTER_LAUNCHER_IO_GPUS_JSON_H

#include "launcher/core/gpus_view.h"

/* Appends the object and a newline. */
void gpus_json(const struct gpus_view *v, struct buf *out);

#endif

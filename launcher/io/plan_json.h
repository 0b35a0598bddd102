/* plan_json.h - `muster plan --json`: a node's plan as one JSON object of the schema
 * "muster-plan/1", to which keys may be added. Decides nothing. */
#ifndef MUSTER_LAUNCHER_IO_PLAN_JSON_H
#define MUSTER_LAUNCHER_IO_PLAN_JSON_H

#include "base/buf.h"
#include "launcher/core/plan_render.h"

struct json_t;

/* Appends the object and a newline. */
void plan_json(const struct plan_view *v, struct buf *out);

/* Every option by name: its value and where it came from. A new reference. */
struct json_t *plan_json_options(const struct options *opt);

#endif

/* hosts_plan_json.h - `muster plan --json` over the hosts of a list, schema
 * "muster-hosts-plan/1". null: the host decides.
 */
#ifndef MUSTER_LAUNCHER_IO_HOSTS_PLAN_JSON_H
#define MUSTER_LAUNCHER_IO_HOSTS_PLAN_JSON_H

#include "launcher/core/hosts_plan.h"

/* Appends one JSON object and a newline; rows and world as for hosts_plan_render. */
void hosts_plan_json(const struct hosts_view *v, const struct hosts_row *rows, uint32_t world,
                     struct buf *out);

#endif

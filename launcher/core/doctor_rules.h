/* doctor_rules.h - all that muster knows to go wrong around a job: one table, keyed by the id
 * of a rule.
 *
 * Feeds `muster doctor` (doctor_judge.h), `muster explain`, docs/doctor.md and what a verdict
 * says of a failed rank's last lines (symptom.h). Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_RULES_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_RULES_H

#include "launcher/core/doctor_rule.h"

/* All rows, rows[0..n), in the order in which they are judged. Add-only: ids stand in reports.
 */
const struct rule *doctor_rules(size_t *n);

/* The row of an id; NULL if there is none. */
const struct rule *doctor_rule_find(const char *id);

/* The row whose id is nearest to a word. */
const struct rule *doctor_rule_nearest(const char *word);

/* Appends where a rule is judged: "on each host, by comparing hosts". */
void doctor_where_format(unsigned where, struct buf *out);

/* Appends a rule in full, as `muster explain` prints it. */
void doctor_rule_format(const struct rule *rule, struct buf *out);

#endif

/* doctor_judge.h - a look at all hosts: which rules are asked, and what they have found, as
 * `muster doctor` says it. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_JUDGE_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_JUDGE_H

#include "base/err.h"
#include "launcher/core/doctor_rule.h"

/* Which rules are judged. Lists are NULL-terminated; NULL or empty = not given. */
struct doctor_choice {
    const char *const *only, *const *skip;
    unsigned where; /* RULE_ bits: a rule counts if it has one of them */
    bool is_strict; /* warnings are errors */
};

/* Whether the lists name rules that are judged: 0, or -1 with ERR_USAGE and the nearest id. */
int doctor_choice_check(const struct doctor_choice *choice, struct err *e);

/* Judges the hosts (n >= 1) and appends the findings, merged and in order. */
void doctor_judge(const struct doctor_choice *choice, const struct host_evidence *const *hosts,
                  size_t n, struct finding_list *out);

/* Appends the findings, notes and what is unknown only if is_verbose; the last line counts
 * them. */
void doctor_format(const struct finding_list *list, size_t nhosts, bool is_verbose,
                   struct buf *out);

/* Appends one JSON object and a line end: {"schema": "muster.doctor/1", "hosts": [...], "lost":
 * 0, "status": 78, "findings": [...]}. nlost: hosts that did not answer; status: the exit
 * status. */
void doctor_json(const struct finding_list *list, const struct host_evidence *const *hosts,
                 size_t n, size_t nlost, int status, struct buf *out);

#endif

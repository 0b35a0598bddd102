/* symptom.h - what well-known lines in a failed worker's stderr mean, and what known exit codes
 * mean. Pure: two tables of words, no judgement beyond a match.
 */
#ifndef MUSTER_LAUNCHER_CORE_SYMPTOM_H
#define MUSTER_LAUNCHER_CORE_SYMPTOM_H

#include <stddef.h>

struct symptom {
    const char *id; /* of the rule that it is a symptom of (doctor_rules.h), "gpu.duplicate" */
    const char *text;  /* what stands in the output of NCCL, CUDA, Python or the system */
    const char *cause; /* what this text means; NULL = the rule's title. See symptom_cause */
    const char *fix;   /* what to do about it; NULL = the rule's fix. See symptom_fix */
};

/* The row that explains tail (NULL gives NULL) best: rows are ordered from the particular to
 * the general, and the first whose text occurs is taken. NULL if nothing is known. Static. */
const struct symptom *symptom_find(const char *tail);

/* What an exit code of muster-worker is a symptom of; NULL if program, a path, is another one
 * or the code says nothing. text is then words of our own. Static. */
const struct symptom *symptom_of_worker(const char *program, int code);

/* What it means, one line; what to do, one line that can be pasted where it is a command. */
const char *symptom_cause(const struct symptom *s);
const char *symptom_fix(const struct symptom *s);

/* All rows, for tests: rows[0..n). */
const struct symptom *symptom_rows(size_t *n);

/* What an exit code means by custom, "a shell says so when its child died of SIGSEGV"; NULL if
 * it means nothing. Static. */
const char *symptom_exit_code(int code);

#endif

/* finding.h - what a check found wrong: one rule's answer, for people and for programs.
 *
 * A finding says which hosts, what was seen, which symptom it leads to and one fix.
 * Rules append to a list; the list merges what several hosts have in common and puts first what
 * a reader needs first. Knows no rule: ids and words come from outside. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_FINDING_H
#define MUSTER_LAUNCHER_CORE_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* In the order in which they are printed. UNKNOWN: the rule could not be judged, which is not a
 * pass; seen says what is missing. */
enum finding_level {
    FINDING_ERROR,   /* E: a job would fail or be wrong */
    FINDING_WARNING, /* W: it may */
    FINDING_NOTE,    /* N: worth knowing; printed on request */
    FINDING_UNKNOWN, /* ?: printed on request */
    FINDING_LEVEL_COUNT
};

enum { FINDING_TEXT_MAX = 4096 }; /* bytes of what printf makes; more is cut */

/* All text is owned by the list that holds the finding. */
struct finding {
    const char *rule; /* its id, "shm.size"; static */
    enum finding_level level;
    bool is_difference; /* it was seen by comparing hosts or ranks */
    char **who; /* hosts, in the order they were added, each once; none = the whole job */
    size_t nwho, cap_who;
    char *seen;    /* one line, value and limit; never NULL */
    char *symptom; /* one line: what happens if nothing is done; NULL = not told */
    char *fix;     /* one line, to be pasted where it is a command; NULL = not told */
};

/* Zero-initialised is empty. Pointers to its findings are valid until the next one is added. */
struct finding_list {
    struct finding *items;
    size_t n, cap;
};

void finding_list_fini(struct finding_list *list);

/* Appends one, with copies of symptom and fix (NULL = none) and what printf makes of fmt. */
struct finding *finding_add(struct finding_list *list, const char *rule,
                            enum finding_level level, const char *symptom, const char *fix,
                            const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* A host that it is about. */
void finding_add_host(struct finding *f, const char *name);

/* Replaces the fix by what printf makes of fmt. */
void finding_set_fix(struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Findings that differ in nothing but who become one, at the place of the first. */
void finding_list_merge(struct finding_list *list);

/* Differences first, then by level; within these the order of adding stays. */
void finding_list_order(struct finding_list *list);

/* Warnings become errors (--strict). */
void finding_list_harden(struct finding_list *list);

/* How many of a level. */
size_t finding_list_count(const struct finding_list *list, enum finding_level level);

/* The exit status that the list asks for: that of ERR_PREFLIGHT if it holds an error, else 0.
 */
int finding_list_status(const struct finding_list *list);

/* 'E', 'W', 'N', '?'; "error", "warning", "note", "unknown". */
char finding_level_letter(enum finding_level level);
const char *finding_level_name(enum finding_level level);

/* "n2-n9, n12"; nothing for the whole job. */
void finding_format_who(const struct finding *f, struct buf *out);

/* Three lines, each with its line end; those without content are left out:
 *   E shm.size  n2-n9: /dev/shm has 64 MiB free, 4 ranks need 256 MiB
 *       leads to: NCCL stops with "failed to extend /dev/shm/nccl-..."
 *       fix: docker run --shm-size=1g
 */
void finding_format(const struct finding *f, struct buf *out);

/* A JSON array on one line, an object a finding: {"rule", "level", "difference", "hosts":
 * [...], "seen", "symptom", "fix"}; what is not told is null. */
void finding_list_json(const struct finding_list *list, struct buf *out);

#endif

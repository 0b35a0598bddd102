/* doctor_rule.h - one rule of `muster doctor`, and the few calls by which a rule answers.
 *
 * A rule is a pure function: evidence of one host, or of all, to findings. Rules are grouped in
 * doctor_host, doctor_net, doctor_gpu, doctor_link, doctor_ib and doctor_software; the table of
 * all is doctor_rules.
 */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_RULE_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_RULE_H

#include "launcher/core/evidence.h"
#include "launcher/core/finding.h"

/* Where a rule is judged; bits. */
enum {
    RULE_HOST = 1,   /* L: on each host, without CUDA */
    RULE_WORKER = 2, /* W: in the environment and limits of a worker, with its probe */
    RULE_ACROSS = 4, /* X: by comparing hosts or ranks */
    RULE_TEST = 8,   /* T: by what happens in the job itself */
    RULE_AFTER = 16, /* only by what a failed rank has written */
};

struct rule {
    const char *id;    /* "shm.size"; add-only */
    const char *title; /* what is wrong, a few words */
    enum finding_level level;
    unsigned where;      /* RULE_ bits */
    const char *looks;   /* at what; NULL for a rule that only explains what was written */
    const char *symptom; /* what it leads to; NULL likewise */
    const char *fix;     /* one line */
    /* At most one of them: judges one host; judges all hosts, which may be one. */
    void (*check)(const struct rule *rule, const struct host_evidence *ev,
                  struct finding_list *out);
    void (*compare)(const struct rule *rule, const struct host_evidence *const *hosts, size_t n,
                    struct finding_list *out);
};

/* Adds a finding of this rule about one host, with the rule's level, symptom and fix, which the
 * caller may change; seen is what printf makes of fmt. */
struct finding *rule_found(const struct rule *rule, const struct host_evidence *ev,
                           struct finding_list *out, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for what differs between hosts; hosts are the caller's to add. */
struct finding *rule_differs(const struct rule *rule, struct finding_list *out, const char *fmt,
                             ...) __attribute__((format(printf, 3, 4)));

/* The rule cannot be judged on this host: missing says what is not known. */
void rule_unknown(const struct rule *rule, const struct host_evidence *ev,
                  struct finding_list *out, const char *missing);

/* Whether a host has no GPU to judge. Where nobody knows its GPUs, says so first. */
bool rule_is_without_gpus(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out);

/* Name of a host, "this host" where it has none. */
const char *rule_host(const struct host_evidence *ev);

/* Appends which hosts have which value, each value once: "Ring on a; Tree on n2-n9". get: NULL
 * where a host has none, which absent names; with absent NULL such hosts are left out. Returns
 * whether there is more than one. */
bool rule_values_format(const struct host_evidence *const *hosts, size_t n,
                        const char *(*get)(const struct host_evidence *ev, const char *name),
                        const char *name, const char *absent, struct buf *out);

/* Appends bytes as "64 MiB", from 10 GiB as "12 GiB". */
void rule_bytes(int64_t bytes, struct buf *out);

/* Number of a version: "2.28.9" is 22809, "2.7.8" is 20708; -1 for what is none. */
int64_t rule_version(const char *text);

#endif

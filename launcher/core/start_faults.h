/* start_faults.h - the hosts that keep a job from its start, because no agent could be started
 * there or it cannot run its part: collected for a moment, then said together, equal ones once.
 *
 * Owns how long is waited after the first one, which are equal (but for the host's own name in
 * them), and how hosts are written together: n2-n9. What it means for the job decides job.c.
 */
#ifndef MUSTER_LAUNCHER_CORE_START_FAULTS_H
#define MUSTER_LAUNCHER_CORE_START_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { START_FAULTS_MS = 1000 }; /* from the first fault on */

struct start_fault {
    uint32_t node;
    char *host, *why; /* why: with the host's name taken out */
    bool has_name;    /* it was in there */
    enum err_code code;
    bool is_said;
};

/* Zero-initialised by the owner. */
struct start_faults {
    struct start_fault *list;
    size_t n, cap;
    uint64_t due_ms; /* once n > 0 */
};

/* In any order; a node once. Texts are copied. */
void start_faults_add(struct start_faults *f, uint32_t node, const char *host,
                      const struct err *why, uint64_t now_ms);

/* When they are to be said; UINT64_MAX = there are none. */
uint64_t start_faults_due_ms(const struct start_faults *f);

/* Takes the group whose first host stands first in the list of hosts: appends "n2-n4, n7: WHY"
 * to out and sets *node to that host, *code to the class of its error. false: all have been
 * said. */
bool start_faults_next(struct start_faults *f, uint32_t *node, enum err_code *code,
                       struct buf *out);

void start_faults_fini(struct start_faults *f);

#endif

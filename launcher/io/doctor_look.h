/* doctor_look.h - the evidence on which `muster doctor` and `muster run --preflight` judge: of
 * this host, or of all hosts of a list, each of which looks at itself.
 */
#ifndef MUSTER_LAUNCHER_IO_DOCTOR_LOOK_H
#define MUSTER_LAUNCHER_IO_DOCTOR_LOOK_H

#include "launcher/core/evidence.h"
#include "launcher/core/options.h"

/* One record a host, in the order of the list. */
struct evidence_set {
    struct host_evidence *hosts;
    size_t n;
};

/* Fills out for the hosts that opt names, or for this one; freed with evidence_set_fini. A
 * host that does not answer is a line on standard error and counts in *nlost, not an error.
 * is_worker_asked: whether the worker's probe is run, too. 0, or -1 with ERR_HOSTFILE,
 * ERR_USAGE, ERR_NOT_FOUND or ERR_SYSTEM and nothing to free. */
int doctor_look(const struct options *opt, bool is_worker_asked, struct evidence_set *out,
                size_t *nlost, struct err *e);
void evidence_set_fini(struct evidence_set *set);

/* This host alone. */
int doctor_look_here(const struct options *opt, bool is_worker_asked, struct host_evidence *out,
                     struct err *e);

/* Appends the variables of tests that are set, "MUSTER_TEST_ROOT=/tmp/r MUSTER_PROBE=p"; each
 * changes what is seen. */
void doctor_test_variables(struct buf *out);

#endif

/* evidence_gather.h - looks at this host for the rules of `muster doctor`.
 *
 * Owns what is asked and how: without root, within about a second, every file below one root
 * directory (MUSTER_TEST_ROOT), GPUs through the probes of io/probe. Judges nothing; what
 * cannot be found out stays unknown.
 */
#ifndef MUSTER_LAUNCHER_IO_EVIDENCE_GATHER_H
#define MUSTER_LAUNCHER_IO_EVIDENCE_GATHER_H

#include "launcher/core/evidence.h"
#include "launcher/core/facts.h"
#include "launcher/core/options.h"
#include "launcher/io/probe.h"

/* Everything is borrowed. */
struct evidence_request {
    const struct options *opt;
    const struct facts *facts; /* with its GPUs */
    enum probe_source source;  /* where these are from */
    bool is_nvml_late;         /* it did not answer: it is not asked again */
    bool is_worker_asked;      /* also run the worker's probe */
    const char *root;          /* "" but for tests */
};

/* Adds to ev, which is empty or has what others know. */
void evidence_gather(const struct evidence_request *r, struct host_evidence *ev);

/* Its parts, one a subject. */
void evidence_gather_host(const struct evidence_request *r, struct host_evidence *ev);
void evidence_gather_net(const struct evidence_request *r, struct host_evidence *ev);
void evidence_gather_gpus(const struct evidence_request *r, struct host_evidence *ev);
void evidence_gather_bus(const struct evidence_request *r, struct host_evidence *ev);
void evidence_gather_ib(const struct evidence_request *r, struct host_evidence *ev);
void evidence_gather_settings(const struct evidence_request *r, struct host_evidence *ev);
void evidence_gather_worker(const struct evidence_request *r, struct host_evidence *ev);

#endif

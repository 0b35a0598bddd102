/* doctor_hosts.h - asks the hosts of a list what they see: `muster doctor --evidence reach` on
 * each of them, by ssh or here, and the conversation of evidence_reach.h.
 *
 * Owns the commands and how long they may take. What a host sees is its own side's.
 */
#ifndef MUSTER_LAUNCHER_IO_DOCTOR_HOSTS_H
#define MUSTER_LAUNCHER_IO_DOCTOR_HOSTS_H

#include "launcher/io/doctor_look.h"

/* As doctor_look, for opt with a list of hosts. Blocks. Without is_worker_asked the hosts also
 * do not try to reach each other: only what each sees by itself is wanted. */
int doctor_hosts_ask(const struct options *opt, bool is_worker_asked, struct evidence_set *out,
                     size_t *nlost, struct err *e);

#endif

/* doctor_host.h - rules about a host's memory, limits and device nodes. See doctor_rule.h. */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_HOST_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_HOST_H

#include "launcher/core/doctor_rule.h"

void doctor_shm_size(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out);
void doctor_shm_removeipc(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out);
void doctor_numa_syscall(const struct rule *rule, const struct host_evidence *const *hosts,
                         size_t n, struct finding_list *out);
void doctor_limit_memlock(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out);
void doctor_limit_nofile(const struct rule *rule, const struct host_evidence *ev,
                         struct finding_list *out);
void doctor_dev_uvm(const struct rule *rule, const struct host_evidence *ev,
                    struct finding_list *out);

#endif

/* doctor_software.h - rules about NCCL's library and the settings of hosts. See doctor_rule.h.
 */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_SOFTWARE_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_SOFTWARE_H

#include "launcher/core/doctor_rule.h"

void doctor_nccl_library(const struct rule *rule, const struct host_evidence *const *hosts,
                         size_t n, struct finding_list *out);
void doctor_env_differs(const struct rule *rule, const struct host_evidence *const *hosts,
                        size_t n, struct finding_list *out);
void doctor_env_leftover(const struct rule *rule, const struct host_evidence *ev,
                         struct finding_list *out);

#endif

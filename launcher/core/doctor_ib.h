/* doctor_ib.h - rules about InfiniBand and RoCE. See doctor_rule.h. */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_IB_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_IB_H

#include "launcher/core/doctor_rule.h"

void doctor_ib_port(const struct rule *rule, const struct host_evidence *const *hosts, size_t n,
                    struct finding_list *out);
void doctor_ib_device(const struct rule *rule, const struct host_evidence *ev,
                      struct finding_list *out);
void doctor_ib_gid(const struct rule *rule, const struct host_evidence *ev,
                   struct finding_list *out);
void doctor_ib_gdr(const struct rule *rule, const struct host_evidence *const *hosts, size_t n,
                   struct finding_list *out);

#endif

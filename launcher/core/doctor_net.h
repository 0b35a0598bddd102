/* doctor_net.h - rules about names, interfaces and who reaches whom. See doctor_rule.h. */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_NET_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_NET_H

#include "launcher/core/doctor_rule.h"

void doctor_net_ifname(const struct rule *rule, const struct host_evidence *ev,
                       struct finding_list *out);
void doctor_net_interface(const struct rule *rule, const struct host_evidence *const *hosts,
                          size_t n, struct finding_list *out);
void doctor_net_reach(const struct rule *rule, const struct host_evidence *const *hosts,
                      size_t n, struct finding_list *out);
void doctor_net_name(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out);
void doctor_rdzv_mismatch(const struct rule *rule, const struct host_evidence *const *hosts,
                          size_t n, struct finding_list *out);

#endif

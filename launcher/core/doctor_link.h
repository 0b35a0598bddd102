/* doctor_link.h - rules about the links between GPUs: NVLink, its fabric, PCIe. See
 * doctor_rule.h. */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_LINK_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_LINK_H

#include "launcher/core/doctor_rule.h"

void doctor_nvlink_down(const struct rule *rule, const struct host_evidence *ev,
                        struct finding_list *out);
void doctor_fabric_manager(const struct rule *rule, const struct host_evidence *ev,
                           struct finding_list *out);
void doctor_fabric_multicast(const struct rule *rule, const struct host_evidence *ev,
                             struct finding_list *out);
void doctor_fabric_imex(const struct rule *rule, const struct host_evidence *const *hosts,
                        size_t n, struct finding_list *out);
void doctor_p2p_none(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out);
void doctor_p2p_cumemhost(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out);
void doctor_pcie_acs(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out);
void doctor_pcie_link(const struct rule *rule, const struct host_evidence *ev,
                      struct finding_list *out);

#endif

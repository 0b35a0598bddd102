/* doctor_gpu.h - rules about GPUs: visible, right, free, healthy. See doctor_rule.h. */
#ifndef MUSTER_LAUNCHER_CORE_DOCTOR_GPU_H
#define MUSTER_LAUNCHER_CORE_DOCTOR_GPU_H

#include "launcher/core/doctor_rule.h"

void doctor_driver_missing(const struct rule *rule, const struct host_evidence *ev,
                           struct finding_list *out);
void doctor_driver_mismatch(const struct rule *rule, const struct host_evidence *ev,
                            struct finding_list *out);
void doctor_nvml_unknown(const struct rule *rule, const struct host_evidence *ev,
                         struct finding_list *out);
void doctor_gpu_lost(const struct rule *rule, const struct host_evidence *ev,
                     struct finding_list *out);
void doctor_gpu_ecc(const struct rule *rule, const struct host_evidence *ev,
                    struct finding_list *out);
void doctor_gpu_duplicate(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out);
void doctor_gpu_ordinal(const struct rule *rule, const struct host_evidence *ev,
                        struct finding_list *out);
void doctor_gpu_order(const struct rule *rule, const struct host_evidence *ev,
                      struct finding_list *out);
void doctor_gpu_exclusive(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out);
void doctor_gpu_memory(const struct rule *rule, const struct host_evidence *ev,
                       struct finding_list *out);
void doctor_gpu_mig(const struct rule *rule, const struct host_evidence *ev,
                    struct finding_list *out);
void doctor_gpu_hidden(const struct rule *rule, const struct host_evidence *ev,
                       struct finding_list *out);

#endif

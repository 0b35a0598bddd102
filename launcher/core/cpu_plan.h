/* cpu_plan.h - the CPUs, the memory node and the threads of each worker of a node: what
 * --cpu-bind asks, answered from what is known of the machine. Pure.
 *
 * The rules of the modes are placement's; here they meet the devices of the plan.
 */
#ifndef MUSTER_LAUNCHER_CORE_CPU_PLAN_H
#define MUSTER_LAUNCHER_CORE_CPU_PLAN_H

#include "launcher/core/node_plan.h"

/* Fills cpus, mem_node and omp_threads of every worker, cpu_warnings and omp_why. cpu_bind:
 * the option's value, NULL = not given: as placement_default. What is not known binds nothing.
 * OMP_NUM_THREADS is the share of physical cores (of allowed CPUs without a topology), within
 * the cgroup's quota. 0, or -1 with ERR_USAGE for lists that do not fit the workers, or name
 * CPUs that muster may not use. */
int cpu_plan_build(const char *cpu_bind, const struct facts *facts, struct node_plan *plan,
                   struct err *e);

#endif

# GPU inventory and selection: sources of muster_core (pure) and muster_io, relative to launcher/.
set(MUSTER_DEVICE_CORE
  core/gpu_error.c core/device.c core/ambient.c core/gpu_spec.c core/device_pick.c core/device_auto.c
  core/device_ranks.c core/device_select.c core/placement.c core/cpu_plan.c)
set(MUSTER_DEVICE_IO
  io/probe.c io/probe_fake.c io/probe_nvml.c io/probe_proc.c io/topology.c)

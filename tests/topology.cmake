# What muster reads from hwloc, and what becomes of it in a node's plan.
muster_unit_tests(launcher_topology devices_vector)

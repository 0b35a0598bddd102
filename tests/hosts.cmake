# Host lists, node order, other launchers' environments, remote commands: unit tests and fuzz targets.
if(NOT TARGET muster_core)
  return()
endif()
muster_layer(hosts_table unit/launcher_hosts/table.c)
target_include_directories(hosts_table PUBLIC unit/launcher_hosts)
target_compile_definitions(hosts_table PRIVATE TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(hosts_table PUBLIC muster_core rendezvous_core base)
muster_unit_tests(launcher_hosts hosts_table)

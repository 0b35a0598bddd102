# Host lists, node order, other launchers' environments, remote commands: unit tests and fuzz targets.
if(NOT TARGET muster_core)
  return()
endif()
muster_layer(hosts_table unit/launcher_hosts/table.c)
target_include_directories(hosts_table PUBLIC unit/launcher_hosts)
target_link_libraries(hosts_table PUBLIC tests_tsv muster_core rendezvous_core base)
muster_unit_tests(launcher_hosts hosts_table)

include(${CMAKE_CURRENT_LIST_DIR}/fuzz_target.cmake)
muster_fuzz_target(hosts ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_hosts.c muster_core)
muster_fuzz_target(boot_record ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_boot_record.c muster_core)
muster_fuzz_target(status_line ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_status_line.c muster_core)
muster_fuzz_target(ask_record ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_ask_record.c muster_core)

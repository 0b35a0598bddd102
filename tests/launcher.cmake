# Tests of launcher/ beyond its devices: unit tests of the pure modules and of io, and toys of the system suites.
if(NOT TARGET muster_io)
  return()
endif()
find_package(Threads REQUIRED)
muster_layer(launcher_driven unit/launcher/driven.c)
target_link_libraries(launcher_driven PUBLIC muster_core)
target_include_directories(launcher_driven PUBLIC unit/launcher)
muster_unit_tests(launcher launcher_driven muster_io muster_core rendezvous_io rendezvous_core base dep_uv)

add_executable(escape system/toys/escape.c)
target_link_libraries(escape PRIVATE muster_flags Threads::Threads)
add_executable(counter system/toys/counter.c)
target_link_libraries(counter PRIVATE rendezvous_client)
add_executable(beater system/toys/beater.c)
target_link_libraries(beater PRIVATE muster_flags)
add_executable(deny_numa tools/deny_numa.c)
target_link_libraries(deny_numa PRIVATE muster_flags)

include(${CMAKE_CURRENT_LIST_DIR}/fuzz_target.cmake)
muster_fuzz_target(link_wire ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_link_wire.c muster_core)
muster_fuzz_target(evidence ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_evidence.c muster_core)

# muster under valgrind, beside real workers. A sanitizer and valgrind exclude each other.
if(NOT MUSTER_SANITIZE AND TARGET muster)
  add_executable(pidfd_lend tools/pidfd_lend.c)
  target_link_libraries(pidfd_lend PRIVATE muster_flags)
  add_library(pidfd_preload MODULE tools/pidfd_preload.c)
  target_link_libraries(pidfd_preload PRIVATE muster_flags ${CMAKE_DL_LIBS})
  add_test(NAME valgrind/run COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/system/valgrind.sh $<TARGET_FILE:muster>
    $<TARGET_FILE:pidfd_lend> $<TARGET_FILE:pidfd_preload>)
  set_tests_properties(valgrind/run PROPERTIES LABELS valgrind TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()

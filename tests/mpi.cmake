# MPI under muster: the wire of PMI-1, and PMIx between two nodes where it is built.
if(NOT TARGET muster_io)
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/fuzz_target.cmake)
muster_fuzz_target(pmi_wire ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_pmi_wire.c muster_core)
if(TARGET dep_pmix)
  muster_unit_tests(launcher_pmix muster_io muster_core base dep_uv dep_pmix)
  set_property(TEST unit/launcher_pmix/test_pmix_server PROPERTY ENVIRONMENT
    LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/lsan.txt:print_suppressions=0)
endif()

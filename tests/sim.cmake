# The two machines under text traces, the simulator and the fuzzer.
include(${CMAKE_CURRENT_LIST_DIR}/fuzz_target.cmake)

muster_layer(sim_setup sim/setup.c)
target_link_libraries(sim_setup PUBLIC muster_core)

# Each trace/*.txt is one test; `trace_run FILE --rewrite` writes the answers anew.
add_executable(trace_run trace/trace_run.c)
target_link_libraries(trace_run PRIVATE sim_setup)
file(GLOB traces CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/trace/*.txt)
foreach(trace ${traces})
  get_filename_component(name ${trace} NAME_WE)
  add_test(NAME trace/${name} COMMAND trace_run ${trace})
  set_tests_properties(trace/${name} PROPERTIES LABELS trace TIMEOUT 30)
endforeach()

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
  set_tests_properties(trace/${name} PROPERTIES LABELS trace TIMEOUT 120)
endforeach()

# The simulator: one test a scenario. At full size 10,000 nodes of 8 workers; fewer under a sanitizer.
add_executable(sim sim/sim_main.c sim/sim.c sim/ssh.c sim/process.c sim/fence.c sim/look.c sim/check.c sim/heap.c)
target_link_libraries(sim PRIVATE sim_setup)
set(sim_full 10000)
set(sim_seeds 600)
if(MUSTER_SANITIZE)
  set(sim_full 1000)
  set(sim_seeds 200)
endif()
foreach(scenario clean faults restarts node-lost mpi signals time-limit hang quiet alone look tree-dead)
  add_test(NAME sim/${scenario} COMMAND sim ${scenario})
endforeach()
add_test(NAME sim/restart COMMAND sim restart --nodes ${sim_full})
add_test(NAME sim/tree COMMAND sim tree --nodes ${sim_full})
add_test(NAME sim/tree-slow COMMAND sim tree-slow --nodes ${sim_full})
add_test(NAME sim/sweep COMMAND sim sweep --seeds ${sim_seeds})
foreach(scenario clean faults restart restarts node-lost mpi signals time-limit hang quiet alone sweep look
                 tree tree-slow tree-dead)
  set_tests_properties(sim/${scenario} PROPERTIES LABELS sim TIMEOUT 600)
endforeach()

muster_fuzz_target(machines ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_machines.c sim_setup)
muster_fuzz_target(options ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_options.c muster_core)
muster_fuzz_target(notify ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_notify.c muster_core)
muster_fuzz_target(torchrun ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_torchrun.c muster_core)

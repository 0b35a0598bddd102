# Label bench: nothing is asserted about time; the test only shows that the comparison runs.
add_executable(spawn_floor bench/spawn_floor.c)
target_link_libraries(spawn_floor PRIVATE muster_flags)
add_test(NAME bench/spawn COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench/spawn.sh -b ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(bench/spawn PROPERTIES LABELS bench TIMEOUT 600 RUN_SERIAL ON)
add_test(NAME bench/output COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench/output.sh -m 4 -r 1 -b ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} 4 64)
set_tests_properties(bench/output PROPERTIES LABELS bench TIMEOUT 600 RUN_SERIAL ON)
add_test(NAME bench/death COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench/death.sh -n 4 -r 1 -b ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set_tests_properties(bench/death PROPERTIES LABELS bench TIMEOUT 600 RUN_SERIAL ON)

# muster_fuzz_target(NAME SOURCES LIBS...): sources define LLVMFuzzerTestOneInput.
# With MUSTER_FUZZ it is a libFuzzer executable and the test fuzzrun/NAME (label fuzzrun, 20 s);
# else a plain executable that replays fuzz/corpus/NAME/* as the test fuzz/NAME (label fuzz).
# SOURCES: one file, or a list in quotes. New inputs are found in the build folder, not in the source tree.
include_guard(GLOBAL)
set(MUSTER_FUZZ_DIR ${CMAKE_CURRENT_LIST_DIR}/fuzz)

function(muster_fuzz_target name sources)
  set(target fuzz_${name})
  set(corpus ${MUSTER_FUZZ_DIR}/corpus/${name})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${ARGN})
  if(MUSTER_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    set(found ${CMAKE_CURRENT_BINARY_DIR}/corpus/${name})
    file(MAKE_DIRECTORY ${found})
    add_test(NAME fuzzrun/${name}
             COMMAND ${target} -max_total_time=20 -timeout=10 -rss_limit_mb=2048 -artifact_prefix=${found}/../
                     ${found} ${corpus})
    set_tests_properties(fuzzrun/${name} PROPERTIES LABELS fuzzrun TIMEOUT 120)
  else()
    target_sources(${target} PRIVATE ${MUSTER_FUZZ_DIR}/replay_main.c)
    add_test(NAME fuzz/${name} COMMAND ${target} ${corpus})
    set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 120)
  endif()
endfunction()

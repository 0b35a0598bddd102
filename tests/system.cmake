# Label system: the programs as a user runs them. One test a .bats file; helpers.bash says what a test finds
# in its environment. Without the launcher (a build of some layers only) they are shown as skipped.
find_program(BATS bats)
add_executable(toy system/toys/toy.c)
target_link_libraries(toy PRIVATE muster_flags)
file(GLOB system_suites CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/system/t*.bats)
foreach(suite ${system_suites})
  get_filename_component(name ${suite} NAME_WE)
  if(BATS AND (TARGET muster OR name STREQUAL t1000-helpers))
    add_test(NAME system/${name} COMMAND ${BATS} --print-output-on-failure ${suite})
  else()
    add_test(NAME system/${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/lint/absent.sh "bats, or the launcher,")
  endif()
  # Of suites with several hosts, a whole file may be skipped: lab.bash says so in these words.
  set_tests_properties(system/${name} PROPERTIES LABELS system TIMEOUT 900 SKIP_RETURN_CODE 77
    SKIP_REGULAR_EXPRESSION "# skip whole file: ")
  if(name MATCHES "^t2")
    # COST: the long ones first, so that none is left alone at the end
    set_tests_properties(system/${name} PROPERTIES COST 100)
  endif()
  set_property(TEST system/${name} PROPERTY ENVIRONMENT
    MUSTER=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/muster
    MUSTER_WORKER=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/muster-worker
    BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/lsan.txt:print_suppressions=0
    SOURCE=${PROJECT_SOURCE_DIR})
endforeach()

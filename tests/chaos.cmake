# Label system: jobs with random faults, a few of them. By hand more: see docs/testing.md.
find_package(Python3 COMPONENTS Interpreter)
if(TARGET muster AND Python3_FOUND)
  add_test(NAME system/chaos
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/chaos/chaos.py $<TARGET_FILE:muster> --jobs 25)
  set_tests_properties(system/chaos PROPERTIES LABELS system TIMEOUT 900 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endif()

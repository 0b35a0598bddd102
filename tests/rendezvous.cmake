# Tests of rendezvous/ beyond one executable a module: recorded conversations.
include(${CMAKE_CURRENT_LIST_DIR}/fuzz_target.cmake)
foreach(test test_vectors)
  target_sources(rendezvous_${test} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/rendezvous/transcript.c)
endforeach()

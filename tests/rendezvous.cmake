# Tests of rendezvous/ beyond one executable a module: recorded conversations.
include(${CMAKE_CURRENT_LIST_DIR}/fuzz_target.cmake)
function(rendezvous_helpers test)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/unit/rendezvous/)
  target_sources(rendezvous_${test} PRIVATE ${ARGN})
endfunction()
rendezvous_helpers(test_vectors transcript.c)
rendezvous_helpers(test_port_vectors transcript.c live_server.c)
rendezvous_helpers(test_store_client live_server.c)
rendezvous_helpers(test_port live_server.c)

# A stand-alone store: "listening HOST:PORT", stdin drives it.
add_executable(store_serve ${CMAKE_CURRENT_SOURCE_DIR}/tools/store_serve.c)
target_link_libraries(store_serve PRIVATE rendezvous_io dep_uv)

# Asked for: `cmake --build … --target store_load`, then tests/bench/store.sh.
add_executable(store_load ${CMAKE_CURRENT_SOURCE_DIR}/bench/store_load.c)
target_link_libraries(store_load PRIVATE rendezvous_core)

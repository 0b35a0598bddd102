# Fuzz targets of rendezvous/. Those of other folders are named in their own files.
include(${CMAKE_CURRENT_LIST_DIR}/fuzz_target.cmake)
muster_fuzz_target(tcpstore_wire ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_tcpstore_wire.c rendezvous_core)
muster_fuzz_target(store ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_store.c rendezvous_core)
muster_fuzz_target(link_auth ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_link_auth.c rendezvous_io dep_sodium)

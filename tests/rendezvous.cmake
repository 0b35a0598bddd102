# Tests of rendezvous/ beyond one executable a module: recorded conversations.
include(${CMAKE_CURRENT_LIST_DIR}/fuzz_target.cmake)
function(rendezvous_helpers test)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/unit/rendezvous/)
  target_sources(rendezvous_${test} PRIVATE ${ARGN})
endfunction()
rendezvous_helpers(test_vectors transcript.c)
rendezvous_helpers(test_port_vectors transcript.c live_server.c)
rendezvous_helpers(test_store_client live_server.c)
rendezvous_helpers(test_port live_server.c raw_client.c)
rendezvous_helpers(test_port_ends live_server.c raw_client.c)
rendezvous_helpers(test_port_splits live_server.c raw_client.c)
rendezvous_helpers(test_port_storm live_server.c raw_client.c)

# A stand-alone store: "listening HOST:PORT", stdin drives it.
add_executable(store_serve ${CMAKE_CURRENT_SOURCE_DIR}/tools/store_serve.c)
target_link_libraries(store_serve PRIVATE rendezvous_io dep_uv)

# Real clients. Debian's torch (/usr/bin/python3) is a default test; any other one is asked for with
# -DMUSTER_TORCH_PYTHON=path and the label interop.
set(MUSTER_TORCH_PYTHON "" CACHE STRING "Python with torch >= 1.13 for the tests labelled interop")

function(rendezvous_torch_tests label python)
  foreach(script store_compare store_api)
    set(name ${label}/${script})
    add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/interop/with_store.sh $<TARGET_FILE:store_serve>
             ${python} ${CMAKE_CURRENT_SOURCE_DIR}/interop/${script}.py)
    # store_api measures time-outs of its own: alone, so that a busy machine does not fail it
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 600 RUN_SERIAL TRUE)
  endforeach()
  if(TARGET muster) # a restarted group must not read what the one before it left
    add_test(NAME ${label}/restart COMMAND ${CMAKE_COMMAND} -E env PYTHON=${python} $<TARGET_FILE:muster> run -n 2
             --max-restarts 1 ${CMAKE_CURRENT_SOURCE_DIR}/interop/restart.py --late 1 --timeout 120)
    add_test(NAME ${label}/ddp COMMAND ${CMAKE_COMMAND} -E env PYTHON=${python} $<TARGET_FILE:muster> run -n 2
             ${PROJECT_SOURCE_DIR}/examples/pytorch-ddp/train.py 3)
    set_tests_properties(${label}/restart ${label}/ddp PROPERTIES LABELS ${label} TIMEOUT 600)
  endif()
endfunction()

execute_process(COMMAND /usr/bin/python3 -c "import torch.distributed as d; d.TCPStore" RESULT_VARIABLE no_torch
                OUTPUT_QUIET ERROR_QUIET)
if(no_torch)
  message(STATUS "/usr/bin/python3 has no torch: system/store_compare and system/store_api are skipped")
  foreach(script store_compare store_api)
    add_test(NAME system/${script} COMMAND ${CMAKE_COMMAND} -E echo "skipped: /usr/bin/python3 has no torch")
    set_tests_properties(system/${script} PROPERTIES LABELS system SKIP_REGULAR_EXPRESSION "^skipped")
  endforeach()
else()
  rendezvous_torch_tests(system /usr/bin/python3)
endif()
if(MUSTER_TORCH_PYTHON)
  rendezvous_torch_tests(interop ${MUSTER_TORCH_PYTHON})
endif()

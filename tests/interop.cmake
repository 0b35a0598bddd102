# Label interop: the examples under muster and under the launcher that they were written for, with equal losses.
# tests/interop/venv.sh makes an interpreter that has the frameworks; an example whose package it lacks is shown as skipped.
set(MUSTER_FRAMEWORKS_PYTHON "" CACHE STRING "Python with the frameworks of examples/, for the tests labelled interop")
if(NOT MUSTER_FRAMEWORKS_PYTHON OR NOT TARGET muster)
  return()
endif()
foreach(name pytorch-ddp pytorch-fsdp resume lightning accelerate accelerate-config hf-trainer deepspeed jax mpi4py)
  add_test(NAME interop/example-${name} COMMAND ${MUSTER_FRAMEWORKS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/interop/same_loss.py
           $<TARGET_FILE:muster> ${MUSTER_FRAMEWORKS_PYTHON} ${name})
  set_tests_properties(interop/example-${name} PROPERTIES LABELS interop TIMEOUT 1500 SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME interop/nested COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/interop/nested.sh $<TARGET_FILE:muster> ${MUSTER_FRAMEWORKS_PYTHON})
set_tests_properties(interop/nested PROPERTIES LABELS interop TIMEOUT 1000)

# By hand, as it takes long: tests/interop/restart_score.py, a restart fifty times in a row.

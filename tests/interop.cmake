# What torchrun's own tests check, of muster under that name: alone by default, beside a real torchrun (that of
# MUSTER_TORCH_PYTHON, which takes seconds for each start) with the label interop.
if(TARGET muster)
  set(behaviours ${CMAKE_CURRENT_SOURCE_DIR}/interop/torchrun_behaviours.py --muster $<TARGET_FILE:muster>)
  find_program(BEHAVIOURS_PYTHON python3 REQUIRED)
  add_test(NAME system/torchrun_behaviours COMMAND ${BEHAVIOURS_PYTHON} ${behaviours})
  set_tests_properties(system/torchrun_behaviours PROPERTIES LABELS system TIMEOUT 900 COST 300)
  if(MUSTER_TORCH_PYTHON)
    get_filename_component(torch_bin ${MUSTER_TORCH_PYTHON} DIRECTORY)
    if(EXISTS ${torch_bin}/torchrun)
      add_test(NAME interop/torchrun_behaviours COMMAND ${MUSTER_TORCH_PYTHON} ${behaviours} --torchrun ${torch_bin}/torchrun)
      add_test(NAME interop/store_torchrun COMMAND ${MUSTER_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/interop/store_torchrun.py
               --muster $<TARGET_FILE:muster> --torchrun ${torch_bin}/torchrun)
      set_tests_properties(interop/torchrun_behaviours interop/store_torchrun PROPERTIES LABELS interop TIMEOUT 3600
                           RUN_SERIAL TRUE)
    endif()
  endif()
endif()

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

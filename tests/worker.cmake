# muster-worker: its modules, and whole groups of it on the host backend against tests/tools/store_serve.
muster_unit_tests(worker worker)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  # worker_group(NAME group.py's options...)
  function(worker_group name)
    add_test(NAME worker/${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/unit/worker/group.py
      --store $<TARGET_FILE:store_serve> --worker $<TARGET_FILE:muster-worker> ${ARGN} --backend host)
    set_tests_properties(worker/${name} PROPERTIES LABELS system TIMEOUT 120)
  endfunction()

  worker_group(two_ranks --match "verified: 0 wrong" --)
  worker_group(three_ranks_all_types --ranks 3 --match "verified: 0 wrong" --
    -b 8 -e 100K -f 23 -d all -o all -n 3 -c 2)
  worker_group(lone_rank --ranks 1 --match "busbw not applicable" -- --sizes 8,64K)
  worker_group(json_on_stdout --json - -- --sizes 8,64K -n 4)
  worker_group(json_file --json file -- --sizes 64K -n 4)
  worker_group(time_only --match "not verified: timed only" -- --sizes 64K -c 0)
  worker_group(corrupt_is_named --status 10 --match "rank 1: 1 wrong elements in the all_reduce of 64K float sum" --
    --sizes 8,64K --inject corrupt:rank=1,size=64K)
  worker_group(hang_before_cuda_is_named --ranks 3 --status 12
    --match "rank 1 .host .*pid [0-9]+. has not reached cuda_ok. last phase started" --
    --inject hang:rank=1,phase=cuda_ok --deadline cuda_ok=2)
  worker_group(hang_before_a_size_is_named --ranks 3 --status 12
    --match "rank 2 .* has not entered it. last phase warm" --
    --sizes 64K --inject hang:rank=2,phase=bench --deadline bench=2)
  worker_group(missing_rank_0_is_named --status 12 --match "rank 0 .* has not reached init_done" --
    --inject hang:rank=0,phase=init_done --deadline init_done=2)
  worker_group(death_is_the_launchers_verdict --ranks 3 --status 137 -- --inject die:rank=2,phase=init_enter,signal=9)
  worker_group(late_rank_is_waited_for --match "verified: 0 wrong" -- --sizes 8 --inject late:rank=1,phase=started,s=1)
  worker_group(slow_rank_is_named --match "rank 1 is slow" -- --sizes 64K -n 5 --inject slow:rank=1,ms=20)
  worker_group(too_slow_fails --each 11 --match "slower than demanded" -- --sizes 64K --min-busbw 100000)
  worker_group(two_nodes_are_refused --ranks 4 --nodes 2 --status 17 --match "works within one node" --)
  worker_group(type_without_support --status 2 --match "the host backend .* has float" -- --type half)
endif()

add_test(NAME worker/without_launcher COMMAND ${CMAKE_COMMAND} -E env --unset=RANK --unset=WORLD_SIZE
  $<TARGET_FILE:muster-worker>)
set_tests_properties(worker/without_launcher PROPERTIES LABELS system TIMEOUT 20
  PASS_REGULAR_EXPRESSION "RANK WORLD_SIZE not set; start it with: muster -n 2 muster-worker")

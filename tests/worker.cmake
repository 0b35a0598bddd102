# muster-worker: its modules, and whole groups of it on the host backend against tests/tools/store_serve.
muster_unit_tests(worker worker)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  # worker_group(NAME group.py's options...)
  function(worker_group name)
    add_test(NAME worker/${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/unit/worker/group.py
      --store $<TARGET_FILE:store_serve> --worker $<TARGET_FILE:muster-worker> ${ARGN} --backend host)
    set_tests_properties(worker/${name} PROPERTIES LABELS system TIMEOUT 400)
  endfunction()

  worker_group(two_ranks --match "verified: 0 wrong" --)
  worker_group(three_ranks_all_types --ranks 3 --match "verified: 0 wrong" --
    -b 8 -e 5K -f 23 -d all -o all -n 2)
  worker_group(lone_rank --ranks 1 --match "busbw not applicable" -- --sizes 8,64K)
  worker_group(json_on_stdout --json - -- --sizes 8,64K -n 4)
  worker_group(json_file --json file -- --sizes 64K -n 4)
  worker_group(time_only --match "not verified: timed only" -- --sizes 64K -c 0)
  worker_group(corrupt_is_named --status 10 --match "rank 1: 1 wrong elements in the all_reduce of 64K float sum" --
    --sizes 8,64K --inject corrupt:rank=1,size=64K)
  worker_group(hang_before_a_size_is_named --ranks 3 --status 12
    --match "rank 2 .* has not entered it. last phase warm" --
    --sizes 64K --inject hang:rank=2,phase=bench --deadline bench=2)
  foreach(pair started=never cuda_ok=started init_enter=cuda_ok init_done=init_enter verify=bench.0
      bye=verify)
    string(REGEX MATCH "^(.*)=(.*)$" ignored ${pair})
    set(last "last phase ${CMAKE_MATCH_2}, [0-9]+ s ago")
    if(CMAKE_MATCH_2 STREQUAL "never")
      set(last "no phase reached")
    endif()
    worker_group(hang_before_${CMAKE_MATCH_1}_is_named --ranks 3 --status 12
      --once "rank 1 .(?:host [^ ]+, local rank 1, no GPU, pid [0-9]+|it never wrote its record). has not reached ${CMAKE_MATCH_1}. ${last}"
      -- --sizes 8 --inject hang:rank=1,phase=${CMAKE_MATCH_1} --deadline ${CMAKE_MATCH_1}=1)
  endforeach()
  worker_group(hang_before_the_warm_up_is_named --status 12
    --match "warm-up of all_reduce did not begin on all ranks within 1 s"
    --match "rank 1 .host [^ ]+, local rank 1, no GPU, pid [0-9]+. has not entered it. last phase init_done, [0-9]+ s ago" --
    --sizes 8 --inject hang:rank=1,phase=warm --deadline warm=1)
  worker_group(hang_inside_a_collective_is_told_apart --status 15
    --match "all 2 ranks entered the alltoall of 64K float and it did not end within 2 s. 2 of them are in it"
    --match "rank 0 .host .* has not left it. last phase warm" --
    --test alltoall --sizes 64K --inject slow:rank=1,ms=100000 --deadline bench=2)
  worker_group(slowness_of_all_names_nobody --ranks 3 --status 15
    --once "after 10 s 3 of 3 ranks are still in the all_reduce of 64K float sum\n" --
    --sizes 64K --inject slow:rank=1,ms=100000 --deadline bench=11)
  worker_group(hang_inside_pairs_is_told_apart --status 15
    --match "all 2 ranks entered the transfers between pairs and it did not end within 2 s" --
    --test pairs --inject slowlink:a=0,b=1,ms=100000 --deadline bench=2)
  worker_group(death_by_a_status --ranks 3 --status 1 -- --inject die:rank=2,phase=warm)
  worker_group(missing_rank_0_is_named --status 12 --match "rank 0 .* has not reached init_done" --
    --inject hang:rank=0,phase=init_done --deadline init_done=2)
  worker_group(death_is_the_launchers_verdict --ranks 3 --status 137 -- --inject die:rank=2,phase=init_enter,signal=9)
  worker_group(late_rank_is_waited_for --match "verified: 0 wrong" -- --sizes 8 --inject late:rank=1,phase=started,s=1)
  # so slow that waiting for a busy processor is no match for it
  worker_group(slow_rank_is_named --match "rank 1 is slow" -- --sizes 64K -n 2 --inject slow:rank=1,ms=300)
  worker_group(too_slow_fails --each 11 --match "slower than demanded" -- --sizes 64K --min-busbw 100000)
  worker_group(two_nodes --ranks 4 --nodes 2 --match "4 ranks on 2 nodes" --match "verified: 0 wrong" --json file --
    --test all --sizes 8,100K -n 2 --root 3)
  worker_group(three_nodes --ranks 6 --nodes 3 --match "verified: 0 wrong" -- --sizes 8,300K -n 2 -d half,int8 -o avg,prod)
  worker_group(every_collective --ranks 3 --match "verified: 0 wrong" --json file --
    --test all --sizes 8,100K -n 2 --root 2 -c 2)
  worker_group(every_type --ranks 2 --match "verified: 0 wrong" -- --test reducescatter,alltoall,scatter -d all -o all
    -b 8 -e 10K -f 35 -n 1)
  worker_group(nccl_tests_columns --match "# Out of bounds values : 0 OK" --match "# Avg bus bandwidth    : [0-9.]+" --
    --sizes 8,64K -n 2 --format nccl-tests)
  worker_group(corrupt_names_the_source --ranks 3 --status 10
    --match "rank 2: 1 wrong elements in the broadcast of 64K float from rank 1, .* it is the data of rank 1" --
    --test broadcast --root 1 --sizes 64K --inject corrupt:rank=2)
  worker_group(slow_link_is_named --ranks 4 --match "link 1-3 is slow: " -- --test pairs -n 1
    --inject slowlink:a=3,b=1,ms=30)
  worker_group(slow_rank_of_pairs_is_named --ranks 4 --match "rank 2 is slow to all: " -- --test pairs -n 1
    --inject slow:rank=2,ms=30)
  worker_group(isolate_shows_the_slow_rank --ranks 3 --match "\nwithout rank 1: [0-9.]+ GB/s, with it: " --
    --test isolate -n 1 --inject slow:rank=1,ms=150)
  worker_group(host_is_not_judged --match "--expect is for GPUs: the host backend is not judged" -- --sizes 8 -n 1
    --expect 370)
  worker_group(latency_alone --match "latency, 8 bytes, us" --match "not verified: timed only" -- --test latency -n 5)
  worker_group(pairs_of_one_rank --ranks 1 --status 17 --match "pairs was left out: one rank has no peer" -- --test pairs)
  worker_group(hypercube_of_three --ranks 3 --status 2
    --once "--test hypercube needs a power of two of ranks, and there are 3" -- --test hypercube)
  worker_group(root_out_of_range --status 2 --once "--root 2: the ranks are 0 to 1" -- --test reduce --root 2)
endif()

add_test(NAME worker/without_launcher COMMAND ${CMAKE_COMMAND} -E env --unset=RANK --unset=WORLD_SIZE
  $<TARGET_FILE:muster-worker>)
set_tests_properties(worker/without_launcher PROPERTIES LABELS system TIMEOUT 120
  PASS_REGULAR_EXPRESSION "RANK WORLD_SIZE not set; start it with: muster -n 2 muster-worker")

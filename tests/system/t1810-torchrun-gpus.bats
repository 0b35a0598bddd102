#!/usr/bin/env bats
# torchrun's command line on a machine with GPUs: how many workers, what each of them sees.

load helpers
load launcher
load devices
load torchrun

SEE='echo "$LOCAL_RANK:${CUDA_VISIBLE_DEVICES-unset}"'

@test "gpu and auto start a worker for each visible GPU" {
  gpus_are N4
  local word
  for word in gpu auto; do
    run_torchrun --nproc-per-node "$word" --no-python sh -c 'echo "$LOCAL_RANK"'
    expect_status 0
    [[ ${#lines[@]} -eq 4 ]]
    CUDA_VISIBLE_DEVICES=0,1,3 run_torchrun --nproc-per-node "$word" --no-python sh -c 'echo "$LOCAL_RANK"'
    [[ ${#lines[@]} -eq 3 ]]
  done
  PET_NPROC_PER_NODE=gpu run_muster run sh -c 'echo "$LOCAL_RANK"'
  [[ ${#lines[@]} -eq 4 ]]
}

@test "gpu without one is refused" {
  refused --nproc-per-node gpu -- "no GPU"
}

@test "workers see all GPUs that torchrun would show them" {
  gpus_are N4
  run_torchrun --nproc 1 --no-python sh -c "$SEE"
  expect_status 0
  [[ $output == "0:0,1,2,3" && -z $stderr ]]
  CUDA_VISIBLE_DEVICES=3,1 run_torchrun --nproc 1 --no-python sh -c "$SEE"
  [[ $output == "0:3,1" ]]
  MUSTER_GPUS=2 run_torchrun --nproc 1 --no-python sh -c "$SEE"
  [[ $output == "0:2" ]]
}

@test "more workers than GPUs: a warning, and the environment stays" {
  gpus_are N4
  run_torchrun --nproc 5 --no-python sh -c "$SEE"
  expect_status 0
  [[ $(sort <<<"$output") == $'0:unset\n1:unset\n2:unset\n3:unset\n4:unset' ]]
  expect_in "$stderr" "5 workers on this node, more than visible GPUs"
  [[ ${#stderr_lines[@]} -eq 1 ]]
  run_muster -n 5 true
  expect_status 2
}

@test "a virtual local rank: one GPU each, LOCAL_RANK 0, prefixes keep the true one" {
  gpus_are N4
  CUDA_VISIBLE_DEVICES=3,1 run_torchrun --nproc 2 --virtual-local-rank --tee 1 --no-python sh -c "$SEE"
  expect_status 0
  [[ $(sort <<<"$output") == $'[default0]:0:3\n[default1]:0:1' ]]
}

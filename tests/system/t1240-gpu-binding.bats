#!/usr/bin/env bats
# The GPU of the plan is the GPU of the worker: muster asks a fake NVML, workers ask a fake CUDA with a parser of its own.
# bats file_tags=launcher

load helpers
load devices

MODES=(shared isolated isolated-virtual rotated)

# Runs with the way that fits the binding, and compares the UUID of each rank with these.
expect_gpus() { # binding uuids... -- options of muster
  local mode=$1 way=() uuids=() rank=0 uuid
  shift
  while [[ $1 != -- ]]; do
    uuids+=("$1")
    shift
  done
  shift
  [[ $mode == isolated ]] || way=(LOCAL_RANK)
  run_muster run --binding "$mode" "$@" example-which-gpu "${way[@]}"
  expect_status 0
  [[ ${#lines[@]} -eq ${#uuids[@]} ]]
  for uuid in "${uuids[@]}"; do
    [[ $output =~ "rank $rank: cuda:"[0-9]+" is $uuid" ]] ||
      { printf '%s %s: rank %s is not %s\n%s\n' "$mode" "$*" "$rank" "$uuid" "$output"; return 1; }
    rank=$((rank + 1))
  done
}

@test "--gpus 2,0: this order, in every binding" {
  fake_driver N4
  for mode in "${MODES[@]}"; do expect_gpus "$mode" "$U2" "$U0" -- --gpus 2,0; done
}

@test "phys:, a UUID's beginning, pci:, minor: and a removal, in every binding" {
  fake_driver N4
  for mode in "${MODES[@]}"; do
    expect_gpus "$mode" "$U3" "$U1" -- --gpus phys:3,phys:1
    expect_gpus "$mode" "$U2" "$U0" -- --gpus GPU-7c,GPU-1f0a
    expect_gpus "$mode" "$U1" -- --gpus pci:65:00
    expect_gpus "$mode" "$U0" -- --gpus minor:3
    expect_gpus "$mode" "$U0" "$U2" "$U3" -- --gpus ^1
  done
}

@test "inside CUDA_VISIBLE_DEVICES=2,0,1, --gpus 0,2 means the first and the third of it" {
  fake_driver N4
  export CUDA_VISIBLE_DEVICES=2,0,1
  for mode in "${MODES[@]}"; do expect_gpus "$mode" "$U2" "$U1" -- --gpus 0,2; done
  expect_gpus none "$U2" "$U0" "$U1" --
}

@test "the same with the list written in UUIDs, and by UUIDs in the environment" {
  fake_driver N4
  for mode in "${MODES[@]}"; do expect_gpus "$mode" "$U3" "$U0" -- --gpus 3,0 --gpu-format uuid; done
  export CUDA_VISIBLE_DEVICES=GPU-e5,GPU-1f9b
  for mode in "${MODES[@]}"; do expect_gpus "$mode" "$U3" "$U1" --; done
}

@test "MIG instances, one a worker" {
  fake_driver NMIG
  expect_gpus isolated GPU-bbbb0002 GPU-aaaa0001 -- --gpus mig:0:1,mig:0:0
}

@test "a muster inside a worker of a muster counts in what the outer one gave" {
  fake_driver N4
  run_muster run --gpus 3,1,2 --gpus-per-proc 3 "$MUSTER" run --gpus 2,0 example-which-gpu LOCAL_RANK
  expect_status 0
  expect_in "$output" "rank 0: cuda:0 is $U2"
  expect_in "$output" "rank 1: cuda:1 is $U3"
}

@test "mixed GPUs in CUDA's own order" {
  fake_driver NHET
  mkdir bin
  printf '#!/bin/sh\necho %s\necho %s\n' "$U2" "$U0" >bin/muster-worker # by speed, as the fake CUDA counts
  chmod +x bin/muster-worker
  export PATH=$PWD/bin:$PATH CUDA_DEVICE_ORDER=FASTEST_FIRST
  for mode in "${MODES[@]}"; do expect_gpus "$mode" "$U2" "$U0" --; done
  expect_gpus none "$U2" "$U0" --
}

@test "the plan's UUIDs are those of the workers" {
  fake_driver N4
  local uuids
  for mode in "${MODES[@]}"; do
    run_muster plan --json --binding "$mode" --gpus 3,0,2 true
    expect_status 0
    mapfile -t uuids < <(python3 -c 'import json, sys
for w in json.load(sys.stdin)["workers"]: print(w["gpus"][0]["uuid"])' <<<"$output")
    expect_gpus "$mode" "${uuids[@]}" -- --gpus 3,0,2
  done
}

@test "a program that takes cuda:0 in every rank is caught by the UUID it was planned for" {
  fake_driver N4
  run_muster run --gpus 0,1 example-which-gpu
  expect_status 1
  expect_in "$output" "muster planned $U1"
}

@test "PyTorch on a GPU" {
  local python=${PYTHON:-python3}
  "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null || skip "no PyTorch that sees a GPU"
  run_muster run "$SOURCE/examples/devices/framework.py"
  expect_status 0
}

@test "without a GPU the examples say so" {
  [[ ! -e /dev/nvidiactl ]] || skip "this machine has a driver"
  run_muster run -n 1 --binding none example-which-gpu
  expect_status 77
  expect_in "$output" "skipped: "
  run_muster run -n 1 --binding none "$SOURCE/examples/devices/framework.py"
  expect_status 77
  expect_in "$output" "skipped: PyTorch"
}

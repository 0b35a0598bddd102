#!/usr/bin/env bats
# Every class of refusal and of warning of GPU selection, as a person reads it. A refusal has status 2, one line that
# names the word, what would be right and how to spell it, and nothing has been started.
# bats file_tags=launcher

load helpers
load devices

@test "every class in gpu_error.h has a test here" {
  local name missing=
  for name in $(sed -n '/define GPU_ERRORS/,/^$/s/^    X(\([A-Z_]*\)).*/E_\1/p; /define GPU_WARNINGS/,/^$/s/^    X(\([A-Z_]*\)).*/W_\1/p' \
    "$SOURCE/launcher/core/gpu_error.h"); do
    grep -q "^@test \"$name" "$BATS_TEST_FILENAME" || missing+=" $name"
  done
  [[ -z $missing ]] || { echo "no test of$missing"; return 1; }
  [[ $(grep -c '^@test "[EW]_' "$BATS_TEST_FILENAME") -ge 28 ]]
}

@test "E_SYNTAX: a range with dots" {
  gpus_are N4
  refused --gpus 0..2 -- "--gpus" -- "0..2" -- "a range is written 0-3"
}

@test "E_SYNTAX: each of many spellings that are none names the word" {
  gpus_are N4
  local spec
  for spec in "0;1" "0," -1 01 "[0,1]" 0-1-2 cuda:0 pci:65 ^ auto:x N:2; do
    refused --gpus="$spec" -- "--gpus"
  done
}

@test "E_SYNTAX: --gpu-require" {
  gpus_are N4
  refused --gpus auto:1 --gpu-require "free>40" -- "--gpu-require" -- "free>=40G"
}

@test "E_EMPTY: no GPU is left, and --gpus none without a number" {
  gpus_are N4
  refused --gpus "^0-3" -- "leaves no GPU" -- "--gpus none -n N"
  refused --gpus none -- "-n N"
}

@test "E_RANGE: a position beyond the visible list shows the list and the physical spelling" {
  gpus_are N4
  refused --gpus 4 -- "no position 4" -- "0,1,2,3" -- "phys:4"
  export CUDA_VISIBLE_DEVICES=2,0
  refused --gpus 2 -- "visible GPUs 2,0" -- "CUDA_VISIBLE_DEVICES" -- "phys:2"
}

@test "E_NOT_VISIBLE: a physical GPU that the environment hides" {
  gpus_are N4
  export CUDA_VISIBLE_DEVICES=2,0
  refused --gpus phys:1 -- "CUDA_VISIBLE_DEVICES=2,0 hides it" -- "phys:2,phys:0" -- "--ignore-visible"
  refused --gpus GPU-e5d4 -- "GPU 3 exists"
}

@test "E_NO_MATCH: no such GPU, by each way to name one" {
  gpus_are N4
  refused --gpus GPU-dead -- "no such device" -- "GPU-1f0a55c3"
  refused --gpus phys:7 -- "no GPU 7" -- "muster gpus"
  refused --gpus pci:99:00 -- "pci:0000:17:00.0"
  refused --gpus minor:9 -- "minor:3"
  refused --gpus mig:0:1 -- "no MIG instance" -- "phys:0"
}

@test "E_AMBIGUOUS: the beginning of two UUIDs names both" {
  gpus_are N4
  refused --gpus GPU-1f -- "2 devices" -- "$U0" -- "$U1"
}

@test "E_DUPLICATE: one GPU by two names" {
  gpus_are N4
  refused --gpus 0,GPU-1f0a -- '"0" and "GPU-1f0a" are both GPU 0' -- "--procs-per-gpu 2"
}

@test "E_NO_DEVICES: names what hides the GPUs" {
  gpus_are N4
  export CUDA_VISIBLE_DEVICES=
  refused -- 'CUDA_VISIBLE_DEVICES=""' -- "all 4 GPUs"
  export CUDA_VISIBLE_DEVICES="[0, 1]"
  refused -n 2 -- '"[0, 1]" hides' -- "list them as 0,1"
  export CUDA_VISIBLE_DEVICES=NoDevFiles
  refused -- "NoDevFiles"
}

@test "E_INSUFFICIENT: n: and auto: ask for more than there is, with a reason for each GPU" {
  gpus_are NBUSY
  refused --gpus n:5 -- "only 4 GPUs are visible" -- "n:4"
  refused --gpus auto:3 --gpu-require "free>=70G" -- "auto" -- "1" -- "3"
}

@test "E_OVERSUBSCRIBED: more workers than GPUs suggests how to share" {
  gpus_are N4
  refused -n 8 -- "-n 8" -- "--procs-per-gpu 2" -- "ask for 4"
  refused -n 3 --gpus-per-proc 2 -- "enough for 2 workers"
}

@test "E_UNEVEN: GPUs that cannot be shared out evenly" {
  gpus_are N4
  refused --gpus 0-2 --gpus-per-proc 2 -- "do not divide evenly" -- "-n 1"
}

@test "E_CONFLICT: two options that exclude each other" {
  gpus_are N4
  refused --procs-per-gpu 2 --gpus-per-proc 2 -- "exclude each other"
  refused --binding none --gpus 0 -- "--binding none"
  gpus_are NMIG
  refused --gpus mig:0:0 --gpu-format index -- "--gpu-format uuid"
}

@test "E_AMBIENT_BAD: what would fail every CUDA program here" {
  gpus_are N4
  export CUDA_VISIBLE_DEVICES=0,0
  refused -- '"0,0" names one GPU twice' -- "error 101"
  unset CUDA_VISIBLE_DEVICES
  export CUDA_DEVICE_ORDER=zz
  refused -- 'CUDA_DEVICE_ORDER="zz"' -- "PCI_BUS_ID"
}

@test "E_AMBIENT_BAD: --strict-env makes what CUDA drops an error" {
  gpus_are N4
  export CUDA_VISIBLE_DEVICES=0,7
  refused --strict-env -- 'stops reading at "7"' -- "--strict-env"
  export CUDA_VISIBLE_DEVICES=0-2
  refused --strict-env -- '"0-2"' -- "0,1,2"
}

# A muster-worker that cannot ask CUDA, in front of the real one.
@test "E_ORDER: mixed GPUs in CUDA's own order, and nobody to ask" {
  mkdir bin
  printf '#!/bin/sh\necho "muster-worker: CUDA shows no GPU: no driver" >&2\nexit 17\n' >bin/muster-worker
  chmod +x bin/muster-worker
  gpus_are NHET
  export CUDA_DEVICE_ORDER=FASTEST_FIRST PATH=$PWD/bin:$PATH
  run_muster run "${MARK[@]}"
  expect_status 2
  not_started
  expect_in "$stderr" "CUDA shows no GPU: no driver"
  expect_in "$stderr" "GPUs of different kinds"
  expect_in "$stderr" "CUDA_DEVICE_ORDER=PCI_BUS_ID"
}

@test "E_MIG_PARENT: a GPU that MIG has split lists its instances" {
  gpus_are NMIG
  refused --gpus 0 --binding isolated -- "split by MIG" -- "mig:0:0,mig:0:1,mig:0:2"
}

@test "E_MIG_SHARED: one process, one instance" {
  gpus_are NMIG
  refused --gpus mig:0:0,mig:0:1 -- "one MIG instance" -- "--binding isolated"
}

@test "E_UNHEALTHY: a lost GPU, and how to go on without it" {
  gpus_are NLOST
  refused -- "GPU 1" -- "is lost" -- "^phys:1" -- "--skip-unhealthy"
  run_muster run --skip-unhealthy "${MARK[@]}"
  expect_status 0
  [[ $(wc -l <started) -eq 3 ]]
}

@test "E_PROHIBITED: a GPU that nobody may use" {
  gpus_are NPROH
  refused -- "GPU 2" -- "PROHIBITED" -- "^phys:2" -- "nvidia-smi -i 2 -c DEFAULT"
}

@test "E_EXCLUSIVE: several workers on a GPU that takes one process" {
  gpus_are NEXCL
  refused --gpus 0 --procs-per-gpu 2 -- "EXCLUSIVE_PROCESS" -- "MPS"
}

@test "E_NVML: GPUs are asked for and nothing can be asked about them" {
  export MUSTER_NVML_PATH=$PWD/none.so
  LINES_SAID=2 # the reason, then the refusal
  refused --gpus 0,1 -- "none.so: cannot open" -- "no GPU inventory" -- "utility"
  refused -- "-n N"
}

@test "E_NVML: the fake library, told to fail as after a daemon-reload" {
  fake_driver N4
  export FAKE_NVML_FAULT="nvmlInit_v2=999"
  LINES_SAID=2 refused --gpus 0 -- "nvmlInit_v2 gives 999" -- "daemon-reload" -- "no GPU inventory"
  run_muster gpus
  expect_status 78
  expect_in "$output" "nvmlInit_v2 gives 999"
  expect_in "$output" "daemon-reload"
}

@test "W_TRUNC: CUDA stops reading" {
  gpus_are N4
  export CUDA_VISIBLE_DEVICES=2,9,1
  warned -- 'stops reading at "9,1", so 1 GPU is visible'
  [[ $(wc -l <started) -eq 1 ]]
}

@test "W_SLOPPY: a range that CUDA does not know" {
  gpus_are N4
  export CUDA_VISIBLE_DEVICES=0-2
  warned -- '"0-2" CUDA reads only the number in front'
}

@test "W_ORDER: mixed GPUs and no order" {
  gpus_are NHET
  warned -- "GPUs of different kinds and no CUDA_DEVICE_ORDER"
}

@test "W_UNUSED: chosen GPUs that no worker gets; not where nobody chose" {
  gpus_are N4
  warned -n 2 --gpus 0-3 -- "2 of 4 selected GPUs stay unused"
  run_muster run -n 2 "${MARK[@]}"
  expect_status 0
  [[ -z $stderr ]]
}

@test "W_BUSY: auto had to take a GPU that others use" {
  gpus_are NBUSY
  warned --gpus auto:4 -- "runs other processes"
}

@test "W_NO_NVML: workers are started on GPUs that nobody could check" {
  export MUSTER_NVML_PATH=$PWD/none.so CUDA_VISIBLE_DEVICES=0,1
  warned -- "the GPUs are not checked"
  [[ $(wc -l <started) -eq 2 ]]
}

@test "W_TASK_SHARING: a Slurm task that may open one GPU of several" {
  gpus_are N1
  SLURM_NTASKS_PER_NODE=4 run_muster gpus
  expect_status 0
  expect_in "$output" "allow-task-sharing"
  SLURM_STEP_TASKS_PER_NODE='1(x2)' run_muster gpus
  expect_not_in "$output" "allow-task-sharing"
}

@test "W_MULTI_RANK: several workers on a GPU" {
  gpus_are N4
  warned --gpus 0 --procs-per-gpu 2 -- "Duplicate GPU detected"
}

@test "a lost GPU of a real NVML does not end the listing" {
  fake_driver NLOST
  run_muster gpus
  expect_status 0
  expect_in "$output" "LOST"
  expect_in "$output" "$U3"
  LINES_SAID=2 refused -- "NVML gives 15" -- "GPU 1 (" -- "is lost"
}

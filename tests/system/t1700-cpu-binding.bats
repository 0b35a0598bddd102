#!/usr/bin/env bats
# --cpu-bind: masks as the kernel applies them on this machine, plans on a machine of two NUMA nodes.

load helpers
load launcher

TOPOLOGY=$SOURCE/tests/vectors/devices/topology-2x8x2.xml
GPUS=$SOURCE/tests/vectors/devices/inventories.json

setup_file() {
  unset OMP_NUM_THREADS MUSTER_CPU_BIND HWLOC_XMLFILE MUSTER_HWLOC_PATH
}

cpus_of() { # process: its mask as a list
  sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$1/status"
}
first_cpu() {
  cpus_of $$ | grep -o '^[0-9]*'
}
# What every worker prints: rank, mask, OMP_NUM_THREADS.
show() {
  # shellcheck disable=SC2016
  echo 'echo "$RANK $(sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status) $OMP_NUM_THREADS"'
}
on_two_nodes() { # inventory, then muster's words
  local inventory=$1
  shift
  HWLOC_XMLFILE=$TOPOLOGY MUSTER_FAKE_GPUS=$GPUS:$inventory run_muster "$@"
}
expect_cpus() { # a CPU list and memory node for each rank, as `muster plan` shows them
  local rank=0 want line
  for want in "$@"; do
    line=$(grep -m1 -E "^ +$rank  " <<<"$output")
    [[ $line == *"  $want" ]] ||
      { printf 'rank %s is not on: %s\n%s\n' "$rank" "$want" "$output"; return 1; }
    rank=$((rank + 1))
  done
}

@test "a list is the mask of each worker, and the cores its threads" {
  local cpu
  cpu=$(first_cpu)
  run_muster -n 2 --cpu-bind "list:$cpu" sh -c "$(show)"
  expect_status 0
  expect_in "$output" "0 $cpu 1"
  expect_in "$output" "1 $cpu 1"
  [[ -z $stderr ]]
  MUSTER_CPU_BIND="list:$cpu:$cpu" run_muster -n 2 sh -c "$(show)"
  expect_status 0
  expect_in "$output" "1 $cpu 1"
}

@test "each worker has the list of its local rank" {
  (($(nproc) >= 2)) || skip "one CPU"
  local first second
  first=$(first_cpu)
  second=$(python3 -c 'import os; print(sorted(os.sched_getaffinity(0))[1])')
  run_muster -n 2 --cpu-bind "list:$second;$first" sh -c "$(show)"
  expect_status 0
  expect_in "$output" "0 $second "
  expect_in "$output" "1 $first "
}

@test "nothing is bound where nobody asks and there is one node, or no GPU" {
  local own
  own=$(cpus_of $$)
  run_muster -n 2 --gpus none sh -c "$(show)"
  expect_status 0
  expect_in "$output" "0 $own "
  expect_in "$output" "1 $own "
  [[ -z $stderr ]]
  if [[ $(</sys/devices/system/node/has_cpu) == 0 ]]; then
    MUSTER_FAKE_GPUS=$GPUS:N4 MUSTER_HWLOC_PATH=/no/such/library run_muster -v sh -c "$(show)"
    expect_status 0
    expect_in "$output" "3 $own "
    expect_not_in "$stderr" hwloc
  fi
  run_muster -n 1 --cpu-bind none sh -c "$(show)"
  expect_in "$output" "0 $own "
}

@test "a job without binding does not open hwloc" {
  MUSTER_HWLOC_PATH=/no/such/library run_muster -v -n 1 true
  expect_status 0
  expect_not_in "$stderr" hwloc
  MUSTER_HWLOC_PATH=/no/such/library run_muster -v -n 1 --cpu-bind none true
  expect_not_in "$stderr" hwloc
}

@test "without hwloc a binding that was asked for is a warning, the job runs" {
  MUSTER_HWLOC_PATH=/no/such/library run_muster -n 2 --cpu-bind node sh -c "$(show)"
  expect_status 0
  expect_in "$stderr" "warning: hwloc: /no/such/library"
  expect_in "$stderr" "CPUs are not bound"
  expect_in "$output" "0 $(cpus_of $$) "
  # Lists need no topology.
  MUSTER_HWLOC_PATH=/no/such/library run_muster -n 2 --cpu-bind "list:$(first_cpu)" sh -c "$(show)"
  expect_status 0
  expect_in "$output" "0 $(first_cpu) 1"
  [[ -z $stderr ]]
}

@test "a topology that cannot be read is named, the job runs" {
  echo '<topology version="2.0">' >bad.xml
  HWLOC_XMLFILE=$PWD/bad.xml run_muster -n 1 --cpu-bind node true
  expect_status 0
  expect_in "$stderr" "warning: hwloc: the topology of $PWD/bad.xml cannot be loaded"
  expect_not_in "$stderr" "****"
}

@test "a wrong value is status 2, with the values that are right" {
  local value
  for value in numa list list: list:a "list:0;" "list:0::1" list:3-1; do
    run_muster -n 1 --cpu-bind "$value" true
    expect_status 2
    expect_in "$stderr" "--cpu-bind: '$value' is not one of none, node, socket, exclusive, llc, or list:"
  done
  run_muster -n 3 --cpu-bind "list:$(first_cpu);$(first_cpu)" true
  expect_status 2
  expect_in "$stderr" "2 lists of CPUs for 3 workers"
  run_muster -n 1 --cpu-bind list:4095 true
  expect_status 2
  expect_in "$stderr" "CPU 4095 is none that muster may use here; it has $(cpus_of $$)"
}

@test "by default a worker has the CPUs and memory of its GPU's node, where there are several" {
  on_two_nodes N4 plan true
  expect_status 0
  expect_cpus "0-7,16-23 (node 0)" "0-7,16-23 (node 0)" "8-15,24-31 (node 1)"
  CUDA_VISIBLE_DEVICES=3,0 on_two_nodes N4 plan true
  expect_cpus "8-15,24-31 (node 1)" "0-7,16-23 (node 0)"
  on_two_nodes N4 plan --cpu-bind none true
  expect_not_in "$output" "0-7"
}

@test "cores are split among the workers of a node, and threads follow" {
  on_two_nodes N8 plan --gpus 0-2 --cpu-bind exclusive true
  expect_status 0
  expect_cpus "0-2,16-18 (node 0)" "3-5,19-21 (node 0)" "6-7,22-23 (node 0)"
  expect_in "$output" "3, 3, 2"
}

@test "with -v the number of threads has its reason" {
  on_two_nodes N4 -v true
  expect_in "$stderr" "OMP_NUM_THREADS=4: local rank 0 has 8 physical cores (CPUs 0-7,16-23), which 2 workers share"
  run_muster -v -n 1 --cpu-bind "list:$(first_cpu)" true
  expect_in "$stderr" "OMP_NUM_THREADS=1: local rank 0 has 1 physical core (CPUs $(first_cpu))"
  OMP_NUM_THREADS=5 run_muster -v -n 1 true
  expect_not_in "$stderr" "OMP_NUM_THREADS="
}

@test "too few cores for their workers are said, once" {
  on_two_nodes N4 plan --gpus 0 --procs-per-gpu 9 --cpu-bind exclusive true
  expect_status 0
  expect_in "$stderr" "W_CPU_FEW"
  [[ $(grep -c W_CPU_FEW <<<"$stderr") == 1 ]]
}

@test "CPUs that the kernel does not have are said, once, and stop nobody" {
  ! python3 -c 'import os; os.sched_setaffinity(0, {31})' 2>/dev/null || skip "this machine has a CPU 31"
  on_two_nodes N4 --cpu-bind list:31 true
  expect_status 0
  expect_in "$stderr" "could not be bound (Invalid argument)"
  [[ $(grep -c "could not be bound" <<<"$stderr") == 1 ]]
}

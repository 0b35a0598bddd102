#!/usr/bin/env bats
# examples/multi-node and docker/compose.yaml, on two hosts of a lab: the list by ssh, the batch script in a Slurm,
# and the commands of the manifests as their pods and containers would run them.

load helpers
load launcher
load lab

setup_file() {
  lab_up 2
  slurm_up --lab "$LAB"
}
teardown_file() {
  slurm_down
  lab_down
}
setup() {
  begin_test
  here=$SOURCE/examples/multi-node
}
teardown() {
  [[ -z ${SKIP_FILE-} ]] || return 0
  slurm exec scancel --user=root --full || true
  slurm idle
  lab_end_test
}

expect_sums() { # a group of 4
  local rank
  for rank in 0 1 2 3; do expect_in "$output" "rank $rank of 4: sum of ranks 6, hello from rank 0"; done
}

@test "hosts: two workers on each of two hosts, by ssh" {
  lab_muster 1 run --hostfile "$here/hosts" example-worker
  expect_status 0
  expect_sums
}

@test "job.sbatch: on all nodes of the allocation" {
  export WORKERS=2 PROGRAM=$BIN/example-worker
  run_slurm sbatch --parsable --output="$PWD/out" "$here/job.sbatch"
  expect_status 0
  slurm idle
  output=$(<out)
  expect_sums
}

# The words of a YAML list at a path of keys, one a line.
words() { # file python-expression of its documents `d`
  python3 -c '
import sys, yaml
d = list(yaml.safe_load_all(open(sys.argv[1])))
print("\n".join(str(w).replace("$$", "$") for w in eval(sys.argv[2])))' "$@"
}
need_yaml() { python3 -c 'import yaml' 2>/dev/null || skip "python3-yaml is not installed"; }
call_it() { # name: what both nodes call node1
  local node
  for node in 1 2; do
    cp "$LAB/node$node/hosts" "hosts.$node"
    echo "10.77.0.1 $1" >>"$LAB/node$node/hosts"
  done
}
pods() { # command...: as index 0 on node1 and 1 on node2
  local index
  for index in 0 1; do
    JOB_COMPLETION_INDEX=$index launch "pod$index" $((index + 1)) "$@"
  done
  for index in 0 1; do
    ended "pod$index"
    expect_status 0
    cat "hosts.$((index + 1))" >"$LAB/node$((index + 1))/hosts"
  done
  output=$(cat pod0.out pod1.out)
}

@test "job.yaml: what its two pods run" {
  need_yaml
  local args node
  mapfile -t args < <(words "$here/job.yaml" 'd[1]["spec"]["template"]["spec"]["containers"][0]["args"]')
  [[ ${args[-1]} == muster-worker ]]
  args[-1]=example-worker # whose sums are looked at here
  for node in 1 2; do
    lab_exec "$node" mkdir -p /run/muster
    head -c 32 </dev/zero | lab_exec "$node" sh -c 'umask 377; cat >/run/muster/key'
  done
  call_it example-0.example
  export MUSTER_NPROC_PER_NODE=2
  pods "${args[@]}"
  expect_sums
  expect_in "$(<pod0.err)" "--node-rank auto: 0, from JOB_COMPLETION_INDEX"
}

@test "compose.yaml: what its two containers run" {
  need_yaml
  local args rank
  mapfile -t args < <(words "$SOURCE/docker/compose.yaml" 'd[0]["services"]["node1"]["command"]')
  call_it node0
  pods "${args[@]}"
  for rank in 0 1 2 3; do expect_in "$output" "rank $rank of 4 on node$((rank / 2 + 1)), node $((rank / 2))"; done
}

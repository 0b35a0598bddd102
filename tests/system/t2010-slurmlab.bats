#!/usr/bin/env bats
# The Slurm of the lab itself, without muster.

load helpers
load launcher
load lab

setup_file() { slurm_up; }
teardown_file() { slurm_down; }

@test "a step runs on two nodes" {
  # shellcheck disable=SC2016 # for the step's shell
  run_slurm srun -N2 sh -c 'echo "$SLURMD_NODENAME $SLURM_PROCID"'
  expect_status 0
  [[ $(sort <<<"$output") == $'n1 0\nn2 1' ]]
}

@test "the status of a task is srun's" {
  run_slurm srun -N2 sh -c 'exit 7'
  expect_status 7
}

@test "standard input reaches every task of a step" {
  run_slurm srun -N3 cat <<<"one line"
  [[ $output == $'one line\none line\none line' ]]
}

@test "a step that is cancelled ends, with all its tasks" {
  lab_of_slurm
  "$SOURCE/tests/lab/slurmlab.sh" "$SLURM" exec srun -N2 sh -c 'echo "task up"; exec sleep 300' >out 2>err 3>&- &
  local pid=$!
  eventually 60 tasks_up 2
  run_slurm scancel --user=root
  expect_status 0
  eventually 60 has_ended "$pid"
  slurm idle
  lab_ps_empty
}
tasks_up() { [[ $(grep -c 'task up' out) -eq $1 ]]; }
lab_of_slurm() { LAB=$SLURM/lab; }

@test "a batch job runs in its allocation" {
  script job <<'W'
srun sh -c 'echo "$SLURM_JOB_NODELIST $SLURM_NODEID"'
W
  run_slurm sbatch -N 4 -o "$PWD/job.out" "$PWD/job"
  expect_status 0
  slurm idle
  [[ $(sort job.out) == $'n[1-4] 0\nn[1-4] 1\nn[1-4] 2\nn[1-4] 3' ]]
}

@test "GPUs are given by number" {
  [[ -e $SLURM/gres.conf ]] || skip "no device files here"
  # shellcheck disable=SC2016 # for the step's shell
  run_slurm srun -N2 --gres=gpu:2 sh -c 'echo "$CUDA_VISIBLE_DEVICES $SLURM_GPUS_ON_NODE"'
  [[ $output == $'0,1 2\n0,1 2' ]]
}

@test "a Slurm over the nodes of a lab has a host each, and leaves the lab as it was" {
  LAB=$BATS_TEST_TMPDIR/hosts
  netlab up 2 --no-sshd --owner $$
  SLURM=$BATS_TEST_TMPDIR/over
  slurm up --lab "$LAB" --gpus 0
  run_slurm srun -N2 hostname
  [[ $(sort <<<"$output") == $'node1\nnode2' ]]
  slurm down
  [[ -z $(netlab ps) ]]
  [[ ! -e $SLURM ]]
  netlab down
}

@test "down leaves nothing" {
  SLURM=$BATS_TEST_TMPDIR/own
  slurm up --nodes 1
  slurm down
  [[ ! -e $SLURM ]]
  run pgrep -f "$SLURM"
  [[ -z $output ]]
}

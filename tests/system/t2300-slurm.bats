#!/usr/bin/env bats
# muster inside a Slurm allocation, on three hosts with a slurmd each.

load helpers
load launcher
load lab

setup_file() {
  lab_up 3 --no-sshd
  slurm_up --lab "$LAB"
}
teardown_file() {
  slurm_down
  lab_down
}
teardown() {
  [[ -z ${SKIP_FILE-} ]] || return 0
  slurm exec scancel --user=root --full || true
  slurm idle
  lab_end_test
}

facts() {
  script facts <<'W'
echo "rank $RANK is $LOCAL_RANK on $(hostname), node $NODE_RANK of $GROUP_WORLD_SIZE"
W
}
expect_facts() { # workers a node
  local rank
  for ((rank = 0; rank < 3 * $1; rank++)); do
    expect_in "$output" "rank $rank is $((rank % $1)) on node$((rank / $1 + 1)), node $((rank / $1)) of 3"
  done
}
# What a job's script and its step print goes to the file job.out.
batch() { # options of sbatch; the script on standard input
  { echo '#!/bin/bash'; cat; } >job
  run_slurm sbatch --parsable -o "$PWD/job.out" "$@" "$PWD/job"
  expect_status 0
  JOB=$output
}

@test "salloc: one muster starts an agent on each node" {
  facts
  run_slurm salloc -N3 "$MUSTER" run -n 2 ./facts
  expect_status 0
  expect_facts 2
  slurm idle
  lab_ps_empty
}

@test "salloc: an MPI program is one world, without srun's or mpirun's help" {
  command -v mpicc.openmpi >/dev/null || skip "mpicc.openmpi is not installed"
  mpicc.openmpi -O -o hello "$SOURCE/examples/mpi/main.c"
  run "$MUSTER" -n 1 --mpi=pmix true
  [[ $status -eq 2 ]] && skip "this muster has no PMIx: $output"
  export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
  run_slurm salloc -N3 "$MUSTER" run -n 2 ./hello
  expect_status 0
  [[ $(grep -c "of 6: sum of ranks 15, ring ok" <<<"$output") -eq 6 ]]
  slurm idle
  lab_ps_empty
}

@test "sbatch: the same in a batch script" {
  facts
  batch -N3 <<W
"$MUSTER" run -n 2 ./facts
echo "status \$?"
W
  eventually 60 grep -q 'status' job.out
  output=$(<job.out)
  expect_facts 2
  expect_in "$output" "status 0"
  slurm idle
  lab_ps_empty
}

@test "srun: one muster a node, which meet at an endpoint" {
  facts
  run_slurm srun -N3 --ntasks-per-node=1 "$MUSTER" run --nnodes 3 --node-rank auto --rdzv-endpoint node1:29400 -n 2 ./facts
  expect_status 0
  expect_facts 2
}

@test "srun without an endpoint: status 2, which says what to do" {
  run_slurm srun -N3 --ntasks-per-node=1 "$MUSTER" run -n 2 sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "--rdzv-endpoint"
  [[ ! -e started ]]
}

@test "the status in an allocation is the failed worker's, and nobody else is blamed" {
  script w <<'W'
: >"up.$RANK"
until [ "$(ls up.* | wc -l)" = "$WORLD_SIZE" ]; do sleep 0.05; done
[ "$RANK" = 4 ] && exit 9
exec toy polite
W
  run_slurm salloc -N3 "$MUSTER" run -n 2 ./w
  expect_status 9
  expect_in "$stderr" "rank 4"
  expect_in "$stderr" "node3"
  expect_not_in "$stderr" "srun: error"
  slurm idle
  lab_ps_empty
}

waiting() {
  script w <<'W'
: >"up.$RANK"
exec toy polite
W
}

@test "scancel of a batch job ends it clean" {
  waiting
  batch -N3 <<W
exec "$MUSTER" run -n 2 --grace 2s ./w
W
  eventually 60 eval '[[ $(grep -c ready job.out) -eq 6 ]]'
  run_slurm scancel "$JOB"
  expect_status 0
  slurm idle
  lab_ps_empty
  [[ $(grep -c 'got TERM' job.out) -eq 6 ]]
}

@test "scancel of muster's own step ends the job, clean on every node" {
  waiting
  batch -N3 <<W
"$MUSTER" run -n 2 --grace 2s ./w
echo "status \$?"
W
  eventually 60 have 6 'up.*'
  run_slurm squeue -h -s -j "$JOB" -o %i
  local step
  step=$(grep -v batch <<<"$output")
  run_slurm scancel "$step"
  expect_status 0
  eventually 90 grep -q 'status' job.out
  run grep -q 'status 0' job.out
  [[ $status -ne 0 ]]
  slurm idle
  lab_ps_empty
}

@test "muster killed inside a batch job leaves no step behind" {
  waiting
  batch -N3 <<W
"$MUSTER" run -n 2 --grace 1s ./w &
echo "\$!" >pid
wait "\$!"
echo "status \$?"
W
  eventually 60 have 6 'up.*'
  lab_exec 1 kill -KILL "$(<pid)"
  eventually 60 grep -q 'status 137' job.out
  slurm idle
  lab_ps_empty
}

@test "GPUs of the allocation: each worker has its own, of each node" {
  [[ -e $SLURM/gres.conf ]] || skip "no device files here"
  script gpus <<'W'
echo "$RANK $(hostname) ${CUDA_VISIBLE_DEVICES-none}"
W
  run_slurm salloc -N2 --gpus-per-node=2 "$MUSTER" run -n 2 --gpus none ./gpus
  expect_status 0
  [[ ${#lines[@]} -eq 4 ]]
}

@test "part of the allocation is chosen by a host list" {
  facts
  run_slurm salloc -N3 "$MUSTER" run --hosts node2,node3 -n 1 hostname
  expect_status 0
  [[ $(sort <<<"$output") == $'node2\nnode3' ]]
}

@test "a host outside the allocation is refused" {
  run_slurm salloc -N2 -w node1,node2 "$MUSTER" run --hosts node2,node3 -n 1 sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "node3"
  [[ ! -e started ]]
}

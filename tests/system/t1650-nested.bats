#!/usr/bin/env bats
# Launchers within launchers: each job has its own ranks, store and failures, and says nothing of the one around it.

load helpers
load launcher
load devices

# What torchrun 2.15 gives a worker, as read from one; here of an outer job that is larger and was restarted.
IN_TORCHRUN=(env RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 LOCAL_WORLD_SIZE=2 GROUP_RANK=2 GROUP_WORLD_SIZE=4 ROLE_NAME=trainer ROLE_RANK=5
  ROLE_WORLD_SIZE=8 MASTER_ADDR=10.9.8.7 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=outer TORCHELASTIC_RESTART_COUNT=3
  TORCHELASTIC_MAX_RESTARTS=9 TORCHELASTIC_USE_AGENT_STORE=False TORCHELASTIC_ERROR_FILE=/outer/error.json
  "TORCHELASTIC_SIGNALS_TO_HANDLE=SIGTERM,SIGINT" TORCH_NCCL_ASYNC_ERROR_HANDLING=0 OMP_NUM_THREADS=3)

need() { # programs
  local program
  for program; do command -v "$program" >/dev/null || skip "$program is not installed"; done
}

# Open MPI's launcher as it is on a small machine, for root too.
open_mpi() {
  need mpirun
  mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}
MPIRUN=(mpirun --bind-to none --oversubscribe)

# An outer launcher, with a deadline and streams apart.
run_outer() { # command...
  bats_require_minimum_version 1.5.0
  run --separate-stderr bounded "$@"
}

# The names in rank 0's environment that begin with one of these.
names_of() { # as in OMPI_|PMIX_
  sed -En "s/^0:(($1)[A-Za-z0-9_]*)=.*/\1/p" <<<"$output" | sort -u
}

@test "in torchrun: nothing of the outer worker's place is left" {
  run_outer "${IN_TORCHRUN[@]}" "$MUSTER" -n 2 toy env
  expect_status 0
  local left
  left=$(grep -v ':BATS_' <<<"$output" | grep -E 'outer|10\.9\.8\.7|29500|TORCHELASTIC_SIGNALS_TO_HANDLE') || true
  [[ -z $left ]] || { echo "left: $left"; return 1; }
  local line
  for line in 1:RANK=1 1:LOCAL_RANK=1 1:WORLD_SIZE=2 1:GROUP_RANK=0 1:GROUP_WORLD_SIZE=1 1:ROLE_RANK=1 1:ROLE_NAME=default \
    1:MASTER_ADDR=127.0.0.1 1:TORCHELASTIC_RESTART_COUNT=0 1:TORCHELASTIC_MAX_RESTARTS=0 1:TORCHELASTIC_USE_AGENT_STORE=True; do
    grep -qx "$line" <<<"$output" || { echo "missing $line"; return 1; }
  done
}

@test "in torchrun: what the outer worker only suggests stays" {
  run_outer "${IN_TORCHRUN[@]}" "$MUSTER" -n 1 toy env
  expect_status 0
  [[ $'\n'$output$'\n' == *$'\n0:OMP_NUM_THREADS=3\n'* && $'\n'$output$'\n' == *$'\n0:TORCH_NCCL_ASYNC_ERROR_HANDLING=0\n'* ]]
}

@test "torchrun's options as variables are for the outer muster alone" {
  PET_NPROC_PER_NODE=2 PET_MAX_RESTARTS=4 run_muster run "$MUSTER" -n 1 sh -c 'echo "$WORLD_SIZE $TORCHELASTIC_MAX_RESTARTS ${PET_MAX_RESTARTS-}"'
  expect_status 0
  [[ $output == $'1 0 \n1 0 ' ]]
}

@test "muster in every worker of a muster: jobs with stores and ids of their own" {
  script inner <<'W'
exec "$MUSTER" -n 2 sh -c 'counter wait 2 here >/dev/null; echo "$RANK/$WORLD_SIZE $MUSTER_JOB_ID $MASTER_PORT"'
W
  run_muster -n 2 --rdzv-id outer ./inner
  expect_status 0
  [[ $(cut -d' ' -f1 <<<"$output" | sort | xargs) == "0/2 0/2 1/2 1/2" ]]
  [[ $(cut -d' ' -f2- <<<"$output" | sort -u | wc -l) -eq 2 ]] # two jobs: each id with one port
  expect_not_in "$output" "outer"
}

@test "four levels deep, the innermost status comes up" {
  run_muster -n 1 "$MUSTER" -n 1 "$MUSTER" -n 1 "$MUSTER" -n 2 sh -c '[ "$RANK" = 0 ] || exit 41; exec sleep 60'
  expect_status 41
  no_leftovers
}

@test "restarts are counted by each job for itself" {
  # The inner job uses up its own restart in each attempt of the outer one, which has two.
  script w <<'W'
outer=$TORCHELASTIC_RESTART_COUNT
"$MUSTER" -n 1 --max-restarts 1 sh -c 'echo "'"$outer"'.$TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS"; exit 6'
W
  run_muster -n 1 --max-restarts 2 ./w
  expect_status 6
  [[ $output == $'0.0 of 1\n0.1 of 1\n1.0 of 1\n1.1 of 1\n2.0 of 1\n2.1 of 1' ]]
}

@test "a wish not to be restarted holds for both jobs" {
  run_muster -n 1 --max-restarts 3 "$MUSTER" -n 1 --max-restarts 3 sh -c 'echo tried; exit 93'
  expect_status 93
  [[ $output == tried ]]
}

@test "an inner job sees the GPUs that the outer one gave its worker, no others" {
  gpus_are N4
  run_muster --gpus 2,0 --binding isolated "$MUSTER" run sh -c 'echo "$RANK of $WORLD_SIZE: $MUSTER_GPU_UUID"'
  expect_status 0
  [[ $(sort <<<"$output") == $(printf '0 of 1: %s\n' "$U0" "$U2" | sort) ]]
}

@test "an inner job under a shared binding has the outer's list in its order" {
  gpus_are N4
  run_muster -n 1 --gpus 3,1 --gpus-per-proc 2 "$MUSTER" run sh -c 'echo "$RANK of $WORLD_SIZE: $MUSTER_GPU_UUID"'
  expect_status 0
  [[ $(sort <<<"$output") == $(printf '%s\n' "0 of 2: $U3" "1 of 2: $U1") ]]
}

@test "the outer muster killed by SIGKILL takes the inner job with it" {
  begin -n 1 "$MUSTER" -n 2 sh -c ': >"up.$RANK"; exec sleep 300'
  eventually 20 have 2 'up.*'
  kill -KILL "$PID"
  end_within 20
  expect_status 137
  no_leftovers
}

@test "within Open MPI: a worker of muster has no place in the outer MPI job" {
  open_mpi
  run_outer "${MPIRUN[@]}" -n 1 env # what has to be hidden is there
  expect_status 0
  output=$(sed 's/^/0:/' <<<"$output")
  [[ $(names_of 'OMPI_COMM_WORLD_|PMIX_|OMPI_MCA_orte_' | wc -l) -gt 5 ]]
  run_outer "${MPIRUN[@]}" -n 1 "$MUSTER" --prefix none -n 2 toy env
  expect_status 0
  output=${output//$'\r'/}
  [[ -z $(names_of 'OMPI_COMM_WORLD_|PMIX_|OMPI_MCA_orte_|OMPI_UNIVERSE_|OMPI_APP_CTX|OMPI_FIRST_') ]]
  expect_in "$output" "1:RANK=1"
}

@test "within Open MPI: one muster for each of several processes is refused, a single one has its own status" {
  open_mpi
  run_outer "${MPIRUN[@]}" -n 2 "$MUSTER" --prefix none -n 2 true
  expect_status 2
  expect_in "$output$stderr" "Open MPI started 2 tasks, and each would be a job of its own"
  run_outer "${MPIRUN[@]}" -n 1 "$MUSTER" -n 2 sh -c '[ "$RANK" = 0 ] || exit 9; exec sleep 60'
  expect_status 9
  no_leftovers
}

@test "what an MPI launcher that is gone has left in the environment is stale" {
  OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=1 PMIX_RANK=1 run_muster --prefix none -n 1 sh -c 'echo "$RANK of $WORLD_SIZE"'
  expect_status 0
  [[ $output == "0 of 1" ]]
}

@test "within Open MPI: an MPI program under muster is not taken for a process of the outer job" {
  open_mpi
  need mpicc.openmpi
  mpi_program mpicc.openmpi
  run_outer "${MPIRUN[@]}" -n 1 "$MUSTER" --prefix none -n 2 ./who
  expect_status 0
  [[ $(tr -d '\r' <<<"$output" | sort) == $'0 of 2\n1 of 2' ]]
}

@test "within Hydra: no place in the outer MPI job, also for an MPI program" {
  need mpiexec.hydra
  run_outer mpiexec.hydra -n 1 "$MUSTER" -n 2 toy env
  expect_status 0
  [[ -z $(names_of 'PMI_|HYDI_|MPI_LOCAL') ]]
  need mpicc.mpich
  mpi_program mpicc.mpich
  run_outer mpiexec.hydra -n 1 "$MUSTER" -n 2 ./who
  expect_status 0
  [[ $(sort <<<"$output") == $'0 of 2\n1 of 2' ]]
}

# ./who prints its place among the processes of MPI.
mpi_program() { # compiler
  cat >who.c <<'W'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d of %d\n", rank, size);
    return MPI_Finalize();
}
W
  "$1" -o who who.c || skip "$1 builds no program here"
}

# mpirun starts the MPI processes, muster only mpirun: the numbers that count are MPI's.
@test "Open MPI's launcher as the program: its processes have their ranks from it" {
  open_mpi
  run_muster -n 1 "${MPIRUN[@]}" -n 2 sh -c 'echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE, muster gave $RANK of $WORLD_SIZE"'
  expect_status 0
  [[ $(sort <<<"$output") == $'0 of 2, muster gave 0 of 1\n1 of 2, muster gave 0 of 1' ]]
  run_muster -n 1 "${MPIRUN[@]}" -n 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exec sleep 300; exit 5'
  expect_status 5
  no_leftovers
}

@test "Hydra as the program: its processes have their ranks from it" {
  need mpiexec.hydra
  run_muster -n 1 mpiexec.hydra -n 2 sh -c 'echo "$PMI_RANK of $PMI_SIZE"'
  expect_status 0
  [[ $(sort <<<"$output") == $'0 of 2\n1 of 2' ]]
}

@test "SIGTERM reaches the processes of an mpirun that muster started" {
  open_mpi
  begin -n 1 "${MPIRUN[@]}" -n 2 sh -c ': >"up.$OMPI_COMM_WORLD_RANK"; exec sleep 300'
  eventually 30 have 2 'up.*'
  kill -TERM "$PID"
  end_within 40
  expect_status 143
  no_leftovers
}

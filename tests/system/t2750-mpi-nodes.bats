#!/usr/bin/env bats
# MPI programs over three hosts, without mpirun: Open MPI through PMIx, MPICH through PMI-1 (docs/design/0013-mpi.md).

load helpers
load launcher
load lab

setup_file() {
  lab_up 3
  [[ -z ${SKIP_FILE-} ]] || return 0
  local flavour program
  cat >"$BATS_FILE_TMPDIR/together.c" <<'C'
/* All add up their ranks, and when all have told, rank 0 ends the job by MPI_Abort(9). */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    int rank, size, sum;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d: sum %d\n", rank, size, sum);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 9);
    for (;;)
        pause();
}
C
  cat >"$BATS_FILE_TMPDIR/late.c" <<'C'
/* All but those of node 2 wait in MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    char name[32];
    snprintf(name, sizeof name, "up.%s", getenv("RANK"));
    fclose(fopen(name, "w"));
    while (atoi(getenv("NODE_RANK")) == 2)
        pause();
    MPI_Init(NULL, NULL);
    return 0;
}
C
  cat >"$BATS_FILE_TMPDIR/fence.c" <<'C'
/* A client of PMIx alone, deaf to SIGTERM: says what comes of a fence that those of node 2 never reach. */
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    pmix_proc_t me;
    char name[32];
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 1;
    while (atoi(getenv("NODE_RANK")) == 2)
        pause();
    signal(SIGTERM, SIG_IGN);
    pmix_status_t status = PMIx_Fence(NULL, 0, NULL, 0);
    snprintf(name, sizeof name, "came.%s", getenv("RANK"));
    FILE *f = fopen(name, "w");
    fprintf(f, "%s\n", status == PMIX_SUCCESS ? "success" : "error");
    return fclose(f);
}
C
  # shellcheck disable=SC2046 # words
  ! pkg-config --exists pmix || cc -O -o "$BATS_FILE_TMPDIR/fence" "$BATS_FILE_TMPDIR/fence.c" $(pkg-config --cflags --libs pmix) || return 1
  for flavour in openmpi mpich; do
    command -v "mpicc.$flavour" >/dev/null || continue
    "mpicc.$flavour" -O -o "$BATS_FILE_TMPDIR/hello.$flavour" "$SOURCE/examples/mpi/main.c" || return 1
    for program in together late; do
      "mpicc.$flavour" -O -o "$BATS_FILE_TMPDIR/$program.$flavour" "$BATS_FILE_TMPDIR/$program.c" || return 1
    done
  done
  # TCP is enough; other network libraries only cost time. muster takes these along to the other hosts.
  export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1 UCX_TLS=self,sm,tcp UCX_LOG_LEVEL=error
}
teardown_file() { lab_down; }
setup() {
  begin_test
  lab_hostfile 2 1 2 3
}
teardown() { lab_end_test; }

# Skips what cannot run here, with the reason.
with() { # openmpi|mpich
  command -v "mpicc.$1" >/dev/null || skip "mpicc.$1 is not installed"
  [[ $1 == mpich ]] && return 0
  run "$MUSTER" -n 1 --mpi=pmix true
  [[ $status -eq 2 ]] && skip "this muster has no PMIx: $output"
  expect_status 0
}
whole() { # of how many ranks the example's output is
  local rank
  for ((rank = 0; rank < $1; rank++)); do
    expect_in "$output" "rank $rank of $1: sum of ranks $(($1 * ($1 - 1) / 2)), ring ok"
  done
  [[ ${#lines[@]} -eq $1 ]]
}

@test "Open MPI: two ranks on each of three hosts are one MPI_COMM_WORLD" {
  with openmpi
  lab_muster 1 --hostfile hostfile "$BATS_FILE_TMPDIR/hello.openmpi"
  expect_status 0
  whole 6
  lab_ps_empty
}

@test "Open MPI: hosts with unequal numbers of ranks" {
  with openmpi
  lab_muster 1 --hosts node1:1,node2:3,node3:2 "$BATS_FILE_TMPDIR/hello.openmpi"
  expect_status 0
  whole 6
  lab_ps_empty
}

@test "Open MPI: addresses that are asked for one by one, and no fence brings" {
  with openmpi
  export OMPI_MCA_pmix_base_async_modex=1 OMPI_MCA_pmix_base_collect_data=0
  lab_muster 1 -v --hostfile hostfile "$BATS_FILE_TMPDIR/hello.openmpi"
  expect_status 0
  whole 6
  expect_in "$stderr" "/modex/"
  lab_ps_empty
}

@test "MPICH to its very end" {
  with mpich
  # In MPI_Finalize, ranks that are done wait in PMI and let the others' connections starve.
  run mpichversion
  [[ $output =~ Version:[[:space:]]*([0-9]+)\.([0-9]+) ]]
  ((BASH_REMATCH[1] * 100 + BASH_REMATCH[2] >= 402)) \
    || skip "MPICH before 4.2 may hang in MPI_Finalize over TCP, whoever starts it (mpich pull request 6596)"
  lab_muster 1 --hostfile hostfile "$BATS_FILE_TMPDIR/hello.mpich"
  expect_status 0
  whole 6
  lab_ps_empty
}

together() { # flavour
  local rank
  with "$1"
  lab_muster 1 --hosts node1:1,node2:3,node3:2 "$BATS_FILE_TMPDIR/together.$1"
  expect_status 9
  for rank in {0..5}; do expect_in "$output" "rank $rank of 6: sum 15"; done
  expect_in "$stderr" "rank 0 failed first: exit 9  (host node1"
  expect_in "$stderr" "it called MPI_Abort with code 9"
  lab_ps_empty
}
@test "Open MPI: all-reduce over hosts, then MPI_Abort ends them all" { together openmpi; }
@test "MPICH: all-reduce over hosts, then MPI_Abort ends them all" { together mpich; }

failures() { # flavour
  with "$1"
  lab_muster 1 --hostfile hostfile "$BATS_FILE_TMPDIR/hello.$1" abort 3
  expect_status 7
  expect_in "$stderr" "rank 3 failed first: exit 7  (host node2"
  expect_in "$stderr" "it called MPI_Abort with code 7"
  expect_not_in "$output" ring
  lab_muster 1 --hostfile hostfile "$BATS_FILE_TMPDIR/hello.$1" leave 5
  expect_status 1
  expect_in "$stderr" "rank 5 failed first: exit 1  (host node3"
  expect_in "$stderr" "without MPI_Finalize"
  lab_ps_empty
}
@test "Open MPI: a rank on another host that aborts or leaves ends the job" { failures openmpi; }
@test "MPICH: a rank on another host that aborts or leaves ends the job" { failures mpich; }

node_dies() { # flavour
  with "$1"
  launch job 1 --hostfile hostfile "$BATS_FILE_TMPDIR/late.$1"
  eventually 40 have 6 'up.*'
  netlab kill 3
  ended job
  expect_status 75
  expect_in "$stderr" "node 2 (node3)"
  expect_in "$stderr" "lost with their node: ranks 4, 5"
  expect_not_in "$stderr" "MPI_INIT"
  netlab on 3
  lab_ps_empty
}
@test "Open MPI: a host that dies while others wait for it in MPI_Init is named, and nobody waits" { node_dies openmpi; }
@test "MPICH: a host that dies while others wait for it in MPI_Init is named, and nobody waits" { node_dies mpich; }

@test "PMIx: who waits in a fence when the head dies hears of it, even if deaf to signals" {
  with openmpi
  [[ -x $BATS_FILE_TMPDIR/fence ]] || skip "libpmix-dev is not installed"
  launch job 1 -v --mpi=pmix --grace 600 --hostfile hostfile "$BATS_FILE_TMPDIR/fence"
  eventually 40 waits_of 2
  kill -KILL "${PIDS[job]}"
  eventually 40 grep -qs error came.2 # of node 1
  eventually 40 grep -qs error came.3
  lab_ps_empty
}

waits_of() { # nodes that the head of job knows to wait in a fence
  [[ $(grep -c ' job\].* frame node=[0-9]* gather ' job.err) -eq $1 ]]
}

never_comes() { # flavour mode
  with "$1"
  script w <<W
[ "\$NODE_RANK" = 1 ] || exec "$BATS_FILE_TMPDIR/hello.$1"
W
  lab_muster 1 --hostfile hostfile --mpi="$2" ./w
  expect_status 1
  expect_in "$stderr" "rank 2 failed first: exit 1  (host node2"
  expect_in "$stderr" "wait for it in MPI"
  lab_ps_empty
}
@test "Open MPI: a host whose ranks end without MPI leaves nobody waiting" { never_comes openmpi pmix; }
@test "MPICH: a host whose ranks end without MPI leaves nobody waiting" { never_comes mpich pmi; }

@test "Open MPI: every attempt is a fresh world" {
  with openmpi
  script w <<W
[ "\$TORCHELASTIC_RESTART_COUNT" = 1 ] && exec "$BATS_FILE_TMPDIR/hello.openmpi"
exec "$BATS_FILE_TMPDIR/hello.openmpi" abort 4
W
  lab_muster 1 --hostfile hostfile --mpi=pmix --max-restarts 1 ./w
  expect_status 0
  expect_in "$stderr" "attempt 2 of 2"
  whole 6
  lab_ps_empty
}

@test "a muster by hand on each host" {
  with openmpi
  ENDPOINT=10.77.0.1:29511
  member a 1 0 3 -n 2 "$BATS_FILE_TMPDIR/hello.openmpi"
  member b 2 1 3 -n 1 "$BATS_FILE_TMPDIR/hello.openmpi"
  member c 3 2 3 -n 1 "$BATS_FILE_TMPDIR/hello.openmpi"
  ended a
  expect_status 0
  ended b
  expect_status 0
  ended c
  expect_status 0
  [[ $(cat ./*.out | grep -c "of 4: sum of ranks 6, ring ok") -eq 4 ]]
}

@test "mpi4py over hosts" {
  with openmpi
  /usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip "python3-mpi4py is not installed"
  cat >sum.py <<'P'
from mpi4py import MPI
world = MPI.COMM_WORLD
print(f"rank {world.rank} of {world.size}: {world.allreduce(world.rank)}", flush=True)
P
  PYTHON=/usr/bin/python3 lab_muster 1 --hostfile hostfile --mpi=pmix sum.py
  expect_status 0
  local rank
  for rank in {0..5}; do expect_in "$output" "rank $rank of 6: 15"; done
}

@test "programs that want different things of MPI are refused, with the host that differs" {
  with openmpi
  with mpich
  local node flavour
  for node in 1 2 3; do
    flavour=openmpi
    ((node == 3)) && flavour=mpich
    lab_exec "$node" install "$BATS_FILE_TMPDIR/hello.$flavour" /dev/shm/hello # each host has its own
  done
  lab_muster 1 --hostfile hostfile /dev/shm/hello
  for node in 1 2 3; do lab_exec "$node" rm /dev/shm/hello; done
  expect_status 2
  expect_in "$stderr" "pmix on node 0 (node1) and pmi on node 2 (node3)"
  [[ -z $output ]]
  lab_ps_empty
}

@test "a host without libpmix is named, and nothing is started" {
  with openmpi
  echo 'export MUSTER_PMIX_PATH=/nowhere/libpmix.so' >"$LAB/node3/home/.bashrc"
  script w <<W
: >"up.\$RANK"
exec "$BATS_FILE_TMPDIR/hello.openmpi"
W
  lab_muster 1 --hostfile hostfile --mpi=pmix ./w
  expect_status 2
  expect_in "$stderr" "node3"
  expect_in "$stderr" "/nowhere/libpmix.so"
  have 0 'up.*'
  lab_ps_empty
}

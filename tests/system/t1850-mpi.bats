#!/usr/bin/env bats
# MPI programs: Open MPI through PMIx, MPICH through PMI-1, both without mpirun (docs/design/0013-mpi.md).

load helpers
load launcher

setup_file() {
  export LSAN_OPTIONS="suppressions=$SOURCE/tests/lsan.txt:print_suppressions=0"
  local flavour
  for flavour in openmpi mpich; do
    command -v "mpicc.$flavour" >/dev/null || continue
    "mpicc.$flavour" -O -o "$BATS_FILE_TMPDIR/hello.$flavour" "$SOURCE/examples/mpi/main.c" || return 1
  done
  # Shared memory is enough; network libraries only cost time.
  export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 UCX_TLS=self,sm UCX_LOG_LEVEL=error
}

# Sets HELLO to the example, built with that MPI, and PROTOCOL. The MPICH of Ubuntu 24.04 knows PMIx alone.
with() { # openmpi|mpich
  HELLO=$BATS_FILE_TMPDIR/hello.$1 PROTOCOL=pmi
  [[ -x $HELLO ]] || skip "mpicc.$1 is not installed"
  if [[ $1 == openmpi || $(ldd "$HELLO") == *libpmix* ]]; then
    PROTOCOL=pmix
    run "$MUSTER" -n 1 --mpi=pmix true
    [[ $status -eq 2 ]] && skip "this muster has no PMIx: $output"
    expect_status 0
  fi
}

none_of() { [[ ! -e $1 ]]; }

# After helpers' own setup: every test has its own TMPDIR, so that what stays in it is ours.
begin_mpi() {
  export TMPDIR=$BATS_TEST_TMPDIR/tmp
  mkdir "$TMPDIR"
}
nothing_in_tmp() { [[ -z $(ls -A "$TMPDIR") ]]; }

world() { # flavour
  local n rank
  begin_mpi
  with "$1"
  for n in 1 2 4; do
    run_muster -n "$n" "$HELLO"
    expect_status 0
    for ((rank = 0; rank < n; rank++)); do
      expect_in "$output" "rank $rank of $n: sum of ranks $((n * (n - 1) / 2)), ring ok"
    done
  done
  nothing_in_tmp
  no_leftovers
}
@test "Open MPI: N workers are one MPI_COMM_WORLD" { world openmpi; }
@test "MPICH: N workers are one MPI_COMM_WORLD" { world mpich; }

failures() { # flavour
  begin_mpi
  with "$1"
  [[ $1 != mpich || $PROTOCOL != pmix ]] || skip "with this MPICH over PMIx MPI_Abort returns to the program"
  run_muster -n 3 "$HELLO" abort
  expect_status 7
  expect_in "$stderr" "rank 1 failed first: exit 7"
  expect_in "$stderr" "it called MPI_Abort with code 7"
  expect_not_in "$output" ring # it does not return
  run_muster -n 3 "$HELLO" exit 2
  expect_status 3
  expect_in "$stderr" "rank 2 failed first: exit 3"
  run_muster -n 3 "$HELLO" leave
  expect_status 1
  expect_in "$stderr" "rank 1 failed first: exit 1"
  expect_in "$stderr" "without MPI_Finalize"
  nothing_in_tmp
  no_leftovers
}
@test "Open MPI: abort, exit and leaving early end the job with the rank's verdict" { failures openmpi; }
@test "MPICH: abort, exit and leaving early end the job with the rank's verdict" { failures mpich; }

killed_rank() { # flavour
  begin_mpi
  with "$1"
  begin -n 3 "$HELLO" wait
  eventually 40 have 3 'up.*'
  eventually 20 test -s up.1
  kill -KILL "$(<up.1)"
  end_within 40
  expect_status 137
  expect_in "$stderr" "rank 1 failed first: signal 9"
  nothing_in_tmp
  no_leftovers
}
@test "Open MPI: a rank that is killed ends the job" { killed_rank openmpi; }
@test "MPICH: a rank that is killed ends the job" { killed_rank mpich; }

restarted() { # flavour
  begin_mpi
  with "$1"
  script w <<W
[ "\$TORCHELASTIC_RESTART_COUNT" = 2 ] && exec "$HELLO"
exec "$HELLO" abort 0
W
  run_muster -n 2 --mpi="${MUSTER_MPI:-$2}" --max-restarts 2 ./w
  expect_status 0
  expect_in "$stderr" "attempt 3 of 3"
  expect_in "$output" "rank 0 of 2: sum of ranks 1, ring ok"
  expect_in "$output" "rank 1 of 2: sum of ranks 1, ring ok"
  nothing_in_tmp
}
@test "Open MPI: every attempt is a fresh world" { restarted openmpi pmix; }
@test "MPICH: every attempt is a fresh world" { restarted mpich pmi; }

@test "muster killed by SIGKILL leaves no rank and no folder of Open MPI" {
  begin_mpi
  with openmpi
  begin -n 2 "$HELLO" wait
  eventually 40 have 2 'up.*'
  eventually 20 test -s up.0
  local shm
  shm=$(tr '\0' '\n' <"/proc/$(<up.0)/environ" | sed -n 's/^OMPI_MCA_btl_vader_backing_directory=//p')
  compgen -G "$TMPDIR/muster-mpi-*" >/dev/null
  [[ -d $shm ]]
  kill -KILL "$PID"
  wait "$PID" || status=$?
  no_leftovers
  eventually 20 nothing_in_tmp
  eventually 20 none_of "$shm"
}

@test "--mpi=none: every worker is a job of its own, with no server" {
  begin_mpi
  with mpich
  run_muster -n 2 --mpi=none "$HELLO"
  expect_status 0
  expect_in "$output" "rank 0 of 1"
  expect_not_in "$output" "of 2"
}

@test "the environment: ours in place of an outer launcher's, nothing for other programs" {
  begin_mpi
  export PMI_RANK=7 PMI_SIZE=9 PMI_FD=3 PMIX_RANK=7 PMIX_NAMESPACE=outer OMPI_MCA_ess='^singleton'
  run_muster -n 2 --mpi=pmi sh -c 'echo "$PMI_RANK/$PMI_SIZE ${PMIX_RANK-none} $(test -S /proc/self/fd/$PMI_FD && echo socket)"'
  expect_status 0
  [[ $(sort <<<"$output") == $'0/2 none socket\n1/2 none socket' ]]
  run_muster -n 1 sh -c 'env | grep -c "^PMI_\|^PMIX_\|^OMPI_MCA_ess"'
  [[ $output == 0 ]]
  nothing_in_tmp
}

@test "an MPICH that needs PMIx's library is given PMIx" {
  local needs
  begin_mpi
  run "$MUSTER" -n 1 --mpi=pmix true
  [[ $status -eq 2 ]] && skip "this muster has no PMIx: $output"
  mkdir lib
  echo 'int nothing;' >empty.c
  cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    return printf("%s%s\n", getenv("PMI_FD") ? "pmi" : "", getenv("PMIX_NAMESPACE") ? "pmix" : "") < 0;
}
C
  cc -shared -fPIC -Wl,-soname,libpmix.so.99 -o lib/libpmix.so.99 empty.c
  for needs in "" lib/libpmix.so.99; do
    # shellcheck disable=SC2086
    cc -shared -fPIC -Wl,-soname,libmpich.so.12 -Wl,--no-as-needed -o lib/libmpich.so.12 empty.c $needs
    cc -o prog main.c -Wl,--no-as-needed lib/libmpich.so.12 -Wl,-rpath-link,lib
    LD_LIBRARY_PATH=$PWD/lib run_muster -n 1 ./prog
    expect_status 0
    [[ $output == "${needs:+pmix}" || ( -z $needs && $output == pmi ) ]]
  done
}

@test "a bad --mpi is refused, and so is PMIx without its library" {
  begin_mpi
  run_muster -n 1 --mpi=slurm true
  expect_status 2
  expect_in "$stderr" "auto, pmix, pmi or none"
  export MUSTER_PMIX_PATH=$PWD/none.so
  run_muster -n 1 --mpi=pmix true
  expect_status 2
  expect_in "$stderr" "PMIx"
  expect_in "$stderr" "--mpi=none"
  nothing_in_tmp
}

@test "mpi4py, which its interpreter loads late, by --mpi" {
  begin_mpi
  with openmpi
  /usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip "python3-mpi4py is not installed"
  cat >sum.py <<'P'
from mpi4py import MPI
world = MPI.COMM_WORLD
print(f"rank {world.rank} of {world.size}: {world.allreduce(world.rank)}", flush=True)
P
  PYTHON=/usr/bin/python3 run_muster -n 2 --mpi=pmix sum.py
  expect_status 0
  expect_in "$output" "rank 0 of 2: 1"
  expect_in "$output" "rank 1 of 2: 1"
}

@test "a worker that speaks nonsense on its descriptor harms no one but itself" {
  begin_mpi
  run_muster -n 2 --mpi=pmi bash -c 'printf "GET / HTTP/1.1\n" >&"$PMI_FD"; read -r answer <&"$PMI_FD" || exit 0'
  expect_status 0
  expect_in "$stderr" "is no request"
}

@test "a rank that never comes to MPI and exits with 0 keeps nobody waiting" {
  begin_mpi
  cat >wait.sh <<'EOF'
ask() { echo "$1" >&"$PMI_FD"; read -r answer <&"$PMI_FD"; }
[[ $PMI_RANK = 0 ]] || exit 0
ask "cmd=init pmi_version=1 pmi_subversion=1"
ask "cmd=barrier_in" || exit 6
EOF
  run_muster -n 2 --mpi=pmi --timeout 60 bash wait.sh
  expect_status 6
  expect_in "$stderr" "rank 0 waits in MPI for ranks of which some have exited with 0"
  expect_in "$stderr" "rank 0 failed first: exit 6"
}

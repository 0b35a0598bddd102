#!/usr/bin/env bats
# mpirun and mpiexec.hydra: as what starts muster's agents, and as what muster is started by.

load helpers
load launcher
load lab

setup_file() {
  lab_up 3
}
teardown_file() { lab_down; }
setup() {
  begin_test
  # Open MPI asks whether a superuser means it; a lab's nodes have no other user.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  script facts <<'W'
echo "rank $RANK is $LOCAL_RANK on $(hostname), node $NODE_RANK of $GROUP_WORLD_SIZE"
env | grep -E '^(OMPI_COMM|PMIX_|PMI_|PRTE_|HYDI_)' | sed "s/^/leaked: /"
W
}
teardown() { lab_end_test; }

need_program() { command -v "$1" >/dev/null || skip "no $1 here"; }
expect_facts() { # workers a node
  local rank
  for ((rank = 0; rank < 3 * $1; rank++)); do
    expect_in "$output" "rank $rank is $((rank % $1)) on node$((rank / $1 + 1)), node $((rank / $1)) of 3"
  done
  expect_not_in "$output" "leaked"
}
openmpi() { # a launcher of Open MPI's, whatever `mpirun` means here
  need_program mpirun.openmpi
  export PATH=$PWD/first:$PATH
  mkdir -p first
  ln -sf "$(command -v mpirun.openmpi)" first/mpirun
}
in_lab() { # command...
  run --separate-stderr bounded "$SOURCE/tests/lab/netlab.sh" "$LAB" exec 1 "$@"
}

@test "without muster: Open MPI starts one process a node of the lab" {
  openmpi
  in_lab mpirun --host node1,node2,node3 --map-by ppr:1:node hostname
  expect_status 0
  [[ $(sort <<<"$output") == $'node1\nnode2\nnode3' ]]
  lab_ps_empty
}

@test "without muster: Hydra starts one process a node of the lab" {
  need_program mpiexec.hydra
  in_lab mpiexec.hydra -hosts node1,node2,node3 -ppn 1 -n 3 hostname
  expect_status 0
  [[ $(sort <<<"$output") == $'node1\nnode2\nnode3' ]]
  lab_ps_empty
}

@test "agents by mpirun" {
  openmpi
  lab_muster 1 run --engine mpi --hosts node1,node2,node3 -n 2 ./facts
  expect_status 0
  expect_facts 2
  lab_ps_empty
}

@test "an MPI program whose agents mpirun starts is one world of muster's" {
  openmpi
  command -v mpicc.openmpi >/dev/null || skip "mpicc.openmpi is not installed"
  mpicc.openmpi -O -o hello "$SOURCE/examples/mpi/main.c"
  run "$MUSTER" -n 1 --mpi=pmix true
  [[ $status -eq 2 ]] && skip "this muster has no PMIx: $output"
  export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
  lab_muster 1 run --engine mpi --hosts node1,node2,node3 -n 2 ./hello
  expect_status 0
  [[ $(grep -c "of 6: sum of ranks 15, ring ok" <<<"$output") -eq 6 ]]
  lab_ps_empty
}

@test "the failed worker's status by way of mpirun, in muster's words only" {
  openmpi
  script w <<'W'
: >"up.$RANK"
until [ "$(ls up.* | wc -l)" = "$WORLD_SIZE" ]; do sleep 0.05; done
[ "$RANK" = 4 ] && exit 9
exec toy polite
W
  lab_muster 1 run --engine mpi --hosts node1,node2,node3 -n 2 ./w
  expect_status 9
  expect_in "$stderr" "rank 4"
  expect_not_in "$stderr" "mpirun noticed"
  lab_ps_empty
}

@test "no file with a secret is left" {
  openmpi
  lab_muster 1 run --engine mpi --hosts node1,node2,node3 -n 1 sh -c 'exit 0'
  expect_status 0
  run find . -type f ! -name facts ! -path './first/*' ! -name 'separate-stderr-*'
  [[ -z $output ]]
}

@test "muster once a node under mpirun, which meet at an endpoint" {
  openmpi
  in_lab mpirun --host node1,node2,node3 --map-by ppr:1:node \
    "$MUSTER" run --nnodes 3 --node-rank auto --rdzv-endpoint node1:29400 -n 2 ./facts
  expect_status 0
  expect_facts 2
  lab_ps_empty
}

@test "muster once a node under Hydra, which meet at an endpoint" {
  need_program mpiexec.hydra
  in_lab mpiexec.hydra -hosts node1,node2,node3 -ppn 1 -n 3 \
    "$MUSTER" run --nnodes 3 --node-rank auto --rdzv-endpoint node1:29400 -n 2 ./facts
  expect_status 0
  expect_facts 2
  lab_ps_empty
}

@test "SIGTERM to muster ends mpirun and the workers of all nodes" {
  openmpi
  script w <<'W'
: >"up.$RANK"
exec toy polite
W
  launch a 1 run --engine mpi --hosts node1,node2,node3 -n 2 ./w
  eventually 60 has_lines 6 ready a.out # their handlers are in place
  kill -TERM "${PIDS[a]}"
  ended a
  expect_status 143
  [[ $(grep -c 'got TERM' a.out) -eq 6 ]]
  lab_ps_empty
}

@test "mpirun killed: the job ends, nothing is left" {
  openmpi
  script w <<'W'
: >"up.$RANK"
exec toy polite
W
  launch a 1 run --engine mpi --hosts node1,node2,node3 -n 2 --grace 1s ./w
  eventually 60 have 6 'up.*'
  lab_exec 1 pkill -KILL -x -f 'mpirun .*' || lab_exec 1 pkill -KILL mpirun
  ended a
  [[ $status -ne 0 ]]
  lab_ps_empty
}

@test "a host that mpirun cannot reach: 69, and the host" {
  openmpi
  netlab off 3
  lab_muster 1 run --engine mpi --hosts node1,node2,node3 -n 1 --join-timeout 5s sh -c ': >started'
  expect_status 69
  expect_in "$stderr" "node3"
  [[ ! -e started ]]
}

#!/usr/bin/env bats
# muster-worker on three hosts of a lab, host backend: the ring of node leaders, and what is said when something is
# wrong on another host.

load helpers
load launcher
load lab

setup_file() {
  lab_up 3
}
teardown_file() { lab_down; }
setup() {
  begin_test
}
teardown() { lab_end_test; }

worker() { # hosts, options of muster-worker
  local hosts=$1
  shift
  MUSTER_DEADLINE=240 lab_muster 1 run --hosts "$hosts" muster-worker --backend host "$@"
}

@test "all_reduce over three hosts with four ranks each, verified" {
  worker node1:4,node2:4,node3:4 --sizes 8,64K -n 2
  expect_status 0
  expect_in "$output" "# muster-worker: 12 ranks on 3 nodes, backend host"
  expect_in "$output" "verified: 0 wrong of"
  lab_ps_empty
}

@test "every collective over hosts with different numbers of ranks" {
  worker node1:2,node2:1,node3:1 --test all --sizes 8,100K -n 2 --root 2 --json result
  expect_status 0
  local name
  for name in all_reduce all_gather reduce_scatter broadcast reduce alltoall gather scatter sendrecv hypercube; do
    expect_in "$output" "# $name "
  done
  expect_in "$output" "# one way, 256K, GB/s"
  expect_in "$output" "without rank 3: "
  expect_in "$output" "verified: 0 wrong of"
  python3 - <<'P'
import json
r = json.load(open("result"))
assert r["job"]["nodes"] == 3 and [k["host"] for k in r["ranks"]] == ["node1", "node1", "node2", "node3"], r["ranks"]
assert len({w["collective"] for w in r["results"]}) == 10
assert all(w["wrong"] == 0 and w["root"] == (2 if w["collective"] in ("broadcast", "reduce", "gather", "scatter") else None)
           for w in r["results"])
assert len(r["pairs"]["uni"]) == 4 and r["pairs"]["uni"][0][0] is None and r["pairs"]["uni"][3][0] > 0
P
}

@test "a rank on another host that hangs in a collective is named with its host" {
  worker node1:2,node2:2,node3:2 --sizes 64K --inject hang:rank=4,phase=bench --deadline bench=3
  expect_status 12
  expect_in "$stderr" "all_reduce of 64K float sum did not begin on all ranks within 3 s"
  [[ $stderr =~ rank\ 4\ \(host\ node3,\ local\ rank\ 0,\ no\ GPU,\ pid\ [0-9]+\)\ has\ not\ entered\ it\;\ last\ phase\ warm ]]
  lab_ps_empty
}

@test "a rank on another host that dies is the launcher's verdict" {
  worker node1:2,node2:2,node3:2 --sizes 64K --inject die:rank=3,phase=bench,signal=9
  expect_status 137
  expect_in "$stderr" "rank 3"
  lab_ps_empty
}

@test "wrong data on another host is found there" {
  worker node1:1,node2:1,node3:2 --test alltoall --sizes 64K -n 2 --inject corrupt:rank=3
  expect_status 10
  expect_in "$output" "rank 3: 1 wrong elements in the alltoall of 64K float, out of place"
  expect_in "$output" "it is the data of rank 0"
  lab_ps_empty
}

@test "a leader that cannot be reached is named by the deadline" {
  netlab block 2 3
  worker node1:1,node2:1,node3:1 --sizes 8 --deadline init_done=3
  netlab unblock 2
  expect_status 12
  [[ $stderr =~ rank\ [0-9]\ \(host\ node[0-9],\ local\ rank\ 0,\ no\ GPU,\ pid\ [0-9]+\)\ has\ not\ reached\ init_done ]]
  lab_ps_empty
}

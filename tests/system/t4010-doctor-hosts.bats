#!/usr/bin/env bats
# muster doctor over the hosts of a lab: each looks at itself, then tries the others; what differs comes first.

load helpers
load launcher
load lab

unset ${!NCCL_@} ${!PET_@}

setup_file() { lab_up 3; }
teardown_file() { lab_down; }
setup() {
  begin_test
  lab_hostfile 2 1 2 3
}
teardown() {
  local i
  permit_new 2 2>/dev/null || true
  [[ -n ${SKIP_FILE-} ]] || for i in 1 2 3; do rm -f "$LAB/node$i/home/.nccl.conf"; done
  lab_end_test
}

@test "three healthy hosts: nothing is found, and nothing stays" {
  lab_muster 1 doctor --hostfile hostfile -v --only net.reach --only net.name --only net.interface --only env.differs
  expect_status 0
  [[ $output == "3 hosts: nothing found" ]]
  lab_ps_empty
}

# New TCP connections of one node to another are lost in silence, answers are not: what a firewall does. A classifier
# on the way out drops segments of IPv4 with SYN and without ACK for that address.
deny_new() { # from to
  local address=$((0x0a4d0000 + $2))
  lab_exec "$1" tc qdisc add dev eth0 clsact || return 1
  lab_exec "$1" tc filter add dev eth0 egress bpf da bytecode "11,40 0 0 12,21 0 8 2048,48 0 0 23,21 0 6 6,32 0 0 30,\
21 0 4 $address,48 0 0 47,84 0 0 18,21 0 1 2,6 0 0 2,6 0 0 0"
}
permit_new() { lab_exec "$1" tc qdisc del dev eth0 clsact; } # node

@test "net.reach: one direction is lost" {
  deny_new 2 1 || skip "no classifier of packets here"
  lab_muster 1 doctor --hostfile hostfile --only net.reach
  permit_new 2
  expect_status 78
  expect_in "$output" "E net.reach  node2 cannot reach node1 (10.77.0.1:"
  expect_in "$output" "Connection timed out; node1 can reach node2"
  expect_in "$output" "3 hosts: 1 error"
  lab_ps_empty
}

@test "net.reach: nothing passes between two hosts" {
  netlab block 2 3
  lab_muster 1 doctor --hostfile hostfile --only net.reach
  netlab unblock 2
  expect_status 78
  expect_in "$output" "node2 cannot reach node3 (10.77.0.3:"
  expect_in "$output" "node3 cannot reach node2 (10.77.0.2:"
  expect_in "$output" "3 hosts: 2 errors"
}

@test "env.differs: one host has a setting of its own; equal findings are said once" {
  echo NCCL_ALGO=Ring >"$LAB/node2/home/.nccl.conf"
  export NCCL_PROTO=Simple
  lab_muster 1 doctor --hostfile hostfile --only env.differs --only env.leftover
  expect_status 0
  [[ ${lines[0]} == "W env.differs  NCCL_ALGO is not set on node1, node3; Ring on node2" ]]
  expect_in "$output" "W env.leftover  node1-node3: NCCL_PROTO=Simple"
  expect_in "$output" "W env.leftover  node2: NCCL_ALGO=Ring"
  lab_muster 1 doctor --hostfile hostfile --only env.differs --strict
  expect_status 78
}

@test "net.interface: one host would take another kind of interface" {
  echo NCCL_SOCKET_IFNAME=lo >"$LAB/node3/home/.nccl.conf"
  lab_muster 1 doctor --hostfile hostfile --only net.interface
  expect_status 0
  expect_in "$output" "share no subnet: eth0 10.77.0.1 on node1, lo 127.0.0.1 on node3"
}

@test "a host that cannot be asked is named; the others are judged; status 69" {
  netlab cut 3
  lab_muster 1 doctor --hostfile hostfile --only net.reach --only env.differs --ssh-arg -oConnectTimeout=2
  netlab heal 3
  expect_status 69
  expect_in "$stderr" "node3: it cannot be asked: ssh: connect to host"
  expect_in "$output" "2 hosts: nothing found"
  lab_ps_empty
}

@test "run --preflight over three hosts: an error on one, nothing is started" {
  echo NCCL_SOCKET_IFNAME=nosuch0 >"$LAB/node2/home/.nccl.conf"
  lab_muster 1 run --hostfile hostfile --preflight --only net.ifname touch started
  expect_status 78
  expect_in "$stderr" "E net.ifname  node2: NCCL_SOCKET_IFNAME=nosuch0 matches no running interface"
  [[ ! -e started ]]
  rm "$LAB/node2/home/.nccl.conf"
  lab_muster 1 run --hostfile hostfile --preflight --only net.ifname touch started
  expect_status 0
  [[ -e started ]]
  lab_ps_empty
}

@test "what is no list of hosts is refused, and nobody is asked" {
  lab_muster 1 doctor --hosts "node1:x"
  expect_status 2
  lab_muster 1 doctor --hostfile absent
  expect_status 2
}

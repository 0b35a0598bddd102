#!/usr/bin/env bats
# addr= and iface= of a list of hosts, on hosts with two networks each: 10.77.0.I and 10.78.0.I.

load helpers
load launcher
load lab

setup_file() {
  lab_up 3
  [[ -n ${SKIP_FILE-} ]] || for node in 1 2 3; do second_network "$node"; done
}
teardown_file() { lab_down; }
setup() {
  begin_test
  script place <<'W'
echo "$MASTER_ADDR"
W
}
teardown() { lab_end_test; }

second_network() { # node
  local ip
  ip=$(PATH=$PATH:/usr/sbin:/sbin command -v ip)
  lab_exec "$1" "$ip" addr add "10.78.0.$1/24" dev eth0
}

@test "addr= of the head's host is where every node finds it" {
  printf 'node1 slots=1 addr=10.78.0.1\nnode2 slots=1\nnode3 slots=1\n' >hosts
  lab_muster 1 run --hostfile hosts ./place
  expect_status 0
  [[ $output == $'10.78.0.1\n10.78.0.1\n10.78.0.1' ]]
  printf 'node1 slots=1\nnode2 slots=1\n' >hosts
  lab_muster 1 run --hostfile hosts ./place
  expect_status 0
  [[ $output == $'10.77.0.1\n10.77.0.1' ]]
}

@test "iface= offers the addresses of that interface, --interface beats the list" {
  printf 'node1 slots=1 iface=eth0\nnode2 slots=1\n' >hosts
  lab_muster 1 run --hostfile hosts ./place
  expect_status 0
  [[ $output == $'10.77.0.1\n10.77.0.1' ]]
  printf 'node1 slots=1 addr=10.77.0.1 iface=eth0\nnode2 slots=1\n' >hosts
  lab_muster 1 run --interface 10.78.0.0/16 --hostfile hosts ./place
  expect_status 0
  [[ $output == $'10.78.0.1\n10.78.0.1' ]]
  MUSTER_INTERFACE=10.78.0.0/16 lab_muster 1 run --hostfile hosts ./place
  expect_status 0
  [[ $output == $'10.78.0.1\n10.78.0.1' ]]
}

@test "what a host cannot be reached under is refused before any worker starts" {
  script worker <<'W'
: >started
W
  printf 'node1 slots=1\nnode2 slots=1 iface=ib0\nnode3 slots=1\n' >hosts
  lab_muster 1 run --hostfile hosts ./worker
  expect_status 2
  expect_in "$stderr" 'node2: hosts:2: iface=ib0: no interface that is up is called "ib0" with an address; there are: lo eth0'
  printf 'node1 slots=1\n\nnode3 slots=1 addr=10.78.0.2\n' >hosts
  lab_muster 1 run --hostfile hosts ./worker
  expect_status 2
  expect_in "$stderr" "node3: hosts:3: addr=10.78.0.2 is no address of this host; addresses here: 10.77.0.3 (eth0), 10.78.0.3 (eth0)"
  printf 'node1 slots=1 addr=10.78.0.2\nnode2 slots=1\n' >hosts
  lab_muster 1 run --hostfile hosts ./worker
  expect_status 2
  expect_in "$stderr" "node1: hosts:1: addr=10.78.0.2 is no address of this host"
  [[ ! -e started ]]
}

# The store's own words: VALIDATE with its magic number, then ADD of 1 to a key.
knock() {
  cat >knock.py <<'W'
import os, socket, struct, sys
if os.environ["RANK"] != "1":
    sys.exit()
s = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 20, ("10.78.0.2", 0))
s.sendall(b"\0" + struct.pack("=I", 0x3C85F7CE) + b"\4" + struct.pack("=Q", 1) + b"k" + struct.pack("=q", 1))
try:
    print("store answers" if len(s.recv(8)) == 8 else "turned away")
except ConnectionError:
    print("turned away")
W
}

@test "the store serves a node under the address that addr= or iface= gives it" {
  knock
  printf 'node1 slots=1\nnode2 slots=1\n' >hosts
  lab_muster 1 run --hostfile hosts knock.py
  expect_status 0
  [[ $output == "turned away" ]]
  expect_in "$stderr" "10.78.0.2: wanted the store, and no node that has joined is at this address"
  printf 'node1 slots=1\nnode2 slots=1 addr=10.78.0.2\n' >hosts
  lab_muster 1 run --hostfile hosts knock.py
  expect_status 0
  [[ $output == "store answers" ]]
}

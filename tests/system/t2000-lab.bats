#!/usr/bin/env bats
# The lab itself: a host that is not separate, or a fault that does nothing, would make other suites pass.

load helpers
load launcher
load lab

setup_file() { lab_up 3; }
teardown_file() { lab_down; }

# Does something listen there?
reaches() { # from to port
  bounded_quietly 30 "$1" bash -c 'exec 9<>"/dev/tcp/node$0/$1"' "$2" "$3"
}
# Neither an answer nor a refusal: the attempt is still under way when we end it.
is_silent() { # from to port
  local status=0
  bounded_quietly 1 "$1" bash -c 'exec 9<>"/dev/tcp/node$0/$1"' "$2" "$3" || status=$?
  [[ $status -eq 137 ]]
}
bounded_quietly() { # seconds node command...
  # the inner bash keeps the word "Killed" from the test's own output
  bash -c 'timeout --signal=KILL "$@"; exit $?' bash "$1" "$SOURCE/tests/lab/netlab.sh" "$LAB" exec "${@:2}" 2>/dev/null
}

# A lab of its own for a test that ends it.
own_lab() { LAB=$BATS_TEST_TMPDIR/own; }

@test "a node logs in on another by name and by address" {
  run lab_exec 1 ssh node2 hostname
  expect_status 0
  [[ $output == node2 ]]
  run lab_exec 3 ssh 10.77.0.1 hostname
  [[ $output == node1 ]]
}

@test "nodes differ in what tells hosts apart" {
  local what
  for what in 'hostname' 'cat /proc/sys/kernel/random/boot_id' 'readlink /proc/self/ns/net' 'readlink /proc/self/ns/pid' \
    'readlink /proc/self/ns/ipc' 'stat -c %d /dev/shm' 'echo ~' 'cat /sys/class/net/eth0/address'; do
    for node in 1 2 3; do lab_exec "$node" sh -c "$what"; done | sort | uniq -d >same
    [[ ! -s same ]] || { echo "equal on two nodes: $what"; cat same; return 1; }
  done
}

@test "a command has the caller's folder, environment, streams and status" {
  echo input >in
  export LAB_WORD=$'a  b\n$HOME "é"'
  run --separate-stderr lab_exec 2 sh -c 'pwd; cat; printf "%s|" "$LAB_WORD"; echo err >&2; exit 9' <in
  expect_status 9
  [[ $output == "$PWD"$'\ninput\n'"$LAB_WORD|" ]]
  [[ $stderr == err ]]
}

@test "a command dies with its caller" {
  lab_start 2 sleep 300
  eventually 30 sleeps 2
  kill -KILL "$STARTED"
  lab_ps_empty
}
sleeps() { [[ $(netlab ps "$1") == "node$1 "*" sleep 300" ]]; }

@test "what runs on a node is listed, whoever started it" {
  lab_ps_empty
  lab_exec 1 ssh node3 'setsid sleep 300 </dev/null >/dev/null 2>&1 & echo started'
  eventually 30 sleeps 3
  netlab kill 3
  netlab on 3
  lab_ps_empty
}

@test "a cable that is pulled takes the carrier; plugged in again all is well" {
  netlab cut 2
  eventually 30 carrier 2 0
  is_silent 1 2 22
  netlab heal 2
  eventually 30 carrier 2 1
  eventually 20 reaches 1 2 22
}
carrier() { [[ $(lab_exec "$1" cat /sys/class/net/eth0/carrier) == "$2" ]]; }

@test "silence keeps the carrier" {
  netlab drop 2
  carrier 2 1
  is_silent 1 2 22
  netlab heal 2
  eventually 20 reaches 1 2 22
}

@test "a firewall one way lets the other way pass" {
  netlab block 2 1
  is_silent 2 1 22
  reaches 1 2 22
  reaches 2 3 22
  netlab unblock 2
  reaches 2 1 22
  netlab block 2 1 12345
  reaches 2 1 22
  is_silent 2 1 12345
  netlab unblock 2
  run reaches 2 1 12345
  [[ $status -eq 1 ]]
}

@test "a frozen node takes connections and says nothing" {
  netlab freeze 3
  run bounded_quietly 1 1 ssh node3 hostname
  [[ $status -eq 137 ]]
  netlab thaw 3
  run lab_exec 1 ssh node3 hostname
  [[ $output == node3 ]]
}

@test "a node whose processes die closes their connections" {
  lab_start 1 ssh node2 'echo there; exec sleep 300' >out 2>err
  eventually 20 grep -q there out
  netlab kill 2
  eventually 20 has_ended "$STARTED"
  lab_ps_empty
  netlab on 2
  reaches 1 2 22
}

@test "a node that lost its power is silent, and another one when it is back" {
  local before after
  before=$(lab_exec 2 cat /proc/sys/kernel/random/boot_id)
  netlab off 2
  [[ $(netlab status) == *"node2 10.77.0.2 off"* ]]
  is_silent 1 2 22
  netlab on 2
  reaches 1 2 22
  after=$(lab_exec 2 cat /proc/sys/kernel/random/boot_id)
  [[ $before != "$after" ]]
}

@test "a full disk is one node's own" {
  mkdir full
  lab_exec 2 mount -t tmpfs -o size=16k tmpfs "$PWD/full"
  run lab_exec 2 sh -c 'head -c 100000 /dev/zero >full/x'
  [[ $status -ne 0 ]]
  lab_exec 1 sh -c 'head -c 100000 /dev/zero >full/x'
  lab_exec 2 umount "$PWD/full"
}

@test "a line by way of the proxy is late, stands still, and loses nothing" {
  local port
  : >answers
  lab_start 1 delay_proxy --delay 50 --rate 1000000 10.77.0.1:0 10.77.0.2:22 >proxy
  eventually 30 grep -q listening proxy
  port=$(sed 's/.*://' proxy)
  lab_exec 3 ssh -o HostKeyAlias=node2 -p "$port" 10.77.0.1 'read -r word; echo "$word"; cat' >answers 3>&- < <(
    echo first
    eventually 20 grep -q first answers
    lab_exec 1 pkill -USR1 -x delay_proxy
    eventually 30 grep -q held proxy
    echo second
    lab_exec 1 pkill -USR1 -x delay_proxy
    eventually 30 grep -q free proxy
  )
  [[ $(<answers) == $'first\nsecond' ]]
  kill -KILL "$STARTED"
  lab_ps_empty
}

@test "a program whose clock is an hour ahead" {
  local here there # two readings, some time apart
  there=$(CLOCK_SHIFT_S=3600 LD_PRELOAD=$BIN/clock_shift.so date +%s)
  here=$(date +%s)
  ((there - here > 3000 && there - here < 3700))
}

@test "down leaves nothing: no process, no namespace, no mount, no file" {
  own_lab
  netlab up 2
  lab_start 1 setsid sleep 300
  eventually 30 sleeps 1
  namespaces_of "$(netlab pid 1)" "$(netlab pid 2)" "$(<"$LAB/switch")" >made
  [[ $(wc -l <made) -ge 12 ]]
  is_used made
  netlab down
  [[ ! -e $LAB ]]
  eventually 30 is_unused made
  run grep -F "$LAB" /proc/mounts
  [[ -z $output ]]
  run pgrep -f "$LAB"
  [[ -z $output ]]
}
namespaces_of() { # pid...: those that are not the test's own
  local pid
  for pid in "$@"; do readlink "/proc/$pid/ns/"{net,mnt,uts,ipc,pid}; done | sort -u \
    | grep -v -x -F -f <(readlink /proc/self/ns/*)
}
is_used() { readlink /proc/[0-9]*/ns/* 2>/dev/null | grep -q -F -f "$1"; }
is_unused() { ! is_used "$1"; }

@test "a lab whose owner is killed goes down by itself" {
  own_lab
  sleep 300 &
  local owner=$!
  netlab up 1 --owner "$owner"
  kill -KILL "$owner"
  eventually 60 test ! -e "$LAB"
  no_leftovers # the keeper removes the folder, then ends
}

@test "a lab whose keeper is killed has no process left, and goes away" {
  own_lab
  netlab up 2
  namespaces_of "$(netlab pid 1)" "$(<"$LAB/switch")" >made
  kill -KILL "$(<"$LAB/keeper")"
  eventually 60 is_unused made
  netlab down
  [[ ! -e $LAB ]]
  no_leftovers
}

@test "two labs do not meet" {
  local first=$LAB
  own_lab
  netlab up 2
  lab_start 1 sleep 300
  eventually 30 sleeps 1
  [[ -z $(LAB=$first netlab ps) ]]
  LAB=$first netlab cut 1
  reaches 2 1 22
  LAB=$first netlab heal 1
  netlab down
  eventually 30 has_ended "$STARTED"
  [[ $(LAB=$first lab_exec 1 hostname) == node1 ]]
}

@test "what cannot be understood is refused with 2" {
  run netlab exec 7 true
  expect_status 2
  run netlab up 0
  expect_status 2
  run netlab blow 1
  expect_status 2
  LAB=$PWD/none run netlab exec 1 true
  expect_status 2
  expect_in "$output" "no lab"
}

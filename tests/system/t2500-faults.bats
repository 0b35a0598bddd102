#!/usr/bin/env bats
# What goes wrong with several hosts: for each fault the line a person sees, the status, and no process left on
# any host. With FAULT_TABLE set to a file each test adds its row there, with the time it took (docs/multi-node.md has
# them). Rows that take long and have a shorter sister run with ALL_FAULTS=1 or FAULT_TABLE only.

load helpers
load launcher
load lab

setup_file() {
  lab_up 3
}
teardown_file() { lab_down; }
setup() {
  begin_test
  BEGAN=$EPOCHREALTIME
  export MUSTER_DEADLINE=150
  lab_hostfile 1 1 2 3
  ENDPOINT=node1:29400
  for node in 1 2 3; do cp -p "$LAB/node$node/home/.ssh/known_hosts" "known_hosts.$node"; done
  cp -p "$LAB/node1/home/.ssh/id_ed25519" "$LAB/node1/hosts" "$LAB/node1/resolv.conf" .
}
teardown() {
  [[ -z ${SKIP_FILE-} ]] || return 0
  for node in 1 2 3; do cp -p "known_hosts.$node" "$LAB/node$node/home/.ssh/known_hosts"; done
  cp -p id_ed25519 "$LAB/node1/home/.ssh/id_ed25519"
  # in place: the node has the file itself mounted
  cat hosts >"$LAB/node1/hosts"
  cat resolv.conf >"$LAB/node1/resolv.conf"
  for node in 2 3; do lab_exec "$node" umount "$BIN" 2>/dev/null || lab_exec "$node" umount "$MUSTER" 2>/dev/null || true; done
  lab_end_test
}

# The outcome: a status, words of the one line that says it, and nothing left on any host.
outcome() { # status words...
  local word line
  expect_status "$1"
  for word in "${@:2}"; do expect_in "$stderr" "$word"; done
  line=${LINE-$(grep -v -e 'waiting for' <<<"$stderr" | grep -m 1 -F -e "${2:-muster}" || true)}
  eventually 60 lab_is_empty
  [[ -z ${FAULT_TABLE-} ]] || printf '| %s | %s | %s | `%s` |\n' "$BATS_TEST_DESCRIPTION" "$status" \
    "$(awk -v a="$BEGAN" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }')" "$line" >>"$FAULT_TABLE"
}
only_sshd_is_left() { [[ -z $(lab_ps | grep -v -E '^node[0-9]+ [0-9]+ sshd: ') ]]; }
is_long() { [[ -n ${ALL_FAULTS-}${FAULT_TABLE-} ]] || skip "takes long: set ALL_FAULTS=1"; }

# A job of one worker a host that runs until it is told to end.
run_job() { # [options]
  launch a 1 run --hostfile hostfile --grace 1s "$@" sh -c ': >"up.$RANK"; exec toy polite'
  eventually 60 have 3 'up.*'
}

@test "host unknown" {
  lab_muster 1 run --hosts node1,node2,nosuchnode -n 1 "${MARK[@]}"
  outcome 69 nosuchnode
  nothing_started
}

@test "ssh refused" {
  netlab kill 3
  lab_muster 1 run --hostfile hostfile "${MARK[@]}"
  netlab on 3
  outcome 69 node3
  expect_in "$stderr" "refused"
  nothing_started
}

@test "a key that the host does not know" {
  rm "$LAB/node1/home/.ssh/id_ed25519"
  ssh-keygen -q -t ed25519 -N '' -f "$LAB/node1/home/.ssh/id_ed25519"
  rm "$LAB/node1/home/.ssh/id_ed25519.pub" # ssh would believe it of a key that is put back
  lab_muster 1 run --hostfile hostfile "${MARK[@]}"
  outcome 69 node2
  expect_in "$stderr" "node3"
  expect_in "$stderr" "denied"
  nothing_started
}

@test "a host key that is another one" {
  sed -i '/^node3,/d' "$LAB/node1/home/.ssh/known_hosts"
  echo "node3,10.77.0.3 $(cut -d ' ' -f 1,2 "$LAB/node2/host_key.pub")" >>"$LAB/node1/home/.ssh/known_hosts"
  lab_muster 1 run --hostfile hostfile "${MARK[@]}"
  outcome 69 node3
  expect_in "$stderr" "ost key"
  nothing_started
}

@test "host unreachable" {
  netlab off 3
  # ssh waits 10 s by itself, and a time-out is worth four more tries
  lab_muster 1 run --ssh-arg -oConnectTimeout=1 --hostfile hostfile "${MARK[@]}"
  netlab on 3
  outcome 69 node3
  nothing_started
}

@test "muster missing on one host" {
  lab_exec 3 mount -t tmpfs tmpfs "$BIN"
  lab_muster 1 run --hostfile hostfile "${MARK[@]}"
  outcome 69 node3
  expect_in "$stderr" "$MUSTER"
  nothing_started
}

@test "another muster on one host" {
  cat >other <<'W'
#!/bin/sh
for word; do case $word in --boot=*) token=${word#--boot=} ;; esac; done
printf '\nmuster-agent 99 %s 99.9.9\n' "$token"
exec cat >/dev/null
W
  chmod +x other
  lab_exec 3 mount --bind "$PWD/other" "$MUSTER"
  lab_muster 1 run --hostfile hostfile "${MARK[@]}"
  outcome 69 node3
  expect_in "$stderr" "99"
  nothing_started
}

@test "a clock that is an hour ahead harms nothing, the first failure is still the first" {
  [[ -z $SANITIZED ]] || skip "a preloaded library and a sanitizer do not go together"
  echo "export LD_PRELOAD=$BIN/clock_shift.so CLOCK_SHIFT_S=3600" >"$LAB/node2/home/.bashrc"
  script w <<'W'
[ "$RANK" = 1 ] && date +%s >there && hostname >"host.$RANK"
: >"up.$RANK"
until [ "$(ls up.* | wc -l)" = 3 ]; do sleep 0.05; done
[ "$RANK" = 1 ] && exit 9
until [ -e gone ]; do sleep 0.05; done
W
  lab_muster 1 run --hostfile hostfile --grace 1s ./w
  (($(<there) - $(date +%s) > 3000))
  outcome 9 "rank 1"
}

@test "a firewall one way: ssh works, nothing comes back" {
  netlab block 3 1
  lab_muster 1 run --hostfile hostfile --join-timeout 12s "${MARK[@]}"
  outcome 69 node3
  expect_in "$stderr" "10.77.0.1"
  nothing_started
}

@test "the cable is cut while the job runs" {
  run_job
  netlab cut 3
  ended a 60
  # sshd there learns of no cut: its end of the connection is all that may be left
  eventually 60 only_sshd_is_left
  netlab heal 3
  outcome 75 node3
}

@test "an agent is killed" {
  run_job
  lab_exec 2 pkill -KILL -x muster
  ended a
  outcome 75 node2
}

@test "muster itself is killed" {
  run_job
  kill -KILL "${PIDS[a]}"
  ended a
  outcome 137
}

@test "a host is frozen" {
  is_long
  run_job
  netlab freeze 3
  ended a 60
  netlab thaw 3
  outcome 75 node3
}

@test "a host loses its power" {
  is_long
  run_job
  netlab off 3
  ended a 60
  outcome 75 node3
  netlab on 3
}

@test "the disk of one host is full" {
  mkdir logs
  lab_exec 2 mount -t tmpfs -o size=16k,nr_inodes=64 tmpfs "$PWD/logs"
  lab_muster 1 run --hostfile hostfile --log-dir "$PWD/logs" toy flood 1000 100
  lab_exec 2 umount "$PWD/logs"
  outcome 0 node2
  expect_in "$stderr" "space"
}

@test "a host twice" {
  printf 'node1 slots=1\nnode2 slots=1\nnode2 slots=2\n' >hostfile
  lab_muster 1 run --hostfile hostfile "${MARK[@]}"
  outcome 2 node2
  expect_in "$stderr" "hostfile:3"
  nothing_started
}

@test "a GPU missing on one host" {
  local node
  for node in 1 2 3; do
    echo "export MUSTER_FAKE_GPUS=$SOURCE/tests/vectors/devices/inventories.json:$([[ $node == 3 ]] && echo N1 || echo N4)" \
      >"$LAB/node$node/home/.bashrc"
  done
  lab_muster 1 run --hosts node2,node3 --gpus 0,1 "${MARK[@]}"
  outcome 2 node3
  nothing_started
}

@test "two jobs on one endpoint" {
  member a 1 0 2 --rdzv-id first -n 1 sh -c ': >up; until [ -e go ]; do sleep 0.05; done'
  member b 2 1 2 --rdzv-id first -n 1 sh -c 'until [ -e go ]; do sleep 0.05; done'
  eventually 60 test -e up
  member c 3 1 2 --rdzv-id second --join-timeout 5s -n 1 "${MARK[@]}"
  ended c
  expect_status 69
  expect_in "$stderr" "belongs to"
  LINE=$(grep 'belongs to' <<<"$stderr")
  : >go
  ended b
  expect_status 0
  ended a
  outcome 0
  nothing_started
}

@test "another secret on one host" {
  local key
  for key in one two; do
    echo "the secret number $key of this job" >$key
    chmod 600 $key
  done
  member a 1 0 2 --secret-file one -n 1 --join-timeout 6s "${MARK[@]}"
  member b 2 1 2 --secret-file two -n 1 --join-timeout 6s "${MARK[@]}"
  ended b
  expect_status 77
  expect_in "$stderr" secret
  LINE=$(grep -m 1 secret <<<"$stderr")
  ended a
  outcome 69
  nothing_started
}

@test "garbage on the port" {
  member a 1 0 2 -n 1 sh -c ': >up; until [ -e go ]; do sleep 0.05; done'
  member b 2 1 2 -n 1 sh -c 'until [ -e go ]; do sleep 0.05; done'
  eventually 60 test -e up
  lab_exec 3 python3 "$SOURCE/tests/lab/attack.py" garbage node1 29400
  : >go
  ended b
  expect_status 0
  ended a
  outcome 0
}

@test "names that are found slowly" {
  lab_start 3 python3 "$SOURCE/tests/lab/slow_dns.py" 10.77.0.3 2 far=10.77.0.2 >dns
  eventually 20 grep -q listening dns
  printf 'nameserver 10.77.0.3\noptions timeout:20 attempts:1\n' >"$LAB/node1/resolv.conf"
  echo "far $(cut -d ' ' -f 1,2 "$LAB/node2/host_key.pub")" >>"$LAB/node1/home/.ssh/known_hosts"
  lab_muster 1 run --hosts node1,far -n 1 hostname
  kill -KILL "$STARTED"
  [[ $(sort <<<"$output") == $'node1\nnode2' ]]
  outcome 0
}

@test "a host that comes late" {
  member a 1 0 3 -n 1 sh -c ': >"up.$RANK"'
  member b 2 1 3 -n 1 sh -c ': >"up.$RANK"'
  eventually 60 grep -q 'waiting for 1 of' a.err
  have 0 'up.*'
  LINE=$(grep -m 1 'waiting for' a.err)
  member c 3 2 3 -n 1 sh -c ': >"up.$RANK"'
  ended c
  expect_status 0
  ended b
  expect_status 0
  ended a
  outcome 0 'waiting for 1 of'
  have 3 'up.*'
}

@test "a folder that one host does not have" {
  mkdir here
  cd here
  lab_exec 3 mount -t tmpfs tmpfs "$BATS_TEST_TMPDIR"
  lab_muster 1 run --hostfile ../hostfile "${MARK[@]}"
  local folder=$PWD
  cd .. # node3 has that one
  lab_exec 3 umount -l "$BATS_TEST_TMPDIR"
  outcome 2 node3
  expect_in "$stderr" "$folder"
  [[ -z $(ls here) ]]
}

@test "a host lost with restarts left but none to replace it ends with 75" {
  is_long
  run_job --max-restarts 2
  netlab off 3
  ended a 90
  outcome 75 node3
  netlab on 3
}

#!/usr/bin/env bats
# Agents that start agents over real ssh: node1 is the head, node2 starts node3 and node4, node5 starts node6 and node7.

load helpers
load launcher
load lab

setup_file() {
  lab_up 7
}
teardown_file() { lab_down; }
setup() {
  begin_test
  export MUSTER_DEADLINE=120
  lab_hostfile 1 1 2 3 4 5 6 7
}
teardown() {
  [[ -z ${SKIP_FILE-} ]] || return 0
  lab_exec 3 umount "$BIN" 2>/dev/null || true
  lab_end_test
}

TREE=(run --hostfile hostfile --ssh-tree 2 --grace 2s)

# Addresses from which somebody has logged in on a node since the mark of `logins_from_here`.
logins() { # node
  tail -n "+$((1 + $(<"mark.$1")))" "$LAB/node$1/log" | sed -n 's/^Accepted .* from \([0-9.]*\) .*/\1/p'
}
mark_logins() {
  local node
  for node in {1..7}; do grep -c '' "$LAB/node$node/log" >"mark.$node" || true; done
}

run_job() {
  launch a 1 "${TREE[@]}" sh -c ': >"up.$RANK"; exec toy polite'
  eventually 60 have 7 'up.*'
  eventually 60 eval '[[ $(grep -c ready a.out) -eq 7 ]]'
}

# What is said, but for notices on a busy machine.
quiet() { grep -v 'waiting for' <<<"$stderr" || true; }

# The agent of a node: the first of its musters.
agent_of() { lab_exec "$1" pgrep -o -x muster; } # node

@test "each node is logged in on by its parent, and ranks are as in the list" {
  mark_logins
  lab_muster 1 "${TREE[@]}" sh -c 'echo "$RANK $(hostname)"; echo "words $RANK" >&2'
  expect_status 0
  [[ $(sort <<<"$output") == $'0 node1\n1 node2\n2 node3\n3 node4\n4 node5\n5 node6\n6 node7' ]]
  [[ $(sort <<<"$stderr") == $'words 0\nwords 1\nwords 2\nwords 3\nwords 4\nwords 5\nwords 6' ]]
  [[ -z $(logins 1) && $(logins 2) == 10.77.0.1 && $(logins 3) == 10.77.0.2 && $(logins 4) == 10.77.0.2 ]]
  [[ $(logins 5) == 10.77.0.1 && $(logins 6) == 10.77.0.5 && $(logins 7) == 10.77.0.5 ]]
  lab_ps_empty
}

@test "what muster says on an inner host's child arrives, with that host's name" {
  lab_exec 3 mount -t tmpfs -o size=4k tmpfs /mnt
  lab_muster 1 "${TREE[@]}" --log-dir /mnt/logs toy flood 2000 100 >/dev/null
  lab_exec 3 umount /mnt
  rm -rf /mnt/logs
  expect_in "$stderr" "muster: node3: warning: cannot write a worker's log file"
}

@test "an inner host without a key: the head logs in on its children" {
  mv "$LAB/node2/home/.ssh/id_ed25519" key
  mark_logins
  lab_muster 1 "${TREE[@]}" sh -c 'echo "$RANK"'
  mv key "$LAB/node2/home/.ssh/id_ed25519"
  expect_status 0
  [[ $(sort <<<"$output") == $'0\n1\n2\n3\n4\n5\n6' && -z $(quiet) ]]
  [[ $(logins 3) == 10.77.0.1 && $(logins 4) == 10.77.0.1 && $(logins 6) == 10.77.0.5 ]]
}

@test "an inner host that refuses ssh is named, and nothing is started anywhere" {
  netlab kill 2
  lab_muster 1 "${TREE[@]}" "${MARK[@]}"
  netlab on 2
  expect_status 69
  expect_in "$stderr" "node2: ssh: connect to host node2 port 22: Connection refused"
  expect_not_in "$(quiet)" node3
  nothing_started
  lab_ps_empty
}

@test "a child that refuses ssh is named, after its parent and the head have tried" {
  [[ -n ${ALL_FAULTS-} ]] || skip "takes 10 s: set ALL_FAULTS=1"
  netlab kill 4
  lab_muster 1 "${TREE[@]}" "${MARK[@]}"
  netlab on 4
  expect_status 69
  expect_in "$stderr" "node4: ssh: connect to host node4 port 22: Connection refused"
  nothing_started
  lab_ps_empty
}

@test "muster missing on a child is named as that host's" {
  lab_exec 3 mount -t tmpfs tmpfs "$BIN"
  mark_logins
  lab_muster 1 "${TREE[@]}" "${MARK[@]}"
  expect_status 69
  expect_in "$stderr" "node3: muster is not there, or not under this path (--remote-muster): "
  expect_in "$stderr" "$MUSTER"
  [[ $(logins 3) == 10.77.0.2 ]]
  nothing_started
  lab_ps_empty
}

@test "an inner agent that is killed costs its own rank only: it is named, the others are told to stop" {
  run_job
  lab_exec 2 kill -KILL "$(agent_of 2)"
  ended a
  expect_status 75
  expect_in "$stderr" "node 1 (node2): its muster is gone"
  expect_not_in "$stderr" "node3"
  [[ $(grep -c 'got TERM' a.out) -eq 6 ]]
  lab_ps_empty
}

@test "the ssh between two hosts that have their links may go" {
  run_job
  lab_exec 2 kill -KILL "$(lab_exec 2 pgrep -x ssh | head -n 1)"
  eventually 20 eval '[[ $(lab_exec 2 pgrep -c -x ssh) -eq 1 ]]'
  [[ $(grep -c 'got' a.out) -eq 0 ]]
  kill -TERM "${PIDS[a]}"
  ended a
  expect_status 143
  [[ $(grep -c 'got TERM' a.out) -eq 7 ]]
  expect_not_in "$stderr" "its muster is gone"
  lab_ps_empty
}

@test "a child below an inner host fails: its status, its host" {
  lab_muster 1 "${TREE[@]}" toy exit 3 9
  expect_status 9
  expect_in "$stderr" "rank 3"
  expect_in "$stderr" "node4"
  lab_ps_empty
}

@test "kill -9 of the head: nothing is left on any host" {
  run_job
  kill -KILL "${PIDS[a]}"
  ended a
  expect_status 137
  lab_ps_empty
}

@test "kill -9 of the head while hosts are still logging in on others: nothing is left" {
  # node3 sleeps in its start-up file, so node2 waits for it.
  echo ': >"$HOME/sleeps"; exec sleep 1000' >"$LAB/node3/home/.bashrc"
  launch a 1 "${TREE[@]}" "${MARK[@]}"
  eventually 60 test -e "$LAB/node3/home/sleeps"
  rm "$LAB/node3/home/sleeps"
  kill -KILL "${PIDS[a]}"
  ended a
  expect_status 137
  lab_ps_empty 1
  lab_ps_empty 2
  lab_ps_empty 5
  lab_ps_empty 7
  # a start-up file that never ends is nobody's but its own: the session is over, the sleep is not muster's
  netlab kill 3
  netlab on 3
}

#!/usr/bin/env bats
# Strangers at the head's port while a job runs: refused, told in few words, and the job goes on.

load helpers
load launcher
load lab

setup() {
  begin_test
  PORT=$(free_port)
  ENDPOINT=127.0.0.1:$PORT
  echo 'a secret of this job only' >key
  chmod 600 key
}

# A job of two launchers that runs until finish says so.
running_job() {
  script w <<'W'
counter wait "$WORLD_SIZE" here >"sum.$RANK" || exit 8
: >"up.$RANK"
until [ -e go ]; do sleep 0.05; done
counter again >>"sum.$RANK" || exit 9
W
  member a 0 0 2 -n 1 --secret-file key ./w
  member b 0 1 2 -n 1 --secret-file key ./w
  eventually 60 have 2 'up.*'
}
finish() { # lines that a.err may have at most, but for notices on a busy machine
  : >go
  ended b
  expect_status 0
  ended a
  expect_status 0
  [[ $(grep -vc 'waiting for' a.err) -le $1 ]] || { echo "said too much:"; cat a.err; return 1; }
  [[ $(cat sum.* | sort) == $'again 1\nagain 2\nhere 1\nhere 2' ]]
  no_leftovers
}
attack() { # verb arguments...
  bounded python3 "$SOURCE/tests/lab/attack.py" "$1" 127.0.0.1 "$PORT" "${@:2}"
}

@test "garbage, twenty times: told at most once for a kind and an address" {
  running_job
  local i
  for i in 1 2 3 4 5; do attack garbage; done
  finish 3
}

@test "frames that are too large" {
  running_job
  attack oversized
  finish 3
}

@test "openings that end too soon" {
  running_job
  attack truncated
  finish 3
}

@test "1,000 idle connections: workers and agents are still served" {
  running_job
  attack idle 1000 >idle < <(until [[ -e go ]]; do sleep 0.05; done) 3>&- &
  local pid=$!
  eventually 60 grep -q open idle
  attack garbage
  finish 4
  eventually 60 has_ended "$pid"
}

@test "1,000 idle connections before the second node comes: it joins" {
  facts=(sh -c 'counter wait 2 here')
  member a 0 0 2 -n 1 --secret-file key "${facts[@]}"
  eventually 20 attack truncated
  attack idle 1000 >idle < <(until [[ -e go ]]; do sleep 0.05; done) 3>&- &
  local pid=$!
  eventually 60 grep -q open idle
  member b 0 1 2 -n 1 --secret-file key "${facts[@]}"
  ended b
  expect_status 0
  ended a
  expect_status 0
  : >go
  eventually 60 has_ended "$pid"
}

@test "a handshake that is replayed" {
  script w <<'W'
: >"up.$RANK"
until [ -e go ]; do sleep 0.05; done
W
  member a 0 0 2 -n 1 --secret-file key ./w
  eventually 20 attack garbage
  python3 "$SOURCE/tests/lab/attack.py" record 127.0.0.1 "$PORT" recorded >relay 3>&- &
  local pid=$!
  eventually 20 grep -q listening relay
  launch b 0 run --nnodes 2 --node-rank 1 --rdzv-endpoint "127.0.0.1:$(sed 's/.* //' relay)" -n 1 --secret-file key ./w
  eventually 60 have 2 'up.*'
  [[ -s recorded ]]
  run attack replay recorded
  expect_status 0
  [[ $output == refused ]]
  # who names the job and goes is a node that dials several addresses, or gains as little
  attack desert recorded
  : >go
  ended b
  expect_status 0
  ended a
  expect_status 0
  [[ $(grep -c 'could not prove' a.err) -eq 1 ]]
  expect_not_in "$(<a.err)" "in the handshake"
  eventually 60 has_ended "$pid"
}

@test "a peer without the secret takes no place: the right one is still taken" {
  member a 0 0 2 -n 1 --secret-file key sh -c ':'
  local i
  for i in 1 2 3; do
    member "bad$i" 0 1 2 -n 1 --join-timeout 5s sh -c ': >started'
    ended "bad$i"
    expect_status 77
  done
  member b 0 1 2 -n 1 --secret-file key sh -c ':'
  ended b
  expect_status 0
  ended a
  expect_status 0
  [[ ! -e started ]]
}

need_another_user() {
  ((EUID == 0)) || skip "it takes root to become somebody else"
  command -v setpriv >/dev/null || skip "no setpriv here"
}
# By standard input: the other user may not read our folders.
another_user() { # user arguments...
  bounded setpriv --reuid "$1" --regid "$1" --clear-groups /usr/bin/python3 - "${@:2}" <"$SOURCE/tests/lab/attack.py"
}

@test "another user's process on loopback gets nothing from the store" {
  need_another_user
  running_job
  run attack add other
  [[ $output == 1 ]] # this user's own is served: so the next refusal means something
  local i
  for i in 1 2 3; do
    run another_user 65534 add 127.0.0.1 "$PORT" other
    expect_status 0
    [[ $output == refused ]]
  done
  [[ $(grep -c 'user 65534' a.err) -eq 1 ]] # told once, and what helps
  expect_in "$(<a.err)" --store-open
  run attack add other
  [[ $output == 2 ]]
  finish 3
}

# A job of one node until finish_one says so.
one_node() { # options...
  launch a 0 run -n 1 --master-port "$PORT" "$@"
  eventually 60 test -e up
}
finish_one() {
  : >go
  ended a
  expect_status 0
  no_leftovers
}
WAITS=': >up; until [ -e go ]; do sleep 0.05; done'

@test "one node alone: its store serves this user only" {
  need_another_user
  one_node sh -c "$WAITS"
  run attack add other
  [[ $output == 1 ]]
  run another_user 65534 add 127.0.0.1 "$PORT" other
  expect_status 0
  [[ $output == refused ]]
  finish_one
}

@test "--store-open serves every user" {
  need_another_user
  one_node --store-open sh -c "$WAITS"
  run another_user 65534 add 127.0.0.1 "$PORT" other
  expect_status 0
  [[ $output == 1 ]]
  finish_one
  [[ ! -s a.err ]]
}

@test "a worker that has given up its rights is served, and a third user is not" {
  need_another_user
  chmod 777 .
  one_node setpriv --reuid 65533 --regid 65533 --clear-groups sh -c "$WAITS"
  run another_user 65533 add 127.0.0.1 "$PORT" other
  expect_status 0
  [[ $output == 1 ]]
  run another_user 65534 add 127.0.0.1 "$PORT" other
  [[ $output == refused ]]
  finish_one
}

@test "strangers are counted, and told once, with -v" {
  one_node -v sh -c "$WAITS"
  local i
  for i in 1 2 3; do attack garbage; done
  finish_one
  [[ $(grep -c 'turned away:' a.err) -ge 1 && $(grep -c 'turned away:' a.err) -le 4 ]]
  expect_in "$(<a.err)" "12 connections were turned away in all: 12 from 127.0.0.1"
}

#!/usr/bin/env bats
# Signals to muster, keys on a terminal, and muster's own death.

load helpers
load launcher

saver() {
  script saver <<'W'
trap 'echo "$RANK got TERM" ; : >"saved.$RANK"; exit 0' TERM
trap 'echo "$RANK got INT" ; : >"saved.$RANK"; exit 0' INT
trap 'echo "$RANK got HUP" ; : >"saved.$RANK"; exit 0' HUP
: >"up.$RANK"
while :; do sleep 0.05; done
W
}

@test "SIGTERM reaches every worker, which may save; the status is 143" {
  saver
  begin -n 4 ./saver
  eventually 20 have 4 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  have 4 'saved.*'
  expect_in "$stderr" "ended by signal 15 (SIGTERM)"
  no_leftovers
}

@test "SIGHUP and SIGINT end the job alike, with their own numbers" {
  local name
  for name in HUP INT; do
    rm -f up.* saved.*
    saver
    begin -n 2 ./saver
    eventually 20 have 2 'up.*'
    kill "-$name" "$PID"
    end_within 20
    expect_status $((128 + $(kill -l "$name")))
    have 2 'saved.*'
    expect_in "$output" "1 got $name"
  done
  no_leftovers
}

@test "a signal that comes at once ends the job, too" {
  local i
  for i in 1 2 3 4 5 6 7 8; do
    begin -n 3 sleep 60
    kill -TERM "$PID"
    end_within 20
    expect_status 143
    no_leftovers
  done
}

@test "a worker that is deaf to SIGTERM is killed after the grace" {
  script w <<'W'
[ "$RANK" = 1 ] && { until [ -e up.0 ]; do sleep 0.05; done; exit 5; }
trap '' TERM
: >"up.$RANK"
while :; do sleep 0.05; done
W
  run_muster -n 2 --grace 300ms ./w
  expect_status 5
  expect_in "$stderr" "did not end within the grace"
  no_leftovers
}

@test "a second SIGINT kills deaf workers at once" {
  begin -n 3 --grace 10m toy deaf
  eventually 20 three_ready
  kill -INT "$PID"
  eventually 20 grep -q 'once more kills' err
  kill -INT "$PID"
  end_within 20
  expect_status 130
  no_leftovers
}
three_ready() { [[ $(grep -c ready out) -eq 3 ]]; }

@test "a second SIGTERM does not shorten the grace" {
  script w <<'W'
trap 'until [ -e go ]; do sleep 0.05; done; : >saved; exit 0' TERM HUP
: >up
while :; do sleep 0.05; done
W
  begin -n 1 ./w
  eventually 20 test -e up
  kill -TERM "$PID"
  kill -TERM "$PID"
  kill -HUP "$PID"
  : >go
  end_within 20
  [[ -e saved ]]
}

@test "SIGUSR1 and SIGUSR2 are passed on" {
  script w <<'W'
trap 'echo "$RANK usr1"' USR1
trap 'echo "$RANK usr2"; exit 0' USR2
: >"up.$RANK"
while :; do sleep 0.05; done
W
  begin -n 2 ./w
  eventually 20 have 2 'up.*'
  kill -USR1 "$PID"
  eventually 20 grep -q '1 usr1' out
  kill -USR2 "$PID"
  end_within 20
  expect_status 0
  expect_in "$output" "0 usr1"
  expect_in "$output" "0 usr2"
}

@test "what was ignored when muster started stays ignored" {
  saver
  (trap '' HUP INT; exec "$MUSTER" -n 2 ./saver </dev/null >out 2>err 3>&-) &
  PID=$!
  eventually 20 have 2 'up.*'
  kill -HUP "$PID"
  kill -INT "$PID"
  kill -USR1 "$PID" # comes after the two; both workers die of it
  end_within 20
  expect_status 138
  have 0 'saved.*'
}

@test "nohup keeps the job through SIGHUP" {
  saver
  nohup "$MUSTER" -n 1 ./saver </dev/null >out 2>err 3>&- &
  PID=$!
  eventually 20 test -e up.0
  kill -HUP "$PID"
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  expect_in "$output" "0 got TERM"
}

@test "signals that were blocked when muster started are heard" {
  cat >blocked.py <<'W'
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD})
os.execv(os.environ["MUSTER"], ["muster", "-n", "1", "sh", "-c", ": >up; exec sleep 60"])
W
  python3 blocked.py </dev/null >out 2>err 3>&- &
  PID=$!
  eventually 20 test -e up
  kill -TERM "$PID"
  end_within 20
  expect_status 143
}

@test "a parent that ignores SIGCHLD does not cost the workers' status" {
  run bash -c 'trap "" CHLD; exec "$MUSTER" -n 2 sh -c "exit 3"'
  expect_status 3
}

@test "workers start with no signal blocked and none ignored" {
  (trap '' INT QUIT HUP PIPE USR1 TSTP CHLD TTOU; exec "$MUSTER" -n 1 grep -E 'Sig(Blk|Ign)' /proc/self/status >out)
  [[ $(grep -c '0000000000000000$' out) -eq 2 ]] || { cat out; return 1; }
}

@test "kill -9 of muster leaves no worker" {
  script w <<'W'
: >"up.$RANK"
exec sleep 300
W
  begin -n 4 ./w
  eventually 20 have 4 'up.*'
  kill -KILL "$PID"
  end_within 20
  expect_status 137
  no_leftovers
}

@test "a stopped worker is ended, too" {
  script w <<'W'
: >"up.$RANK"
[ "$RANK" = 0 ] && kill -STOP $$
exec sleep 300
W
  begin -n 2 ./w
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  no_leftovers
}

@test "Ctrl-C on a terminal leaves nothing" {
  printf 'expect up 3\ntype \\x03\n' >keys
  script w <<'W'
: >"up.$RANK"
if [ "$RANK" = 3 ]; then until [ -e up.0 ] && [ -e up.1 ] && [ -e up.2 ]; do sleep 0.05; done; echo "up 3"; fi
exec sleep 300
W
  run on_terminal keys "$MUSTER" -n 4 ./w
  expect_status 130
  expect_in "$output" "once more kills them at once"
  no_leftovers
}

@test "a second Ctrl-C on a terminal kills deaf workers" {
  printf 'expect ready\ntype \\x03\nexpect once more\ntype \\x03\n' >keys
  run on_terminal keys "$MUSTER" -n 1 --grace 10m toy deaf
  expect_status 130
  no_leftovers
}

@test "Ctrl-backslash shows what the ranks do; the job goes on" {
  printf 'expect ready\ntype \\x1c\nexpect rank 0: pid\ntype \\x03\n' >keys
  run on_terminal keys "$MUSTER" -n 1 --stack-tool none sh -c 'echo ready; exec sleep 300'
  expect_status 130
  no_leftovers
}

@test "a terminal that is closed ends the job" {
  printf 'expect ready\nhangup\n' >keys
  run on_terminal keys "$MUSTER" -n 2 sh -c 'echo ready; exec sleep 300'
  [[ $status -eq 129 || $status -eq 141 ]]
  no_leftovers
}

@test "the terminal's Ctrl-C does not reach workers but through muster" {
  printf 'expect pid\n' >keys
  run on_terminal keys "$MUSTER" -n 1 toy session
  local _ pid sid
  read -r _ pid _ sid _ < <(sed 's/^[^p]*//' <<<"${lines[0]}")
  [[ $pid == "$sid" ]]
}

@test "on a terminal lines say whose they are" {
  : >keys
  NO_COLOR=1 run on_terminal keys "$MUSTER" -n 2 echo hello
  expect_in "$output" "1: hello"
  run on_terminal keys "$MUSTER" -n 1 echo hello
  [[ ${lines[0]} == hello* ]]
}

@test "Ctrl-Z stops workers and muster; fg makes all go on" {
  cat >counter.sh <<'W'
i=0
while [ ! -e stop ]; do i=$((i + 1)); echo $i >"n.$RANK"; sleep 0.02; done
W
  set -m
  env --default-signal "$MUSTER" -n 2 sh counter.sh </dev/null >out 2>err 3>&- &
  PID=$!
  set +m
  eventually 20 have 2 'n.*'
  kill -TSTP -- "-$PID"
  eventually 20 is_state T
  eventually 20 none_runs
  kill -CONT -- "-$PID"
  eventually 20 goes_on
  : >stop
  end_within 20
  expect_status 0
}
is_state() { [[ $(state_of "$PID") == "$1" ]]; }
none_runs() { # every process of the job is stopped, but for the guard, which waits for muster's end
  local pid
  for pid in $(leftovers); do
    [[ $(cat "/proc/$pid/comm") == job-guard ]] && continue
    [[ $(state_of "$pid") == T ]] || waits_in_vfork "$pid" || return 1
  done
  before=$(cat n.0 n.1)
}
waits_in_vfork() { # a shell sleeps uninterruptibly (D) while the child that it made is stopped before its exec
  local child
  child=$(cat "/proc/$1/task/$1/children" 2>/dev/null) || return 1
  [[ $(state_of "$1") == D && -n $child && $(state_of "${child%% *}") == T ]]
}
goes_on() {
  local now
  now=$(cat n.0 n.1)
  [[ ${now% *} != "${before% *}" && ! $(state_of "$PID") == T ]]
}

@test "a suspended job can be ended" {
  set -m
  env --default-signal "$MUSTER" -n 2 sh -c ': >"up.$RANK"; exec sleep 300' </dev/null >out 2>err 3>&- &
  PID=$!
  set +m
  eventually 20 have 2 'up.*'
  kill -TSTP -- "-$PID"
  eventually 20 is_state T
  kill -TERM "$PID"
  kill -CONT "$PID"
  end_within 20
  expect_status 143
  no_leftovers
}

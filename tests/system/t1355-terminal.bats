#!/usr/bin/env bats
# A rank that owns the terminal is in muster's session, with the user's own processes: what it leaves behind ends with
# the job and with muster, the user's own stays, and it is seen as any other rank is.

load helpers
load launcher

setup() {
  begin_test
  export MUSTER MUSTER_RUNTIME_DIR=$BATS_TEST_TMPDIR/sockets
  cp "$(command -v sleep)" nap
  cp nap own # of the user; `nap` is the job's
  script inner <<'W'
echo inside
exec bash --norc --noprofile -i
W
  # Jobs of a shell with job control have process groups of their own; the last one has a session as well.
  cat >leave <<'W'
./nap 300 </dev/null >/dev/null 2>&1 &
nohup ./nap 300 </dev/null >/dev/null 2>&1 & disown
(env -i ./nap 300 </dev/null >/dev/null 2>&1 &)
setsid ./nap 300 </dev/null >/dev/null 2>&1 &
W
}
teardown() {
  [[ ! -e own.pid ]] || kill -KILL "$(<own.pid)" 2>/dev/null || true
  eventually 10 naps_are 0 || {
    find /proc/[0-9]*/exe -maxdepth 0 -lname "$PWD/nap" 2>/dev/null | sed 's/[^0-9]//g' | xargs -r kill -KILL
    end_test
    return 1
  }
  end_test
}
own_lives() {
  [[ $(readlink "/proc/$(<own.pid)/exe") == "$PWD/own" ]]
}

@test "what a shell has left in the background ends with the job" {
  cat >keys <<'K'
type . ./leave; echo "up=$?"\n
expect up=0
type exit 3\n
K
  run on_terminal keys "$MUSTER" -n 1 --terminal 0 ./inner
  expect_status 3
  naps_are 0
  no_leftovers
}

@test "the user's own background job lives on, and a job is ended that has no mark" {
  cat >keys <<'K'
type ./own 300 </dev/null >/dev/null 2>&1 & echo $! >own.pid; ulimit -x 1000; echo "own=$?"\n
expect own=0
type "$MUSTER" -n 1 --terminal 0 ./inner\n
expect inside
type . ./leave; echo "up=$?"\n
expect up=0
type exit 3\n
type echo "end=$?"\n
expect end=3
type kill -0 $(cat own.pid) && echo "alive=$?"; disown -a; exit 0\n
expect alive=0
K
  run on_terminal keys bash --norc --noprofile -i
  expect_status 0
  naps_are 0
  own_lives
}

@test "what muster was exec'd with, and has left something behind, lives on" {
  script start <<'W'
trap '' HUP
sh -c './own 300 </dev/null >/dev/null 2>&1 & echo $! >own.pid; : >made; read -r forever' <>fifo &
until [ -e made ]; do sleep 0.05; done
echo $! >stranger
exec "$MUSTER" -n 1 --terminal 0 ./inner
W
  mkfifo fifo
  cat >keys <<'K'
type . ./leave; kill -KILL $(cat stranger); until [ ! -d /proc/$(cat stranger)/cwd ]; do :; done; echo "up=$?"\n
expect up=0
type ps -o ppid= -p $(cat own.pid) | grep -qw $PPID; echo "adopted=$?"; exit 3\n
expect adopted=0
K
  run on_terminal keys ./start
  expect_status 3
  naps_are 0
  own_lives
}

@test "killed by SIGKILL while a shell has jobs: they end, the user's own lives on" {
  cat >keys <<'K'
type ./own 300 </dev/null >/dev/null 2>&1 & echo $! >own.pid; echo "own=$?"\n
expect own=0
type "$MUSTER" -n 1 --terminal 0 ./inner\n
expect inside
type . ./leave; echo "up=$?"\n
expect up=0
type kill -KILL $PPID\n
expect Killed
type echo "end=$?"; kill -0 $(cat own.pid) && echo "alive=$?"; disown -a; exit 0\n
expect end=137
expect alive=0
K
  run on_terminal keys bash --norc --noprofile -i
  expect_status 0
  eventually 20 naps_are 0
  own_lives
}

@test "killed by SIGKILL where there is no mark: the group of the owner tells" {
  script owner <<'W'
trap '' HUP
./nap 300 </dev/null >/dev/null 2>&1 &
until "$MUSTER" ps --json | grep -q '"rank": 0'; do :; done # by now it has told the guard
: >up
kill -KILL $PPID
wait
W
  : >keys
  ulimit -x 1000
  run on_terminal keys "$MUSTER" -n 1 --terminal 0 ./owner
  expect_status 137
  [[ -e up ]]
  eventually 20 naps_are 0
}

@test "the owner and what it has started are seen: stacks, figures" {
  script owner <<'W'
set -m
./nap 300 </dev/null >/dev/null 2>&1 &
set +m
until [ "$(cat /proc/$!/comm)" = nap ]; do :; done # until then it is this shell, forked
"$MUSTER" stack >stack 2>&1
until "$MUSTER" top --json | tee top | grep -q '"rss_bytes": [0-9]'; do :; done
W
  : >keys
  run on_terminal keys "$MUSTER" -n 1 --terminal 0 --stack-tool none ./owner
  expect_status 0
  expect_in "$(<stack)" "rank 0 "
  expect_in "$output" " (owner), 1 thread: "
  [[ $output =~ with\ pid\ [0-9]+\ \(nap\),\ 1\ thread ]]
  naps_are 0
}

#!/usr/bin/env bats
# kill -9 of muster at any moment: nothing that its workers have started stays (docs/design/0009-guard.md).

load helpers
load launcher

# ./w starts helpers of every kind, then waits: in its group, in a session of its own, without this test's tag,
# and one whose parents are gone. They run ./nap, by which those are found that carry no tag.
write_worker() {
  cp "$(command -v sleep)" nap
  script helpers <<'W'
./nap 300 &
setsid ./nap 300 </dev/null >/dev/null 2>&1 &
env -i setsid ./nap 300 </dev/null >/dev/null 2>&1 &
(setsid sh -c './nap 300 & :' </dev/null >/dev/null 2>&1 &)
W
  script w <<'W'
. ./helpers
: >"up.$RANK"
wait
W
}

# It stands before the first worker does.
guard_of() { # pid of muster
  pgrep -P "$1" -x job-guard
}

# To the end of a test that killed muster.
nothing_stays() {
  wait "$PID" || status=$?
  [[ $status -eq 137 ]]
  # shellcheck disable=SC2046 # one word a process
  eventually 30 naps_are 0 || { kill -KILL $(naps); return 1; }
  no_leftovers
}

@test "killed while it starts" {
  write_worker
  local i
  for i in {1..4}; do
    begin -n 4 ./w
    kill -KILL "$PID"
    nothing_stays
  done
}

@test "killed while it spawns" {
  write_worker
  local i
  for i in 1 2; do
    rm -f up.*
    begin -n 8 ./w
    eventually 20 test -e up.0
    kill -KILL "$PID"
    nothing_stays
  done
}

@test "killed while the workers run" {
  write_worker
  begin -n 3 ./w
  eventually 20 have 3 'up.*'
  eventually 20 naps_are 12
  kill -KILL "$PID"
  nothing_stays
}

@test "killed while it stops the workers" {
  write_worker
  script deaf <<'W'
. ./helpers
trap ': >"asked.$RANK"' TERM
: >"up.$RANK"
while :; do sleep 0.05; done
W
  begin -n 2 --grace 60 ./deaf
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  eventually 20 have 2 'asked.*'
  kill -KILL "$PID"
  nothing_stays
}

@test "killed while it waits for what the workers have left" {
  write_worker
  script leave <<'W'
trap '' TERM
. ./helpers
exit 0
W
  begin -n 2 ./leave
  eventually 20 grep -q "still there" err
  kill -KILL "$PID"
  nothing_stays
}

@test "killed between two attempts" {
  write_worker
  script fail <<'W'
. ./helpers
: >"up.$TORCHELASTIC_RESTART_COUNT"
[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exit 1
wait
W
  begin -n 1 --max-restarts 1 ./fail
  eventually 20 test -e up.1
  kill -KILL "$PID"
  nothing_stays
}

@test "killed while it and its guard are stopped" {
  write_worker
  begin -n 2 ./w
  eventually 20 have 2 'up.*'
  kill -STOP "$(guard_of "$PID")" "$PID"
  kill -KILL "$PID"
  nothing_stays
}

@test "killed by a part of its command line, with all that has it" {
  write_worker
  script train <<'W'
exec ./w
W
  begin -n 2 ./train "--of=$TEST_TAG"
  eventually 20 have 2 'up.*'
  pkill -KILL -f -- "--of=$TEST_TAG"
  nothing_stays
}

@test "where no mark can be given the workers' sessions tell" {
  script w <<'W'
sleep 300 &
: >"up.$RANK"
wait
W
  cp "$(command -v sleep)" nap
  ulimit -x 1000
  begin -n 2 ./w
  eventually 20 have 2 'up.*'
  kill -KILL "$PID"
  nothing_stays
}

@test "a job inside a job goes with it" {
  write_worker
  script inner <<'W'
exec env -u TEST_TAG muster -n 2 ./w
W
  begin -n 1 ./inner
  eventually 20 have 2 'up.*'
  eventually 20 naps_are 8
  kill -KILL "$PID"
  nothing_stays
}

@test "a helper of another user goes too" {
  [[ $(id -u) -eq 0 ]] || skip "needs root"
  cp "$(command -v sleep)" nap
  chmod 777 .
  cat >w.py <<'W'
import os
if os.fork() == 0:
    os.setsid()
    os.setuid(65534)
    os.execve("./nap", ["nap", "300"], {})
open("up", "w").close()
os.wait()
W
  begin -n 1 w.py
  eventually 20 naps_are 1
  kill -KILL "$PID"
  nothing_stays
}

@test "as PID 1 the kernel does it, and there is no guard" {
  unshare --pid --fork true 2>/dev/null || skip "needs a pid namespace"
  write_worker
  unshare --pid --fork "$MUSTER" -n 2 ./w </dev/null >out 2>err 3>&- &
  PID=$!
  eventually 20 have 2 'up.*'
  local inside
  inside=$(pgrep -P "$PID")
  [[ -z $(guard_of "$inside") ]]
  kill -KILL "$inside"
  wait "$PID" || true
  eventually 30 naps_are 0
  no_leftovers
}

@test "the guard is deaf, holds nothing of the job's and goes with it" {
  write_worker
  begin -n 2 ./w
  eventually 20 have 2 'up.*'
  local guard fd
  guard=$(guard_of "$PID")
  for fd in "/proc/$guard/fd"/*; do
    case $(readlink "$fd") in
    /dev/null | pipe:*) [[ $fd == */[0-3] ]] ;;
    *) ls -l "/proc/$guard/fd"; return 1 ;;
    esac
  done
  [[ $(readlink "/proc/$guard/cwd") == / ]]
  kill -INT "$guard"
  kill -HUP "$guard"
  kill -TERM "$guard"
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  [[ ! -d /proc/$guard ]]
  eventually 30 naps_are 0
  no_leftovers
}

@test "it removes the job's own folder, wherever TMPDIR is" {
  write_worker
  mkdir tmp
  TMPDIR=tmp begin -n 2 ./w # the guard's own folder is /
  eventually 20 have 2 'up.*'
  have 1 'tmp/muster-*'
  kill -KILL "$PID"
  nothing_stays
  eventually 10 have 0 'tmp/*'
}

@test "without its guard muster goes on" {
  script w <<'W'
: >"up.$RANK"
until [ -e go ]; do sleep 0.05; done
W
  begin -n 2 ./w
  eventually 20 have 2 'up.*'
  local guard
  guard=$(guard_of "$PID")
  kill -KILL "$guard"
  eventually 20 has_ended "$guard"
  : >go
  end_within 20
  expect_status 0
  [[ -z $stderr ]]
  no_leftovers
}

@test "kill -9 before there is a guard: no private folder either" {
  command -v strace >/dev/null || skip "strace is not installed"
  strace -f -o probe true 2>/dev/null || skip "strace may not trace here"
  mkdir tmp
  TMPDIR=$PWD/tmp run bounded strace -f -o trace -e trace=clone -e inject=clone:signal=KILL:when=1 \
    "$MUSTER" -n 1 --gpus none true
  grep -q 'clone(.*SIGCHLD' trace # the guard's fork
  grep -q 'killed by SIGKILL' trace
  [[ -z $(ls tmp) ]]
  no_leftovers
}

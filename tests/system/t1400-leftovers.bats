#!/usr/bin/env bats
# What workers start besides themselves: helpers, daemons, children of wrappers. None outlives the job.

load helpers
load launcher

@test "the program behind a shell wrapper gets the signal" {
  script w <<'W'
sleep 300 &
: >"up.$RANK"
wait
W
  begin -n 3 ./w
  eventually 20 have 3 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  no_leftovers
}

# Whoever waits in a wrapper's foreground has the whole grace, although the wrapper itself is dead at once.
@test "the program behind a wrapper that dies of SIGTERM has the same grace to save" {
  script save <<'W'
trap 'sleep 3; : >saved; exit 0' TERM
: >up
while :; do sleep 0.05; done
W
  script w <<'W'
./save
echo "the wrapper goes on"
W
  begin -n 1 --grace 20 ./w
  eventually 20 test -e up
  kill -TERM "$PID"
  end_within 30
  expect_status 143
  [[ -e saved ]]
  no_leftovers
}

@test "a helper in a session of its own is ended with the job" {
  script w <<'W'
setsid sleep 300 </dev/null >/dev/null 2>&1 &
: >"up.$RANK"
if [ "$RANK" = 1 ]; then until [ -e up.0 ] && [ -e up.2 ]; do sleep 0.05; done; exit 3; fi
exec sleep 300
W
  run_muster -n 3 ./w
  expect_status 3
  no_leftovers
}

@test "a daemon of a job that went well is ended, and said" {
  run_muster -n 2 escape deaf
  expect_status 0
  expect_in "$stderr" "processes that workers had started are still there"
  no_leftovers
}

@test "a helper whose first thread has ended is no zombie" {
  run_muster -n 1 escape threads
  expect_status 0
  expect_in "$stderr" "still there"
  no_leftovers
}

@test "a helper that is replaced by its child all the time is caught" {
  run_muster -n 1 escape relay 15
  expect_status 0
  no_leftovers
}

@test "a helper that holds stdout does not hold the job" {
  script w <<'W'
sleep 300 &
echo "done $RANK"
exit 0
W
  run_muster -n 2 ./w
  expect_status 0
  expect_in "$output" "done 0"
  expect_in "$output" "done 1"
  no_leftovers
}

@test "a helper that is just about to finish may" {
  script w <<'W'
(sleep 0.1; echo "late words of $RANK") &
exit 0
W
  run_muster -n 2 ./w
  expect_status 0
  expect_in "$output" "late words of 1"
  [[ -z $stderr ]]
}

@test "an orphan with the job's status is none of the workers" {
  script w <<'W'
(sh -c 'exit 9') &
sh -c 'sh -c "sleep 0.2; exit 11" &'
wait
exit 0
W
  run_muster -n 2 ./w
  expect_status 0
}

@test "thousands of short children of a worker leave no zombie" {
  script w <<'W'
i=0
while [ $i -lt 200 ]; do (true &); i=$((i + 1)); done
: >"made.$RANK"
exec toy polite
W
  begin -n 1 ./w
  eventually 60 test -e made.0
  eventually 20 no_zombies_of "$PID"
  kill -TERM "$PID"
  end_within 20
}
no_zombies_of() {
  ! ps -o stat= --ppid "$1" | grep -q Z
}

@test "children that muster was exec'd with are not its to end or to wait for" {
  script start <<'W'
sleep 300 </dev/null >/dev/null 2>&1 &
echo $! >stranger
setsid sleep 300 </dev/null >/dev/null 2>&1 &
echo $! >stranger2
exec "$MUSTER" -n 2 true
W
  run bounded ./start
  expect_status 0
  [[ -z $output ]]
  kill -0 "$(<stranger)"
  kill -KILL "$(<stranger)" "$(<stranger2)"
  no_leftovers
}

@test "between two attempts the first one's helpers are ended" {
  script w <<'W'
setsid sleep 300 </dev/null >/dev/null 2>&1 &
echo $! >"helper.$TORCHELASTIC_RESTART_COUNT"
[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exit 1
kill -0 "$(cat helper.0)" 2>/dev/null && exit 2
exit 0
W
  run_muster -n 1 --max-restarts 1 ./w
  expect_status 0
  no_leftovers
}

@test "a worker may change its process group, name and user id" {
  [[ $(id -u) -eq 0 ]] || skip "needs root"
  cat >w.py <<'W'
import os, subprocess
subprocess.Popen(["sleep", "300"], preexec_fn=os.setpgrp)
open("/proc/self/comm", "w").write("x) Z 1 (")
os.setuid(65534)
print("up", flush=True)
os.execvp("sleep", ["sleep", "300"])
W
  chmod 777 .
  begin -n 1 w.py
  eventually 20 grep -q up out
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  no_leftovers
}

@test "a worker that kills its whole group takes nobody else with it" {
  script w <<'W'
[ "$RANK" = 0 ] && { until grep -qs ready logs/job/0/rank-1.out; do sleep 0.05; done; kill -KILL 0; }
exec toy polite
W
  run_muster -n 2 --log-dir logs --rdzv-id job ./w
  expect_status 137
  expect_in "$stderr" "rank 0 failed first: signal 9"
  expect_in "$output" "got TERM"
  no_leftovers
}

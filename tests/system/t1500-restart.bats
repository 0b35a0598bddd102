#!/usr/bin/env bats
# Restarts: the whole group again, each time with an empty store.

load helpers
load launcher

@test "a job that always fails is tried once more than the restarts allowed" {
  script w <<'W'
echo "$TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS" >>"attempts.$RANK"
[ "$RANK" = 1 ] && { until [ "$(wc -l <attempts.0)" -gt "$TORCHELASTIC_RESTART_COUNT" ]; do sleep 0.05; done; exit 4; }
exec sleep 60
W
  run_muster -n 2 --max-restarts 2 ./w
  expect_status 4
  local rank
  for rank in 0 1; do
    [[ $(<attempts.$rank) == $'0 of 2\n1 of 2\n2 of 2' ]]
  done
  expect_in "$stderr" "attempt 2 of 3"
  expect_in "$stderr" "attempt 3 of 3"
  no_leftovers
}

@test "an attempt that goes well ends the job with 0" {
  run_muster -n 2 --max-restarts 5 sh -c '[ "$TORCHELASTIC_RESTART_COUNT" = 2 ] || exit 6'
  expect_status 0
}

@test "every attempt finds an empty store on the same port" {
  script w <<'W'
[ "$RANK" = 0 ] && echo "$MASTER_PORT" >"port.$TORCHELASTIC_RESTART_COUNT"
counter wait "$WORLD_SIZE" here >"sum.$TORCHELASTIC_RESTART_COUNT.$RANK" || exit 9
[ "$TORCHELASTIC_RESTART_COUNT" = 2 ] || exit 6
W
  run_muster -n 3 --max-restarts 2 ./w
  expect_status 0
  local attempt
  for attempt in 0 1 2; do
    [[ $(cat sum.$attempt.* | sort) == $'here 1\nhere 2\nhere 3' ]]
    cmp port.0 "port.$attempt"
  done
}

@test "a worker that exits with 93 asks not to be restarted" {
  run_muster -n 2 --max-restarts 5 sh -c 'echo "attempt $TORCHELASTIC_RESTART_COUNT" >&2; [ "$RANK" = 1 ] && exit 93; exec sleep 60'
  expect_status 93
  expect_not_in "$stderr" "attempt 1"$'\n'"attempt 1"
  expect_in "$stderr" "asked not to be restarted"
}

@test "a program that cannot be started is not tried again" {
  : >bad
  chmod +x bad
  run_muster -n 2 --max-restarts 5 ./bad
  expect_status 126
  expect_not_in "$stderr" "starting again"
}

@test "a signal to muster is no reason to restart" {
  begin -n 2 --max-restarts 5 sh -c 'echo run >>"runs.$RANK"; : >"up.$RANK"; exec sleep 60'
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  [[ $(<runs.0) == run ]]
}

@test "the time limit is the job's, not the attempt's" {
  run_muster -n 1 --max-restarts 100000 --restart-delay 0 --timeout 1 sh -c 'sleep 0.05; exit 1'
  expect_status 124
  no_leftovers
}

@test "a worker's death by signal restarts as well, and output of all attempts comes out" {
  run_muster -n 1 --max-restarts 1 sh -c 'echo "attempt $TORCHELASTIC_RESTART_COUNT"; [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || kill -9 $$'
  expect_status 0
  [[ $output == $'attempt 0\nattempt 1' ]]
}

@test "hundreds of attempts leave no descriptor behind" {
  script w <<'W'
case $TORCHELASTIC_RESTART_COUNT in
2 | 102) ls "/proc/$PPID/fd" | wc -l >"fds.$TORCHELASTIC_RESTART_COUNT" ;;
103) exit 0 ;;
esac
exit 1
W
  run_muster -n 1 --max-restarts 200 --restart-delay 0 ./w
  expect_status 0
  # what is just being opened or closed may differ
  [[ $(<fds.102) -lt $(($(<fds.2) + 10)) ]]
}

#!/usr/bin/env bats
# torchrun's command line: signals, the time to end, statuses.

load helpers
load launcher
load torchrun

WAIT='trap "echo got TERM; exit 0" TERM; trap "echo got USR1; exit 0" USR1; : >"up.$RANK"; while :; do sleep 0.05; done'

@test "SIGQUIT, SIGTERM, SIGINT and SIGHUP end the job" {
  local signal status_of
  for signal in QUIT:131 TERM:143 INT:130 HUP:129; do
    status_of=${signal#*:}
    rm -f up.*
    begin_torchrun --nproc 2 --no-python sh -c ': >"up.$RANK"; exec sleep 300'
    eventually 20 have 2 'up.*'
    kill "-${signal%:*}" "$PID"
    end_within 30
    expect_status "$status_of"
    no_leftovers
  done
}

@test "SIGUSR1 is passed on, unless it is named as one that ends the job" {
  begin_torchrun --no-python sh -c "$WAIT"
  eventually 20 have 1 'up.*'
  kill -USR1 "$PID"
  end_within 20
  expect_status 0
  expect_in "$output" "got USR1"
  rm -f up.*
  begin_torchrun --nproc 2 --signals-to-handle SIGTERM,SIGUSR1 --no-python sh -c "$WAIT"
  eventually 20 have 2 'up.*'
  kill -USR1 "$PID"
  end_within 20
  expect_status 138
  [[ $(grep -c "got USR1" <<<"$output") -eq 2 ]]
  no_leftovers
}

@test "a signal that muster does not watch otherwise" {
  begin_torchrun --signals-to-handle SIGALRM --no-python sh -c ': >"up.$RANK"; exec sleep 300'
  eventually 20 have 1 'up.*'
  kill -ALRM "$PID"
  end_within 20
  expect_status 142
  no_leftovers
}

@test "the time to end: option, PET_ variable, torchrun's own variable" {
  local deaf='trap "" TERM; : >"up.$RANK"; [ "$RANK" = 1 ] && while :; do sleep 0.05; done; until [ -e up.1 ]; do sleep 0.05; done; exit 5'
  run_torchrun --nproc 2 --shutdown-timeout 0 --no-python sh -c "$deaf"
  expect_status 5
  rm -f up.*
  PET_SHUTDOWN_TIMEOUT=1 TORCH_ELASTIC_SHUTDOWN_TIMEOUT=600 run_torchrun --nproc 2 --no-python sh -c "$deaf"
  expect_status 5
  rm -f up.*
  TORCH_ELASTIC_SHUTDOWN_TIMEOUT=1 run_torchrun --nproc 2 --no-python sh -c "$deaf"
  expect_status 5
  no_leftovers
}

@test "statuses: the worker's own, 128+N, not found, restarts used up" {
  run_torchrun --nproc 2 --no-python sh -c '[ "$RANK" = 1 ] && exit 42; exec sleep 60'
  expect_status 42
  expect_in "$stderr" "rank 1 failed first: exit 42"
  run_torchrun --no-python sh -c 'exit 138'
  expect_status 138
  expect_in "$stderr" "not a signal"
  run_torchrun --nproc 2 --no-python toy signal 0 11
  expect_status 139
  run_torchrun --no-python no-such-program
  expect_status 127
  run_torchrun --max-restarts 2 --no-python sh -c 'echo "attempt $TORCHELASTIC_RESTART_COUNT"; exit 9'
  expect_status 9
  [[ $output == $'attempt 0\nattempt 1\nattempt 2' ]]
}

@test "an error that @record would leave is named, and handed on" {
  script w <<'W'
[ "$RANK" = 1 ] || exec sleep 60
echo '{"message": {"message": "RuntimeError: boom", "extraInfo": {"py_callstack": "x", "timestamp": "1"}}}' >"$TORCHELASTIC_ERROR_FILE"
exit 1
W
  TORCHELASTIC_ERROR_FILE=$PWD/outer.json run_torchrun --nproc 2 --no-python ./w
  expect_status 1
  expect_in "$stderr" "RuntimeError: boom"
  expect_in "$(<outer.json)" "errorCode"
}

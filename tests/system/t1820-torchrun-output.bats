#!/usr/bin/env bats
# torchrun's log tree, tee, redirects and filters.

load helpers
load launcher
load torchrun

SAY='echo "out $RANK"; echo "err $RANK" >&2'

@test "the tree of files, and none for what is not named" {
  run_torchrun --nproc 2 --rdzv-id a/b --log-dir logs -r 0:2,1:0 -t 0:1,1:2 --no-python sh -c "$SAY"
  expect_status 0
  local job
  job=$(job_of logs)
  [[ $job == logs/a_b_* ]]
  [[ $(cd "$job" && find . -type f | sort | xargs) == "./attempt_0/0/stderr.log ./attempt_0/0/stdout.log ./attempt_0/1/stderr.log" ]]
  [[ $(<"$job/attempt_0/0/stdout.log") == "out 0" && $(<"$job/attempt_0/1/stderr.log") == "err 1" ]]
  [[ $(sort <<<"$output") == $'[default0]:out 0\nout 1' ]]
  [[ $stderr == "[default1]:err 1" ]]
}

@test "any number of ranks by name" {
  run_torchrun --nproc 12 --log-dir logs -t 11:1 --no-python sh -c "$SAY"
  expect_status 0
  expect_in "$output" "[default11]:out 11"
  [[ $(<"$(job_of logs)/attempt_0/11/stdout.log") == "out 11" ]]
}

@test "each attempt keeps its files" {
  run_torchrun --nproc 2 --max-restarts 1 --log-dir logs --redirects 3 --no-python sh -c \
    'echo "$TORCHELASTIC_RESTART_COUNT of $RANK"; echo {} >"$TORCHELASTIC_ERROR_FILE"; [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || { [ "$RANK" = 0 ] && exit 3; exec sleep 60; }'
  expect_status 0
  [[ -z $output ]]
  local job
  job=$(job_of logs)
  [[ $(<"$job/attempt_0/0/stdout.log") == "0 of 0" && $(<"$job/attempt_1/1/stdout.log") == "1 of 1" ]]
  [[ -e $job/attempt_0/0/error.json && -e $job/attempt_1/1/error.json ]]
}

@test "two jobs of one name have folders of their own" {
  run_torchrun --log-dir logs --rdzv-id same --redirects 1 --no-python echo first
  run_torchrun --log-dir logs --rdzv-id same --redirects 1 --no-python echo second
  [[ $(cat logs/same_*/attempt_0/0/stdout.log | sort) == $'first\nsecond' ]]
}

@test "without --log-dir the folder goes after success and stays after a failure" {
  mkdir tmp
  TMPDIR=$PWD/tmp run_torchrun --redirects 3 --no-python sh -c "$SAY"
  expect_status 0
  [[ -z $(ls -A tmp) ]] || { find tmp; return 1; }
  TMPDIR=$PWD/tmp run_torchrun --redirects 3 --no-python sh -c "$SAY; exit 4"
  expect_status 4
  [[ $(cat tmp/torchelastic_*/none_*/attempt_0/0/stdout.log) == "out 0" ]]
  expect_in "$stderr" "the workers' output is in $PWD/tmp/torchelastic_"
  rm -r tmp/*
  TMPDIR=$PWD/tmp run_torchrun --no-python sh -c "$SAY; exit 4"
  [[ -z $(ls -A tmp) ]] || { find tmp; return 1; }
}

@test "--log-dir /dev/null: no files, nothing is redirected" {
  run_torchrun --log-dir /dev/null --redirects 1 --no-python sh -c 'echo "at ${TORCHELASTIC_ERROR_FILE-unset}."'
  expect_status 0
  [[ $output == "at ." ]]
}

@test "a folder that cannot be made is status 2" {
  : >plain
  run_torchrun --log-dir plain --no-python true
  expect_status 2
  expect_in "$stderr" "--log-dir: cannot make"
}

@test "templates of the prefix, option before variable" {
  run_torchrun --nproc 2 --role tr --tee 3 --log-line-prefix-template '[${rank}/$local_rank ${role_name} ${other}] ' --no-python sh -c "$SAY"
  expect_status 0
  [[ $(sort <<<"$output") == $'[0/0 tr ${other}] out 0\n[1/1 tr ${other}] out 1' ]]
  [[ $(sort <<<"$stderr") == $'[0/0 tr ${other}] err 0\n[1/1 tr ${other}] err 1' ]]
  TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE='${hostname}:' run_torchrun --tee 1 --no-python echo x
  [[ $output == "$(hostname):x" ]]
  run_torchrun --nproc 2 --no-python echo x # without tee there is no prefix
  [[ $output == $'x\nx' ]]
}

@test "--local-ranks-filter hides the others from the screen alone" {
  run_torchrun --nproc 3 --log-dir logs --tee 3 --local-ranks-filter 0,2 --no-python sh -c "$SAY"
  expect_status 0
  [[ $(sort <<<"$output") == $'[default0]:out 0\n[default2]:out 2' ]]
  [[ $(<"$(job_of logs)/attempt_0/1/stdout.log") == "out 1" ]]
}

@test "filters copy lines of --tee to files of their own" {
  run_torchrun --nproc 2 --log-dir logs --tee 3 --duplicate-stdout-filters 'apple,a,,b' --duplicate_stderr_filters=pear --no-python \
    sh -c 'echo "apple $RANK"; echo "x a,b y"; printf "no "; echo match; echo "pear $RANK" >&2'
  expect_status 0
  local job
  job=$(job_of logs)/attempt_0
  [[ $(sort "$job/filtered_stdout.log") == $'[default0]:apple 0\n[default0]:x a,b y\n[default1]:apple 1\n[default1]:x a,b y' ]]
  [[ $(sort "$job/filtered_stderr.log") == $'[default0]:pear 0\n[default1]:pear 1' ]]
}

@test "lines of several writers stay whole under --tee, also half lines and odd bytes" {
  run_torchrun --nproc 2 --tee 1 --no-python sh -c 'i=0; while [ $i -lt 200 ]; do printf "half %d " $i; printf "of $RANK\n"; i=$((i + 1)); done; printf "\377\n"'
  expect_status 0
  [[ $(grep -aEc '^\[default[01]\]:half [0-9]+ of [01]$' <<<"$output") -eq 400 ]]
}

@test "--event-log-handler console: events to standard error" {
  run_torchrun --event-log-handler console --no-python true
  expect_status 0
  [[ $(grep -c '"type": *"end"' <<<"$stderr") -eq 1 && -z $output ]]
  run bash -c 'echo before >log; "$MUSTER" torchrun --event-log-handler console --no-python true 2>>log; head -n 1 log'
  [[ $output == before ]]
}

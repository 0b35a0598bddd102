#!/usr/bin/env bats
# --stdin all: each rank reads every byte of standard input, at the pace of the slowest.

load helpers
load launcher

@test "every byte reaches every rank, from a pipe and from a file" {
  seq 200000 >numbers
  local sum
  sum=$(md5sum <numbers)
  run_muster -n 3 --stdin all md5sum < <(cat numbers)
  expect_status 0
  [[ $output == "$sum"$'\n'"$sum"$'\n'"$sum" ]]
  run_muster -n 3 --stdin all md5sum <numbers
  expect_status 0
  [[ $output == "$sum"$'\n'"$sum"$'\n'"$sum" ]]
}

@test "an empty input ends at once for all" {
  run_muster -n 3 --stdin all sh -c 'cat; echo "end $RANK"' </dev/null
  expect_status 0
  [[ $(sort <<<"$output") == $'end 0\nend 1\nend 2' ]]
}

@test "a line is passed on before the next one comes" {
  mkfifo in
  "$MUSTER" -n 2 --stdin all sh -c 'while read -r x; do : >"got.$RANK.$x"; done' <in >out 2>err 3>&- &
  PID=$!
  exec 7>in
  echo one >&7
  eventually 20 have 2 'got.*.one'
  echo two >&7
  eventually 20 have 2 'got.*.two'
  exec 7>&-
  end_within 20
  expect_status 0
}

@test "a rank that closes its input or ends early is left out; the others get all" {
  seq 200000 >numbers
  local sum
  sum=$(md5sum <numbers)
  run_muster -n 4 --stdin all sh -c 'case $RANK in 0) exit 0;; 1) exec 0<&-; until [ -e done.3 ]; do sleep 0.05; done;; 2) head -c 10;; 3) md5sum; : >done.3;; esac' <numbers
  expect_status 0
  expect_in "$output" "$sum"
  no_leftovers
}

@test "the slowest sets the pace: what one does not read is kept for it, and little more is read" {
  head -c 3000000 /dev/zero >numbers
  mkfifo in
  "$MUSTER" -n 2 --stdin all sh -c 'if [ $RANK = 0 ]; then until [ -e go ]; do sleep 0.05; done; fi; wc -c' <in >out 2>err 3>&- &
  PID=$!
  { cat numbers; : >sent; } >in 3>&- &
  local writer=$!
  eventually 20 has_child_reader
  # a chunk, and the pipes between: far from all of it
  [[ ! -e sent ]]
  : >go
  end_within 30
  wait "$writer"
  expect_status 0
  [[ $output == $'3000000\n3000000' ]]
}
# Rank 1's wc has read as much as one chunk and pipe can hold, and waits.
has_child_reader() {
  local pid
  for pid in $(leftovers); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == wc ]] && [[ $(awk '/^rchar/ {print $2}' "/proc/$pid/io" 2>/dev/null) -gt 65000 ]] && return 0
  done
  return 1
}

@test "a reader that is stopped does not keep muster from hearing a signal" {
  env --default-signal "$MUSTER" -n 2 --stdin all sh -c ': >"up.$RANK"; exec sleep 1000' </dev/zero >out 2>err 3>&- &
  PID=$!
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  no_leftovers
}

@test "an endless input ends with its readers" {
  run_muster -n 2 --stdin all head -c 1000 </dev/zero
  expect_status 0
  [[ $(wc -c <<<"$output") -lt 3000 ]]
}

@test "an attempt after a restart reads on" {
  run_muster -n 2 --stdin all --max-restarts 1 sh -c 'cat >"in.$RANK.$TORCHELASTIC_RESTART_COUNT";
    until [ -s in.0.0 ] && [ -s in.1.0 ]; do sleep 0.05; done; exit "$((1 - TORCHELASTIC_RESTART_COUNT))"' < <(echo all)
  expect_status 0
  [[ $(<in.0.0) == all && $(<in.1.0) == all && -z $(<in.0.1) && -z $(<in.1.1) ]]
}

@test "what --stdin takes is said" {
  run_muster -n 2 --stdin some true
  expect_status 2
  expect_in "$stderr" "a rank, all or none"
}

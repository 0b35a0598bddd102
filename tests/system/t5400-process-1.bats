#!/usr/bin/env bats
# muster as process 1 of a container: here of a process-id namespace, which ends with it.

bats_require_minimum_version 1.5.0
load helpers

setup() {
  begin_test
  local -a user=()
  ((EUID == 0)) || user=(--user --map-root-user)
  ALONE=(unshare "${user[@]}" --pid --fork --mount-proc --kill-child)
  "${ALONE[@]}" true 2>/dev/null || skip "process-id namespaces cannot be made here"
}

@test "it ends with the status of its workers" {
  run --separate-stderr bounded "${ALONE[@]}" "$MUSTER" -n 2 sh -c '[ $$ -gt 1 ] && exit $((RANK * 7))'
  expect_status 7
  expect_in "$stderr" "rank 1 failed first: exit 7"
  run --separate-stderr bounded "${ALONE[@]}" "$MUSTER" -n 2 true
  expect_status 0
}

@test "it reaps what others leave, while the job runs" {
  cat >worker <<'EOF2'
#!/bin/sh
# The child of a subshell that ends at once becomes a child of process 1, and dies.
( sh -c 'echo $$ >orphan.tmp; mv orphan.tmp orphan' & )
until [ -s orphan ]; do :; done
n=$(cat orphan)
while [ -e "/proc/$n" ]; do :; done # a zombie, until process 1 reaps it
[ "$(cat /proc/1/comm)" = muster ] && echo "process $n is gone"
EOF2
  chmod +x worker
  run --separate-stderr bounded "${ALONE[@]}" "$MUSTER" -n 1 ./worker
  expect_status 0
  expect_in "$output" "is gone"
}

# What `docker stop` does: SIGTERM to process 1, from outside.
@test "it forwards SIGTERM and ends with 143" {
  cat >worker <<'EOF2'
#!/bin/sh
trap 'echo saved; exit 0' TERM
: >"up.$RANK"
sleep 300 &
wait
EOF2
  chmod +x worker
  bounded "${ALONE[@]}" "$MUSTER" -n 2 ./worker >out 2>err 3>&- &
  local outer=$! status=0 pid
  eventually 30 test -e up.0
  eventually 30 test -e up.1
  pid=$(process_1)
  kill -TERM "$pid"
  wait "$outer" || status=$?
  cat err
  [[ $status -eq 143 ]]
  [[ $(grep -c saved out) -eq 2 ]]
}

# The muster of this test that nobody of this namespace sees as anything but process 1 of its own.
process_1() {
  local file
  for file in $(grep -lzx "TEST_TAG=$TEST_TAG" /proc/[0-9]*/environ 2>/dev/null); do
    file=${file%environ}
    if grep -q $'^NSpid:.*\t1$' "$file/status" 2>/dev/null && [[ $(readlink "$file/exe") == "$(readlink -f "$MUSTER")" ]]; then
      basename "$file"
    fi
  done
}

@test "nothing of a job outlives it, whatever the workers started" {
  run --separate-stderr bounded "${ALONE[@]}" "$MUSTER" -n 2 sh -c 'setsid sleep 300 & exit 0'
  expect_status 0
  no_leftovers
}

#!/usr/bin/env bats
# What workers of nodes that muster has started print, and nobody reads: nodes wait, none is given up for lost. The
# node is this host, so that no lab is needed.

load helpers
load launcher
load lab

setup() {
  begin_test
  mkfifo pipe
}

# More than all buffers on the way hold: 512 blocks of 64 KiB, each noted once it is written; TCP alone may hold 10 MiB.
start_flood() { # options...
  script flood <<'W'
i=0
while [ $i -lt 512 ]; do
  head -c 65536 /dev/zero
  i=$((i + 1))
  echo $i >>written
done
W
  env --default-signal "$MUSTER" run --hosts "$(hostname)" -n 1 "$@" ./flood >pipe 2>err 3>&- &
  PID=$!
  exec 4<pipe
  eventually 60 test -e written
}
flood_ended() {
  eventually 60 has_ended "$PID"
  status=0
  wait "$PID" || status=$?
  output='' stderr=$(<err)
}

@test "a reader that comes later than a lost node is noticed gets every byte" {
  start_flood
  read -r -t 13 <> <(:) || true # longer than five beats
  ! has_ended "$PID" || { cat err; return 1; }
  [[ $(wc -l <written) -lt 512 ]] # it was held back
  [[ $(wc -c <&4) -eq $((512 * 65536)) ]]
  flood_ended
  expect_status 0
  no_leftovers
}

@test "SIGTERM ends a job whose output nobody reads, and that some is lost is said" {
  start_flood --grace 1s
  eventually 60 is_held_back
  kill -TERM "$PID"
  flood_ended
  exec 4<&-
  expect_status 143
  expect_in "$stderr" "is lost"
  no_leftovers
}
is_held_back() {
  local before
  before=$(wc -l <written)
  read -r -t 1 <> <(:) || true
  [[ $(wc -l <written) -eq $before ]]
}

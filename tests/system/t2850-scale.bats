#!/usr/bin/env bats
# A thousand nodes on real sockets: one muster, ssh replaced by ssh_stand_in, all agents and 8,000 connections to the
# store in one process (agent_load) that speaks as agents do. Counts are checked, never times.

load helpers

NODES=1000 SLOTS=8

setup() {
  begin_test
  # of muster: three pipes and a pidfd a command, a link a node, a connection a worker
  local most need=$((NODES * (5 + SLOTS) + 500))
  most=$(ulimit -Hn)
  [[ $most == unlimited || $most -ge $need ]] || skip "the hard limit of open files is $most; this needs $need"
}
teardown() { end_test; }

begin_load() { # agents
  "$BIN/agent_load" "$PWD/load" "$1" >load.out 2>load.err 3>&- &
  LOAD=$!
  eventually 20 test -S load
  export AGENT_LOAD=$PWD/load
}

expect_counts() { # NAME NUMBER...
  while (($#)); do
    grep -qx "$1 $2" load.out || { echo "not: $1 $2"; cat load.out load.err; return 1; }
    shift 2
  done
}

@test "1,000 nodes with 8 workers each: all are admitted, get their plan and are served, with one message of each kind" {
  begin_load $NODES
  MUSTER_DEADLINE=300 run_muster run --ssh "$BIN/ssh_stand_in" --hosts "n[1-$NODES]:$SLOTS" true
  expect_status 0
  wait "$LOAD"
  expect_counts admitted $NODES who $NODES setups $NODES hellos $NODES plans $NODES starts $NODES byes $NODES
  expect_counts strange_plans 0 refusals 0 broken 0 turned_away 0
  expect_counts world $((NODES * SLOTS)) clients $((NODES * SLOTS)) served $((NODES * SLOTS)) last $((NODES * SLOTS))
  expect_not_in "$stderr" "turned away"
  [[ ! -s load.err ]]
}

@test "one of 100 nodes that cannot be reached: the others are sent home, it is named" {
  cat >ssh <<W
#!/bin/sh
case "\$*" in *" n61 "*) echo "ssh: n61: Permission denied (publickey)." >&2; exit 255 ;; esac
exec "$BIN/ssh_stand_in" "\$@"
W
  chmod +x ssh
  begin_load 100
  # Flat: what a host of a tree cannot reach is for t2250, agent_load reaches all.
  MUSTER_DEADLINE=300 run_muster run --ssh-flat --ssh "$PWD/ssh" --hosts "n[1-100]:$SLOTS" true
  kill "$LOAD" 2>/dev/null || true # it waits for one more
  wait "$LOAD" || true
  expect_status 69
  expect_in "$stderr" "n61: ssh: n61: Permission denied (publickey)."
}

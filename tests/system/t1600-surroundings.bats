#!/usr/bin/env bats
# Odd places to be started from: closed descriptors, low limits, no folders, PID 1, another muster.

load helpers
load launcher
load lab

@test "closed standard descriptors are no danger" {
  local closed
  script w <<'W'
echo "words of $RANK"
echo "errors of $RANK" >&2
[ "$(readlink /proc/self/fd/0)" = /dev/null ] || exit 9
exit "$1"
W
  for closed in '<&-' '>&-' '2>&-' '<&- >&-' '>&- 2>&-' '<&- 2>&-' '<&- >&- 2>&-'; do
    run bash -c "\"\$MUSTER\" -n 2 ./w 0 $closed </dev/null"
    [[ $closed == *'<&-'* ]] || expect_status 0
    run bash -c "\"\$MUSTER\" -n 2 ./w 0 $closed"
    [[ $closed == *'<&-'* ]] && expect_status 0
    run bash -c "\"\$MUSTER\" -n 2 ./w 7 </dev/null $closed"
    expect_status 7
  done
  no_leftovers
}

@test "workers get descriptors 0, 1 and 2 and nothing else" {
  cat >w.py <<'W'
import os
for fd in sorted(os.listdir("/proc/self/fd"), key=int):
    try: print(os.environ["RANK"], fd, os.readlink("/proc/self/fd/" + fd).split(":")[0], flush=True)
    except OSError: pass
W
  run bash -c '"$MUSTER" -n 2 w.py </dev/null 4</dev/null 9<>/dev/zero 200</etc/passwd 3>&-'
  [[ $(sort <<<"$output") == $'0 0 /dev/null\n0 1 pipe\n0 2 pipe\n1 0 /dev/null\n1 1 pipe\n1 2 pipe' ]]
}

@test "64 workers with room for 64 open files; workers get the limit back" {
  [[ $(ulimit -Hn) == unlimited || $(ulimit -Hn) -ge 1024 ]] || skip "the hard limit is $(ulimit -Hn)"
  run bash -c 'ulimit -Sn 64; exec "$MUSTER" -n 64 sh -c "ulimit -Sn"'
  expect_status 0
  [[ $(grep -c '^64$' <<<"$output") -eq 64 ]]
}

@test "a hard limit of open files that is too low is said, and leaves nothing" {
  run bash -c 'ulimit -n 40; exec "$MUSTER" -n 64 sleep 60'
  expect_status 2
  expect_in "$output" "64 ranks on one node need 208 open files there, and the hard limit is 40 (ulimit -Hn)"
  [[ ${#lines[@]} -eq 1 ]]
  no_leftovers
}

@test "the folder for temporary files may be missing, read-only or full" {
  TMPDIR=/no/such/folder run_muster -n 2 sh -c 'exit 3'
  expect_status 3
  mkdir locked
  chmod 555 locked
  TMPDIR=$PWD/locked run_muster -n 2 true
  expect_status 0
  chmod 755 locked
  if unshare -m true 2>/dev/null; then
    mkdir tiny
    run unshare -m bash -c 'mount -t tmpfs -o size=4k,nr_inodes=2 none tiny && : >tiny/x; TMPDIR=$PWD/tiny exec "$MUSTER" -n 2 true'
    expect_status 0
  fi
}

@test "nothing stays in the folder for temporary files, whatever workers leave there" {
  mkdir tmp
  TMPDIR=$PWD/tmp run_muster -n 2 sh -c 'd=${TORCHELASTIC_ERROR_FILE%/*}; mkdir "$d/sub.$RANK"; : >"$d/sub.$RANK/x"; echo {} >$TORCHELASTIC_ERROR_FILE'
  expect_status 0
  [[ -z $(ls -A tmp) ]] || { find tmp; return 1; }
}

@test "a working directory that has been removed" {
  mkdir gone
  cd gone
  rmdir ../gone
  run_muster -n 2 echo here
  expect_status 0
  [[ $output == $'here\nhere' ]]
  run_muster -n 1 --log-dir logs true
  expect_status 2
  expect_in "$stderr" "logs"
}

@test "a host whose own name means nothing" {
  unshare -u true 2>/dev/null || skip "no UTS namespace"
  run unshare -u bash -c 'hostname no-such-host-17; exec "$MUSTER" -n 2 counter wait 2 here'
  expect_status 0
}

@test "two jobs at once do not disturb each other" {
  begin -n 2 sh -c 'counter wait 2 here; echo $MASTER_PORT; until [ -e go ]; do sleep 0.05; done'
  eventually 20 two_ports
  run_muster -n 2 sh -c 'counter wait 2 here; echo $MASTER_PORT'
  expect_status 0
  local other=${lines[-1]}
  : >go
  end_within 20
  expect_status 0
  expect_in "$output" "here 2"
  expect_not_in "$output" "$other"
}
two_ports() { [[ $(grep -c '^[0-9]*$' out) -eq 2 ]]; }

@test "muster within a worker is a job of its own" {
  script w <<'W'
[ "$RANK" = 1 ] || exit 0
outer=$MASTER_PORT
"$MUSTER" -n 2 sh -c 'echo "$RANK of $WORLD_SIZE, $TORCHELASTIC_RUN_ID"; [ "$MASTER_PORT" != '"$outer"' ]'
W
  run_muster -n 2 --rdzv-id outer ./w
  expect_status 0
  expect_in "$output" "0 of 2, "
  expect_in "$output" "1 of 2, "
  expect_not_in "$output" "outer"
  script w <<'W'
[ "$RANK" = 1 ] || exec sleep 60
"$MUSTER" -n 2 sh -c '[ $RANK = 1 ] || exec sleep 60; exit 9'
W
  run_muster -n 2 ./w
  expect_status 9
  no_leftovers
}

@test "options for the outer muster in the environment are not the inner one's" {
  script w <<'W'
[ "$RANK" = 0 ] || exit 0
exec "$MUSTER" -n 1 sh -c 'echo inner $TORCHELASTIC_RUN_ID'
W
  MUSTER_MASTER_PORT=$(free_port) MUSTER_RDZV_ID=outer MUSTER_NPROC_PER_NODE=2 run_muster run ./w
  expect_status 0
  expect_in "$output" "inner"
  expect_not_in "$output" "outer"
}

@test "SIGTERM goes down through a nested muster" {
  begin -n 1 "$MUSTER" -n 2 sh -c 'trap ": >\"saved.\$RANK\"; exit 0" TERM; : >"up.$RANK"; while :; do sleep 0.05; done'
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  have 2 'saved.*'
  no_leftovers
}

pid_namespace() {
  unshare -pf --mount-proc true 2>/dev/null || skip "no pid namespace"
}

@test "as PID 1 it ends with the job's status and hears signals" {
  pid_namespace
  run unshare -pf --mount-proc "$MUSTER" -n 2 sh -c '[ "$RANK" = 1 ] && exit 7; exec sleep 60'
  expect_status 7
  run unshare -pf --mount-proc "$MUSTER" -n 2 true
  expect_status 0
  env --default-signal unshare -pf --mount-proc --kill-child "$MUSTER" -n 2 sh -c ': >"up.$RANK"; exec sleep 300' </dev/null >out 2>err 3>&- &
  PID=$!
  eventually 20 have 2 'up.*'
  kill -TERM "$(pgrep -P "$PID")"
  end_within 20
  expect_in "$stderr" "ended by signal 15"
  no_leftovers
}

@test "as PID 1 it collects orphans" {
  pid_namespace
  script w <<'W'
i=0
while [ $i -lt 50 ]; do (setsid true &); i=$((i + 1)); done
n=0
while ps -eo ppid=,stat= | grep -q '^ *1 *Z'; do n=$((n + 1)); [ $n -lt 400 ] || exit 9; sleep 0.05; done
W
  run unshare -pf --mount-proc "$MUSTER" -n 1 ./w
  expect_status 0
}

@test "a job in a terminal's background does not read the keys" {
  # A job in the background leaves the terminal's input to the shell, also for rank 0.
  cat >keys <<'K'
type echo on''line\n
expect online
type "$MUSTER" -n 1 sh -c 'readlink /proc/self/fd/0 >where' & wait; echo done-$?\n
expect done-0
type exit\n
K
  run on_terminal keys bash --norc --noprofile -i
  [[ $(<where) == /dev/null ]]
}

@test "CPUs, memory and files: a worker inherits muster's limits, priority and mask" {
  run bash -c 'umask 027; ulimit -Sc 0; exec nice -n 5 "$MUSTER" -n 1 sh -c "umask; ulimit -Sc; nice"'
  expect_status 0
  [[ ${lines[0]} == 0027 && ${lines[1]} == 0 && ${lines[2]} == "$(nice -n 5 nice)" ]]
}

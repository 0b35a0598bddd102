#!/usr/bin/env bats
# One muster started by hand for each node of a job, all on this host's loopback: no lab is needed.

load helpers
load launcher
load devices
load lab

setup() {
  begin_test
  ENDPOINT=127.0.0.1:$(free_port)
}

# A worker that says where it is, and leaves only when all of the job are there.
facts_worker() {
  script facts <<'W'
echo "$RANK $LOCAL_RANK $NODE_RANK $GROUP_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_WORLD_SIZE" >"facts.$RANK"
echo "$MASTER_ADDR:$MASTER_PORT" >"where.$RANK"
counter wait "$WORLD_SIZE" here
W
}
all_up() { eventually 60 have "$1" 'up.*'; }
all_ready() { # N: so many have their handlers in place and say so
  [[ $(cat ./*.out | grep -c '^ready') -ge $1 ]]
}

@test "two launchers, two workers each: one world, one store" {
  facts_worker
  member a 0 0 2 -n 2 ./facts
  member b 0 1 2 -n 2 ./facts
  ended a
  expect_status 0
  ended b
  expect_status 0
  [[ $(cat facts.*) == $'0 0 0 0 4 2 2\n1 1 0 0 4 2 2\n2 0 1 1 4 2 2\n3 1 1 1 4 2 2' ]]
  [[ $(cat where.* | sort -u | wc -l) -eq 1 ]]
  no_leftovers
}

@test "three launchers in any order" {
  facts_worker
  member c 0 2 3 -n 2 ./facts
  member b 0 1 3 -n 2 ./facts
  member a 0 0 3 -n 2 ./facts
  local name
  for name in a b c; do
    ended $name
    expect_status 0
  done
  [[ $(cat facts.*) == $'0 0 0 0 6 2 3\n1 1 0 0 6 2 3\n2 0 1 1 6 2 3\n3 1 1 1 6 2 3\n4 0 2 2 6 2 3\n5 1 2 2 6 2 3' ]]
}

@test "without node ranks each has one of its own" {
  facts_worker
  launch a 0 run --nnodes 2 --rdzv-endpoint "$ENDPOINT" -n 2 ./facts
  launch b 0 run --nnodes 2 --rdzv-endpoint "$ENDPOINT" -n 2 ./facts
  ended a
  expect_status 0
  ended b
  expect_status 0
  [[ $(cut -d ' ' -f 1,3 facts.*) == $'0 0\n1 0\n2 1\n3 1' ]]
}

@test "the workers' output stays with the launcher of their node, or comes to the first; nothing is lost" {
  member a 0 0 2 -n 2 sh -c 'echo "out of $RANK"; echo "err of $RANK" >&2'
  member b 0 1 2 -n 2 sh -c 'echo "out of $RANK"; echo "err of $RANK" >&2'
  ended a
  ended b
  local rank
  for rank in 0 1 2 3; do
    [[ $(cat a.out b.out | grep -c "out of $rank") -eq 1 ]]
    [[ $(cat a.err b.err | grep -c "err of $rank") -eq 1 ]]
  done
}

fails_with_9() { # rank
  waiting_worker "$1) exit 9 ;;"
  member a 0 0 2 -n 2 ./waiting
  member b 0 1 2 -n 2 ./waiting
  ended a
  expect_status 9
  expect_in "$stderr" "rank $1"
  ended b
  expect_status 9
  expect_in "$stderr" "rank $1"
  no_leftovers
}
@test "a worker of the first node fails: both end with its status, and name it" { fails_with_9 1; }
@test "a worker of the second node fails: both end with its status, and name it" { fails_with_9 3; }

@test "a worker that dies by a signal gives 128+N on both" {
  waiting_worker '2) kill -SEGV $$ ;;'
  member a 0 0 2 -n 2 ./waiting
  member b 0 1 2 -n 2 ./waiting
  ended a
  expect_status 139
  ended b
  expect_status 139
  no_leftovers
}

@test "a program missing on one node: nothing starts on any" {
  mkdir one
  script one/prog <<<': >started; exec sleep 300'
  PATH=$PWD/one:$PATH member a 0 0 2 -n 1 prog
  member b 0 1 2 -n 1 prog
  ended a
  expect_status 127
  ended b
  expect_status 127
  expect_in "$stderr" "prog"
  [[ ! -e started ]]
}

@test "the same node rank twice is refused, both named" {
  member a 0 0 3 -n 1 sh -c ': >started'
  member b 0 1 3 -n 1 sh -c ': >started'
  member c 0 1 3 -n 1 sh -c ': >started'
  # Whichever of the two came second is refused.
  eventually 60 one_of_two_ended
  local name=b
  has_ended "${WAITED[c]}" && name=c
  ended $name
  expect_status 2
  expect_in "$stderr" "--node-rank 1"
  expect_in "$stderr" "$(hostname)"
  [[ ! -e started ]]
  for name in a b c; do kill -TERM "${PIDS[$name]}" 2>/dev/null || true; done
  for name in a b c; do ended $name; done
  no_leftovers
}
one_of_two_ended() { has_ended "${WAITED[b]}" || has_ended "${WAITED[c]}"; }

@test "launchers that differ in --nnodes are refused, both numbers named" {
  member a 0 0 2 -n 1 sh -c ': >started'
  member b 0 1 3 -n 1 sh -c ': >started'
  ended b
  expect_status 2
  expect_in "$stderr" "--nnodes"
  expect_in "$stderr" 2
  expect_in "$stderr" 3
  kill -TERM "${PIDS[a]}" 2>/dev/null || true
  ended a
  [[ $status -ne 0 && ! -e started ]]
}

@test "each launcher has its own -n: the ranks go on from node to node" {
  member a 0 0 2 -n 2 sh -c 'echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE"'
  member b 0 1 2 -n 1 sh -c 'echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE"'
  ended b
  expect_status 0
  ended a
  expect_status 0
  [[ $(sort a.out b.out) == $'0 of 3, 0 of 2\n1 of 3, 1 of 2\n2 of 3, 0 of 1' ]]
}

@test "a node rank that is too high is refused before any connection" {
  run_muster run --nnodes 2 --node-rank 2 --rdzv-endpoint "$ENDPOINT" -n 1 true
  expect_status 2
  expect_in "$stderr" "--node-rank"
}

@test "a late third is waited for, and who is missing is said" {
  facts_worker
  member a 0 0 3 -n 1 ./facts
  member b 0 1 3 -n 1 ./facts
  eventually 60 grep -q 'waiting for 1 of' a.err
  have 0 'facts.*'
  member c 0 2 3 -n 1 ./facts
  local name
  for name in a b c; do
    ended $name
    expect_status 0
  done
  have 3 'facts.*'
}

@test "a job that says nothing for longer than a lost node is waited for goes on" {
  member a 0 0 2 -n 1 sleep 13
  member b 0 1 2 -n 1 sleep 13
  ended a
  expect_status 0
  ended b
  expect_status 0
}

@test "who never comes ends the wait with 69" {
  member a 0 0 2 -n 1 --join-timeout 1s sh -c ': >started'
  ended a
  expect_status 69
  [[ ! -e started ]]
}

@test "kill -9 of the first launcher: no process is left, the other ends" {
  waiting_worker '9) ;;'
  member a 0 0 2 -n 2 ./waiting
  member b 0 1 2 -n 2 ./waiting
  all_up 4
  kill -KILL "${PIDS[a]}"
  ended b
  expect_status 69
  ended a
  expect_status 137
  no_leftovers
}

@test "kill -9 of the second launcher: no process is left, the first names the node" {
  waiting_worker '9) ;;'
  member a 0 0 2 -n 2 ./waiting
  member b 0 1 2 -n 2 ./waiting
  all_up 4
  kill -KILL "${PIDS[b]}"
  ended a
  expect_status 75
  expect_in "$stderr" "node 1"
  no_leftovers
}

signal_to() { # name number
  waiting_worker '9) ;;'
  member a 0 0 2 -n 2 ./waiting
  member b 0 1 2 -n 2 ./waiting
  eventually 60 all_ready 4
  kill "-$2" "${PIDS[$1]}"
  ended "$1"
  expect_status $((128 + $2))
  ended "$([[ $1 == a ]] && echo b || echo a)"
  [[ $status -ne 0 ]]
  # whichever it was, the workers of both nodes were asked first
  [[ $(cat a.out b.out | grep -c '^got ') -eq 4 ]]
  no_leftovers
}
@test "SIGTERM to the first launcher ends the job on both" { signal_to a 15; }
@test "SIGTERM to the second launcher ends the job on both" { signal_to b 15; }

@test "Ctrl-C at the first launcher ends the job on both" {
  waiting_worker '9) ;;'
  printf 'expect ready\nexpect ready\ntype \\x03\n' >keys
  member b 0 1 2 -n 2 ./waiting
  run on_terminal keys "$MUSTER" run --nnodes 2 --node-rank 0 --rdzv-endpoint "$ENDPOINT" -n 2 ./waiting
  expect_status 130
  ended b
  [[ $status -ne 0 ]]
  no_leftovers
}

@test "Ctrl-C at the second launcher ends the job on both" {
  waiting_worker '9) ;;'
  member a 0 0 2 -n 2 ./waiting
  # What its workers print may be shown at the first, so files say when to press. What is started in the background
  # by a shell ignores SIGINT, and muster would, too.
  env --default-signal python3 - "$SOURCE/tests/system" "$MUSTER" run --nnodes 2 --node-rank 1 --rdzv-endpoint "$ENDPOINT" -n 2 ./waiting <<'P' 3>&- &
import glob, os, sys, time
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import terminal
t = terminal.Terminal(sys.argv[2:])
while len(glob.glob("up.*")) < 4:
    time.sleep(0.02)
t.act("type \\x03")
code = t.finish()
sys.exit(128 - code if code < 0 else code)
P
  local pid=$!
  ended a
  [[ $status -ne 0 ]]
  status=0
  wait "$pid" || status=$?
  [[ $status -eq 130 ]]
  no_leftovers
}

@test "restarts go over both nodes: the same count everywhere, an empty store each time" {
  script w <<'W'
echo "$TORCHELASTIC_RESTART_COUNT" >>"count.$RANK"
counter wait "$WORLD_SIZE" here >"sum.$TORCHELASTIC_RESTART_COUNT.$RANK" || exit 9
[ "$TORCHELASTIC_RESTART_COUNT" = 2 ] && exit 0
[ "$RANK" = 3 ] && exit 6
exec toy polite
W
  member a 0 0 2 -n 2 --max-restarts 3 ./w
  member b 0 1 2 -n 2 --max-restarts 3 ./w
  ended a
  expect_status 0
  ended b
  expect_status 0
  local rank attempt
  for rank in 0 1 2 3; do [[ $(<count.$rank) == $'0\n1\n2' ]]; done
  for attempt in 0 1 2; do
    [[ $(sort "sum.$attempt".*) == $'here 1\nhere 2\nhere 3\nhere 4' ]]
  done
  no_leftovers
}

@test "restarts that are used up end both with the worker's status" {
  waiting_worker '3) exit 6 ;;'
  member a 0 0 2 -n 2 --max-restarts 1 ./waiting
  member b 0 1 2 -n 2 --max-restarts 1 ./waiting
  ended a
  expect_status 6
  ended b
  expect_status 6
  no_leftovers
}

@test "nobody hosts the endpoint: 69, with what was tried" {
  # 192.0.2.0/24 is kept free for documentation: nobody's address.
  run_muster run --nnodes 2 --node-rank 1 --rdzv-endpoint 192.0.2.1:29400 --join-timeout 1s -n 1 sh -c ': >started'
  expect_status 69
  expect_in "$stderr" "192.0.2.1:29400"
  [[ ! -e started ]]
}

@test "a name that nobody knows: 69, and the name" {
  run_muster run --nnodes 2 --node-rank 1 --rdzv-endpoint no-such-host.invalid:29400 --join-timeout 1s -n 1 true
  expect_status 69
  expect_in "$stderr" "no-such-host.invalid"
}

@test "a port that something else has: 69, and the port" {
  cat >other.py <<'P'
import socket, sys, threading
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(16)
open("listening", "w").close()
while True:
    c = s.accept()[0]
    c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    c.close()
P
  python3 other.py "${ENDPOINT#*:}" 3>&- &
  local pid=$!
  eventually 20 test -e listening
  run_muster run --nnodes 2 --node-rank 0 --rdzv-endpoint "$ENDPOINT" --join-timeout 2s -n 1 sh -c ': >started'
  kill "$pid"
  expect_status 69
  expect_in "$stderr" "${ENDPOINT#*:}"
  [[ ! -e started ]]
}

secret() { # file words
  printf '%s\n' "$2" >"$1"
  chmod 600 "$1"
}

@test "with the same secret a job is formed" {
  facts_worker
  secret key 'a secret of this job only'
  member a 0 0 2 -n 1 --secret-file key ./facts
  member b 0 1 2 -n 1 --secret-file key ./facts
  ended a
  expect_status 0
  ended b
  expect_status 0
  run grep -r 'a secret of this job' facts.0 a.err b.err
  [[ -z $output ]]
}

# The head stays: a stranger's attempt is no reason to end, and the right one may still come.
joins_in_vain() { # the second node's options
  local name
  facts_worker
  secret key 'a secret of this job only'
  secret other 'another secret altogether'
  member a 0 0 2 -n 1 --secret-file key ./facts
  member b 0 1 2 -n 1 --join-timeout 5s "$@" ./facts
  ended b
  expect_status 77
  expect_in "$stderr" "secret"
  have 0 'facts.*'
  member c 0 1 2 -n 1 --secret-file key ./facts
  for name in a c; do
    ended $name
    expect_status 0
  done
}
@test "another secret is refused with 77; the right one is still taken" { joins_in_vain --secret-file other; }
@test "no secret where one is asked for is refused with 77; the right one is still taken" { joins_in_vain; }

@test "a secret file that is missing, short or open to others is refused before any connection" {
  run_muster run --nnodes 2 --node-rank 0 --rdzv-endpoint "$ENDPOINT" --secret-file none -n 1 true
  expect_status 2
  expect_in "$stderr" "none"
  secret key short
  run_muster run --nnodes 2 --node-rank 0 --rdzv-endpoint "$ENDPOINT" --secret-file key -n 1 true
  expect_status 2
  expect_in "$stderr" "16"
  secret key 'a secret of this job only'
  chmod 640 key
  run_muster run --nnodes 2 --node-rank 0 --rdzv-endpoint "$ENDPOINT" --secret-file key -n 1 true
  expect_status 2
  expect_in "$stderr" "chmod 600"
}

@test "--require-secret without a secret is refused" {
  run_muster run --nnodes 2 --node-rank 0 --rdzv-endpoint "$ENDPOINT" --require-secret -n 1 true
  expect_status 2
  expect_in "$stderr" "--secret-file"
}

@test "the secret is in no worker's environment and on no command line" {
  secret key 'a secret of this job only'
  member a 0 0 2 -n 1 --secret-file key sh -c 'env; tr "\0" "\n" </proc/$PPID/environ; tr "\0" " " </proc/$PPID/cmdline'
  member b 0 1 2 -n 1 --secret-file key sh -c 'env'
  ended a
  expect_status 0
  ended b
  expect_status 0
  run grep -l -F 'a secret of this job' a.out b.out a.err b.err
  [[ -z $output ]]
}

@test "jobs of different ids do not mix on one endpoint" {
  facts_worker
  member a 0 0 2 -n 1 --rdzv-id one ./facts
  member b 0 1 2 -n 1 --rdzv-id two --join-timeout 5s ./facts
  ended b
  [[ $status -eq 69 || $status -eq 77 ]]
  have 0 'facts.*'
  member c 0 1 2 -n 1 --rdzv-id one ./facts
  local name
  for name in a c; do
    ended $name
    expect_status 0
  done
}

@test "a third launcher of a job of two that runs waits as a spare; its own end is nobody's business" {
  waiting_worker '9) ;;'
  member a 0 0 2 -n 1 ./waiting
  member b 0 1 2 -n 1 ./waiting
  all_up 2
  launch c 0 run --nnodes 2 --rdzv-endpoint "$ENDPOINT" -n 1 sh -c ': >started'
  eventually 60 grep -q 'as a spare' a.err
  kill -TERM "${PIDS[c]}"
  ended c
  expect_status 143
  is_running "${PIDS[a]}" && is_running "${PIDS[b]}"
  member d 0 1 2 -n 1 sh -c ': >started'
  eventually 60 eval '[[ $(grep -c "as a spare" a.err) -eq 2 ]]'
  kill -TERM "${PIDS[a]}"
  local name
  for name in a b d; do
    ended $name
    expect_status 143
  done
  [[ ! -e started ]]
  no_leftovers
}

@test "a spare takes the place of a launcher that is killed" {
  script w <<'W'
echo "$NODE_RANK $WORLD_SIZE" >"up.$TORCHELASTIC_RESTART_COUNT.$RANK"
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
exec toy polite
W
  member a 0 0 2 -n 1 --max-restarts 1 ./w
  member b 0 1 2 -n 1 --max-restarts 1 ./w
  eventually 60 have 2 'up.0.*'
  launch c 0 run --nnodes 2 --rdzv-endpoint "$ENDPOINT" -n 1 --max-restarts 1 ./w
  eventually 60 grep -q 'as a spare' a.err
  kill -KILL "${PIDS[b]}"
  local name
  for name in a c; do
    ended $name
    expect_status 0
  done
  [[ $(cat up.1.*) == $'0 2\n1 2' ]]
  no_leftovers
}
is_running() { ! has_ended "$1"; }

@test "--node-rank auto is the index of an Indexed Job" {
  facts_worker
  JOB_COMPLETION_INDEX=1 launch b 0 run --nnodes 2 --node-rank auto --rdzv-endpoint "$ENDPOINT" -n 1 ./facts
  JOB_COMPLETION_INDEX=0 launch a 0 run --nnodes 2 --node-rank auto --rdzv-endpoint "$ENDPOINT" -n 1 ./facts
  ended a
  expect_status 0
  expect_in "$stderr" "--node-rank auto: 0, from JOB_COMPLETION_INDEX"
  ended b
  expect_status 0
  expect_in "$stderr" "--node-rank auto: 1, from JOB_COMPLETION_INDEX"
}

@test "--node-rank auto that nothing or two things answer: status 2" {
  run_muster run --nnodes 2 --node-rank auto --rdzv-endpoint "$ENDPOINT" -n 1 true
  expect_status 2
  expect_in "$stderr" "give the number itself"
  JOB_COMPLETION_INDEX=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=1 \
    run_muster run --nnodes 2 --node-rank auto --rdzv-endpoint "$ENDPOINT" -n 1 true
  expect_status 2
  expect_in "$stderr" "JOB_COMPLETION_INDEX says 1, OMPI_COMM_WORLD_RANK says 0"
  JOB_COMPLETION_INDEX=2 run_muster run --nnodes 2 --node-rank auto --rdzv-endpoint "$ENDPOINT" -n 1 true
  expect_status 2
  expect_in "$stderr" "of 2 nodes"
}

@test "an engine that is not here: status 2, which says what would be right" {
  run_muster run --engine slurm -n 1 sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "salloc"
  run_muster run --engine mpi -n 1 sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "--hostfile"
  run_muster run --engine rsh -n 1 sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "auto, ssh, slurm, mpi or manual"
  run_muster run --hosts localhost,127.0.0.1 --nnodes 3 -n 1 sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "there are 2 hosts in --hosts"
  [[ ! -e started ]]
}

@test "addr= and iface= that this host does not have: status 2, with host, line and what there is" {
  printf '# hosts\nlocalhost slots=1 addr=192.0.2.9\n' >hosts # RFC 5737: nobody's
  run_muster --hostfile hosts sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "localhost: hosts:2: addr=192.0.2.9 is no address of this host; addresses here: "
  printf 'localhost slots=1 iface=eth9x\n' >hosts
  run_muster --hostfile hosts sh -c ': >started'
  expect_status 2
  expect_in "$stderr" 'localhost: hosts:1: iface=eth9x: no interface that is up is called "eth9x" with an address; there are: '
  printf 'localhost slots=1 addr=127.0.0.1\nelsewhere slots=1\n' >hosts
  run_muster --hostfile hosts --ssh true sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "localhost: hosts:1: addr=127.0.0.1 is loopback, which no other host reaches"
  printf 'localhost slots=1 iface=lo\nelsewhere slots=1\n' >hosts
  run_muster --hostfile hosts --ssh true sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "localhost: hosts:1: iface=lo is loopback, which no other host reaches"
  [[ ! -e started ]]
}

@test "addr= and iface= of this host are where its workers find the store; --interface beats them" {
  printf 'localhost slots=2 addr=127.0.0.1\n' >hosts
  run_muster --hostfile hosts sh -c 'echo "$MASTER_ADDR"'
  expect_status 0
  [[ $(sort -u <<<"$output") == 127.0.0.1 ]]
  printf 'localhost slots=2 iface=lo\n' >hosts
  run_muster --hostfile hosts sh -c 'echo "$MASTER_ADDR"'
  expect_status 0
  [[ $(sort -u <<<"$output") == 127.0.0.1 ]]
  printf 'localhost slots=1 addr=192.0.2.9\n' >hosts
  run_muster --interface lo --hostfile hosts sh -c 'echo "$MASTER_ADDR"'
  expect_status 0
  [[ $output == 127.0.0.1 ]]
}

@test "gpus= of the list yields to --gpus and MUSTER_GPUS" {
  gpus_are N4
  printf 'localhost slots=1 gpus=0\n' >hosts
  run_muster --hostfile hosts sh -c 'echo "$MUSTER_GPU_INDEX"'
  expect_status 0
  [[ $output == 0 ]]
  MUSTER_GPUS=2 run_muster --hostfile hosts sh -c 'echo "$MUSTER_GPU_INDEX"'
  expect_status 0
  [[ $output == 2 ]]
  MUSTER_GPUS=2 run_muster --hostfile hosts --gpus 3 sh -c 'echo "$MUSTER_GPU_INDEX"'
  expect_status 0
  [[ $output == 3 ]]
}

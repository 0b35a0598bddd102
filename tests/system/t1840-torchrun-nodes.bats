#!/usr/bin/env bats
# muster under the name torchrun on several nodes: a launcher for each, all on this host's loopback.

load helpers
load launcher
load torchrun
load lab

setup() {
  begin_test
  PORT=$(free_port)
}

# One node's command: a torchrun in the background, as launch of lab.bash.
node() { # name arguments...
  launch "$1" 0 torchrun "${@:2}"
}
c10d() { # name nnodes arguments...
  node "$1" --nnodes "$2" --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$PORT" --rdzv-id X "${@:3}"
}
static() { # name rank nnodes arguments...
  node "$1" --nnodes "$3" --node-rank "$2" --master-addr 127.0.0.1 --master-port "$PORT" "${@:4}"
}
ends() { # status names...
  local name wanted=$1
  shift
  for name in "$@"; do
    ended "$name"
    expect_status "$wanted"
  done
}
facts_worker() {
  script facts <<'W'
echo "$RANK $LOCAL_RANK $GROUP_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_WORLD_SIZE $ROLE_NAME $ROLE_RANK" >"facts.$RANK"
echo "$MASTER_ADDR:$MASTER_PORT $TORCHELASTIC_RUN_ID $TORCHELASTIC_USE_AGENT_STORE" >"where.$RANK"
counter wait "$WORLD_SIZE" here >/dev/null
W
}
listens() { (exec 9<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

@test "static: the given port, the given ranks; sizes and a role of each node's own" {
  facts_worker
  static b 1 3 --nproc-per-node 1 --role r --no-python ./facts
  static a 0 3 --nproc-per-node 3 --role r --no-python ./facts
  static c 2 3 --nproc-per-node 2 --role r --no-python ./facts
  ends 0 a b c
  [[ $(cut -d ' ' -f 1,3,4,5,6,7,8 facts.*) == "0 0 6 3 3 r 0
1 0 6 3 3 r 1
2 0 6 3 3 r 2
3 1 6 1 3 r 3
4 2 6 2 3 r 4
5 2 6 2 3 r 5" ]]
  [[ $(sort -u where.*) == "127.0.0.1:$PORT none True" ]]
  no_leftovers
}

@test "c10d: ranks by --node-rank where it is given, each once where not" {
  facts_worker
  c10d a 2 --node-rank 1 --nproc-per-node 2 --no-python ./facts
  c10d b 2 --node-rank 0 --nproc-per-node 2 --no-python ./facts
  ends 0 a b
  [[ $(cut -d ' ' -f 1,3 facts.*) == $'0 0\n1 0\n2 1\n3 1' ]]
  [[ $(sort -u where.*) == "127.0.0.1:$PORT X True" ]]
  rm facts.* where.*
  PORT=$(free_port)
  c10d c 2 --nproc-per-node 2 --no-python ./facts
  c10d d 2 --nproc-per-node 2 --no-python ./facts
  ends 0 c d
  [[ $(cut -d ' ' -f 1,3 facts.*) == $'0 0\n1 0\n2 1\n3 1' ]]
}

@test "PET_ variables are enough, as Kubernetes gives them" {
  facts_worker
  export PET_NNODES=2 PET_NPROC_PER_NODE=2 PET_MASTER_ADDR=127.0.0.1 PET_MASTER_PORT=$PORT
  PET_NODE_RANK=0 node a --no-python ./facts
  PET_NODE_RANK=1 node b --no-python ./facts
  ends 0 a b
  have 4 'facts.*'
}

@test "numbers of nodes that cannot be are refused; a spare of c10d has one beyond the last" {
  refused --nnodes 2 --node-rank 2 --master-port "$PORT" -- "the last is 1"
  refused --node-rank 1 -- "the last is 0"
  PET_NODE_RANK=5 refused --nnodes 2 --master-port "$PORT" -- "PET_NODE_RANK 5"
  script w <<'W'
: >"up.$TORCHELASTIC_RESTART_COUNT.$RANK"
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
exec toy polite
W
  c10d a 2 --node-rank 0 --max-restarts 1 --no-python ./w
  eventually 20 listens "$PORT"
  c10d b 2 --node-rank 1 --max-restarts 1 --no-python ./w
  eventually 60 have 2 'up.0.*'
  c10d c 2 --node-rank 2 --max-restarts 1 --no-python ./w
  eventually 60 grep -q 'as a spare' a.err
  kill -KILL "${PIDS[b]}"
  ends 0 a c
  have 2 'up.1.*'
  no_leftovers
}

@test "a launcher that is killed and started again is back in its place, however soon" {
  script w <<'W'
: >"up.$TORCHELASTIC_RESTART_COUNT.$RANK"
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
trap 'sleep 1; exit 1' TERM
while :; do sleep 0.1; done
W
  static a 0 2 --max-restarts 2 --no-python ./w
  eventually 20 listens "$PORT"
  static b 1 2 --max-restarts 2 --no-python ./w
  eventually 60 have 2 'up.0.*'
  kill -KILL "${PIDS[b]}"
  static c 1 2 --max-restarts 2 --no-python ./w
  ends 0 a c
  have 2 'up.1.*'
  no_leftovers
}

@test "MIN:MAX: one alone starts after the last call; with two, the other goes on alone" {
  script w <<'W'
echo "$WORLD_SIZE" >"up.$TORCHELASTIC_RESTART_COUNT.$RANK"
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
exec toy polite
W
  c10d one 1:2 --rdzv-conf last_call_timeout=1 --no-python sh -c 'echo "world $WORLD_SIZE" >alone'
  ends 0 one
  [[ $(<alone) == "world 1" ]]
  PORT=$(free_port)
  c10d a 1:2 --max-restarts 1 --rdzv-conf last_call_timeout=60 --no-python ./w
  eventually 20 listens "$PORT"
  c10d b 1:2 --max-restarts 1 --rdzv-conf last_call_timeout=60 --no-python ./w
  eventually 60 have 2 'up.0.*'
  kill -KILL "${PIDS[b]}"
  ends 0 a
  [[ $(cat up.0.*) == $'2\n2' && $(cat up.1.*) == 1 ]]
  no_leftovers
}

@test "one fails: all end with its status, under either backend" {
  local backend
  script w <<'W'
: >"up.$RANK"
until [ "$(ls up.* | wc -l)" = 2 ]; do sleep 0.05; done
[ "$RANK" = 1 ] && exit 7
exec toy polite
W
  for backend in static c10d; do
    rm -f up.*
    PORT=$(free_port)
    if [[ $backend == static ]]; then
      static a 0 2 --no-python ./w
      static b 1 2 --no-python ./w
    else
      c10d a 2 --no-python ./w
      c10d b 2 --no-python ./w
    fi
    ends 7 a b
    expect_in "$stderr" "rank 1"
  done
  no_leftovers
}

@test "a restart: the same ranks and world everywhere, and an empty store on the same port" {
  script w <<'W'
echo "$RANK $WORLD_SIZE $GROUP_RANK $MASTER_PORT" >"facts.$TORCHELASTIC_RESTART_COUNT.$RANK"
counter wait "$WORLD_SIZE" here >"sum.$TORCHELASTIC_RESTART_COUNT.$RANK" || exit 9
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
[ "$RANK" = 3 ] && exit 6
exec toy polite
W
  static a 0 2 --nproc-per-node 2 --max-restarts 1 --no-python ./w
  static b 1 2 --nproc-per-node 2 --max-restarts 1 --no-python ./w
  ends 0 a b
  [[ $(cat facts.0.*) == "$(cat facts.1.*)" ]]
  [[ $(sort sum.0.*) == $'here 1\nhere 2\nhere 3\nhere 4' ]]
  [[ $(sort sum.1.*) == "$(sort sum.0.*)" ]]
}

# A worker may turn the flag off and have rank 0 serve by itself, as torch does then.
@test "a worker that wants no store of the launcher's hosts its own" {
  cat >w.py <<'W'
import os, socket, time
rank = int(os.environ["RANK"])
assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"
if rank == 0:
    s = socket.socket()
    s.bind((os.environ["MASTER_ADDR"], 0))
    s.listen()
    with open("port.new", "w") as f:
        f.write(str(s.getsockname()[1]))
    os.rename("port.new", "port")
    c = s.accept()[0]
    assert c.recv(1) == b"x"
else:
    while not os.path.exists("port"):
        time.sleep(0.02)
    c = socket.create_connection((os.environ["MASTER_ADDR"], int(open("port").read())))
    c.sendall(b"x")
    c.recv(1)
W
  export PYTHON_EXEC=python3
  static a 0 2 w.py
  static b 1 2 w.py
  ends 0 a b
}

@test "is_host: 0 dials and never hosts, 1 hosts or says why not" {
  facts_worker
  c10d a 2 --rdzv-conf is_host=0 --no-python ./facts
  run listens "$PORT"
  [[ $status -ne 0 ]]
  c10d b 2 --rdzv-conf is_host=1 --no-python ./facts
  ends 0 a b
  # nobody hosts
  run_torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$PORT" --rdzv-conf is_host=0,join_timeout=1 \
    --no-python true
  expect_status 69
  expect_in "$stderr" "127.0.0.1:$PORT"
  # taken
  c10d c 2 --rdzv-conf is_host=1 --no-python ./facts
  eventually 20 listens "$PORT"
  run_torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$PORT" --rdzv-conf is_host=1 --no-python true
  expect_status 69
  expect_in "$stderr" "$PORT"
  kill -TERM "${PIDS[c]}"
  ended c
}

@test "--local-addr of the host of the rendezvous is what all workers are told" {
  facts_worker
  c10d a 2 --local-addr 127.0.0.7 --no-python ./facts
  eventually 20 listens "$PORT"
  c10d b 2 --no-python ./facts
  ends 0 a b
  [[ $(cut -d ' ' -f 1 where.* | sort -u) == "127.0.0.7:$PORT" ]]
  run_torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$PORT" --local-addr no-such-host.invalid \
    --rdzv-conf join_timeout=1 --no-python true
  expect_status 69
  expect_in "$stderr" "--local-addr"
}

@test "static: nobody at --master-addr, or nobody else: 69 after the timeout of --rdzv-conf" {
  run_torchrun --nnodes 2 --node-rank 0 --master-port "$PORT" --rdzv-conf timeout=1 --no-python sh -c ': >started'
  expect_status 69
  run_torchrun --nnodes 2 --node-rank 1 --master-addr 192.0.2.1 --master-port "$PORT" --rdzv-conf timeout=1 \
    --no-python sh -c ': >started'
  expect_status 69
  expect_in "$stderr" "192.0.2.1:$PORT"
  [[ ! -e started ]]
}

@test "two jobs with one endpoint and two ids do not mix" {
  facts_worker
  c10d a 2 --no-python ./facts
  eventually 20 listens "$PORT"
  run_torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$PORT" --rdzv-id Y --rdzv-conf join_timeout=2 \
    --no-python sh -c ': >started'
  [[ $status -eq 69 || $status -eq 77 ]]
  [[ ! -e started ]]
  c10d b 2 --no-python ./facts
  ends 0 a b
}

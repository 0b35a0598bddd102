#!/usr/bin/env bats
# What muster finds out about a worker that failed: its own words and the kernel's.

load helpers
load launcher

# A worker that leaves error.json behind, from standard input, and exits with a code.
leaves() { # exit code
  cat >json
  script w <<W
[ "\$RANK" = 1 ] && { cp json "\$TORCHELASTIC_ERROR_FILE"; exit $1; }
exec sleep 60
W
}

@test "a failing worker's exception and the place where it was raised" {
  leaves 3 <<'J'
{"message": {"message": "RuntimeError: boom", "extraInfo": {"py_callstack":
"Traceback (most recent call last):\n  File \"/home/me/train.py\", line 17, in main\n    step()\nRuntimeError: boom\n", "timestamp": "1"}}}
J
  tr -d '\n' <json >flat && mv flat json
  run_muster -n 2 ./w
  expect_status 3
  expect_in "$stderr" "rank 1 failed first: exit 3"
  expect_in "$stderr" "  RuntimeError: boom  train.py:17 in main (error.json)"
}

@test "a malformed error.json is called unreadable and changes nothing else" {
  leaves 4 <<<'{"message":'
  run_muster -n 2 ./w
  expect_status 4
  expect_in "$stderr" "error.json is unreadable: it is not JSON"
}

@test "an error.json that is a pipe does not hold muster up" {
  run_muster -n 1 sh -c 'mkfifo "$TORCHELASTIC_ERROR_FILE"; exit 5'
  expect_status 5
  expect_in "$stderr" "error.json is unreadable: it is not a regular file"
}

@test "what an earlier attempt has said is not said by the next" {
  run_muster -n 1 --max-restarts 1 sh -c '[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && echo "{\"message\": \"first\"}" >"$TORCHELASTIC_ERROR_FILE"; exit 6'
  expect_status 6
  expect_not_in "$stderr" "error.json"
}

@test "a victim's error.json is not the cause" {
  script w <<'W'
[ "$RANK" = 1 ] && { until [ -e up ]; do sleep 0.02; done; exit 3; }
trap 'echo "{\"message\": \"victim\"}" >"$TORCHELASTIC_ERROR_FILE"; exit 1' TERM
: >up
while :; do sleep 0.05; done
W
  TORCHELASTIC_ERROR_FILE=$PWD/outer.json run_muster -n 2 ./w
  expect_status 3
  expect_not_in "$stderr" "victim"
  [[ ! -e outer.json ]]
}

@test "an outer launcher finds the first failure in its own error file" {
  leaves 3 <<<'{"message": {"message": "RuntimeError: boom", "extraInfo": {}}}'
  TORCHELASTIC_ERROR_FILE=$PWD/outer.json run_muster -n 2 ./w
  expect_status 3
  [[ $(jq -c . outer.json 2>/dev/null || python3 -c 'import json; print(json.dumps(json.load(open("outer.json")), separators=(",", ":")))') \
    == '{"message":{"message":"RuntimeError: boom","extraInfo":{},"errorCode":3}}' ]]
}

@test "an attempt that goes well leaves nothing in an outer launcher's error file" {
  TORCHELASTIC_ERROR_FILE=$PWD/outer.json run_muster -n 1 --max-restarts 1 \
    sh -c '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || { echo "{\"message\": \"first\"}" >"$TORCHELASTIC_ERROR_FILE"; exit 6; }'
  expect_status 0
  [[ ! -e outer.json ]]
}

@test "what PyTorch's @record writes is understood" {
  /usr/bin/python3 -c 'import torch.distributed.elastic' 2>/dev/null || skip "no torch"
  cat >train.py <<'P'
from torch.distributed.elastic.multiprocessing.errors import record

def step():
    raise RuntimeError("boom")

@record
def main():
    step()

main()
P
  PYTHON=/usr/bin/python3 run_muster -n 1 train.py
  expect_status 1
  expect_in "$stderr" "  RuntimeError: boom  train.py:4 in step (error.json)"
}

@test "a SIGKILL from outside is not muster's" {
  run_muster -n 2 toy signal 1 9
  expect_status 137
  expect_in "$stderr" "rank 1 failed first: signal 9 (SIGKILL)"
  grep -q "muster did not send it\|out-of-memory\|memory limit" <<<"$stderr"
}

@test "a known line of the worker's stderr is explained below it" {
  run_muster -n 1 sh -c 'echo "NCCL WARN Duplicate GPU detected : rank 1" >&2; exit 1'
  expect_status 1
  expect_in "$stderr" "  Duplicate GPU detected: two ranks use the same GPU"$'\n'"    take the device from LOCAL_RANK"
  run_muster -n 1 sh -c 'echo "my own words" >&2; exit 139'
  expect_status 139
  expect_in "$stderr" "  exit 139: a shell says so when its child died of SIGSEGV"
}

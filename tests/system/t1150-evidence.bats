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
  expect_in "$stderr" "  Duplicate GPU detected: two ranks use the same GPU (muster explain gpu.duplicate)"$'\n'"    take the device from LOCAL_RANK"
  run_muster -n 1 sh -c 'echo "my own words" >&2; exit 139'
  expect_status 139
  expect_in "$stderr" "  exit 139: a shell says so when its child died of SIGSEGV"
}

json() { # file, expression over the value called r: true, or the test fails
  python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), (sys.argv[2], r)' "$1" "$2"
}
# A file of JSON Lines: a list of its objects.
jsonl() { # file, expression over the list called r
  python3 -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1])]
assert eval(sys.argv[2]), (sys.argv[2], r)' "$1" "$2"
}

@test "--report tells how the job ended" {
  run_muster -n 3 --rdzv-id my --report r.json sh -c '[ "$RANK" = 1 ] || exec sleep 60; echo "Duplicate GPU detected" >&2; exit 3'
  expect_status 3
  json r.json 'r["schema"] == "muster.report/1" and r["job"] == "my" and r["status"] == 3'
  json r.json '(r["verdict"]["kind"], r["verdict"]["rank"], r["verdict"]["end"]["code"]) == ("worker", 1, 3)'
  json r.json 'r["verdict"]["tail"] == "Duplicate GPU detected\n" and r["verdict"]["symptom"]["id"] == "gpu.duplicate"'
  json r.json '[x["was_stopped"] for x in r["ranks"]] == [True, False, True] and all(x["pid"] for x in r["ranks"])'
  json r.json '[x["end"]["signal"] for x in r["ranks"]] == ["SIGTERM", None, "SIGTERM"]'
  json r.json 'r["attempts"] == 1 and r["duration_ms"] >= r["verdict"]["after_ms"] >= 0'
  have 1 'r.json*'
}

@test "--report has the same keys whatever happens" {
  run_muster -n 1 --report good.json true
  expect_status 0
  run_muster -n 1 --report bad.json sh -c 'exit 1'
  expect_status 1
  run_muster --report early.json --bogus 1 x
  expect_status 2
  run_muster -n 1 --report missing.json ./missing
  expect_status 127
  json early.json 'r["verdict"]["kind"] == "error" and r["status"] == 2 and "--bogus" in r["verdict"]["message"] and r["ranks"] == []'
  json missing.json 'r["status"] == 127 and r["verdict"]["code"] == "NOT_FOUND"'
  json good.json 'r["verdict"]["kind"] == "ok" and r["verdict"]["rank"] is None'
  python3 - <<'P'
import json
files = [json.load(open(f"{n}.json")) for n in ("good", "bad", "early", "missing")]
assert len({tuple(f) for f in files}) == 1
assert len({tuple(f["verdict"]) for f in files}) == 1
P
}

@test "--report, --junit and muster-worker's --json replace files, and nothing else" {
  ln -s /proc/self/fd/1 stdout
  mkdir far
  ln -s far/j.xml link
  echo "said before" >out
  "$MUSTER" -n 1 --gpus none --report stdout --junit link sh -c 'echo words' >>out 2>/dev/null
  [[ -L stdout && -L link ]]
  grep -q "<testcase" far/j.xml
  [[ $(head -n 2 out) == $'said before\nwords' ]]
  tail -n +3 out | python3 -c 'import json, sys; assert json.load(sys.stdin)["status"] == 0'
  "$MUSTER" -n 1 --gpus none muster-worker --backend host --sizes 8 --json stdout >out 2>err
  [[ -L stdout ]]
  grep -q '"schema": *"muster.check/1"' out
}

@test "--report that cannot be written costs nothing" {
  run_muster -n 1 --report none/r.json touch started
  expect_status 2
  expect_in "$stderr" "--report: cannot write none/r.json"
  [[ ! -e started ]]
}

@test "a report of a job that a signal ended" {
  begin -n 2 --report r.json sh -c ': >"up.$RANK"; exec sleep 60'
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  json r.json '(r["verdict"]["kind"], r["verdict"]["signal"], r["status"]) == ("signal", "SIGTERM", 143)'
}

@test "--events tells what happens, a line each, in order" {
  run_muster -n 2 --max-restarts 1 --events ev.jsonl sh -c '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0; [ "$RANK" = 1 ] && exit 5; exec sleep 60'
  expect_status 0
  jsonl ev.jsonl 'all(x["v"] == 1 and x["unix_ms"] > 0 for x in r)'
  jsonl ev.jsonl '(r[0]["type"], r[-1]["type"], r[-1]["status"]) == ("job", "end", 0)'
  jsonl ev.jsonl '[x["world_size"] for x in r if x["type"] == "generation"] == [2, 2]'
  jsonl ev.jsonl 'sorted((x["generation"], x["rank"]) for x in r if x["type"] == "started") == [(0, 0), (0, 1), (1, 0), (1, 1)]'
  jsonl ev.jsonl 'sorted((x["generation"], x["rank"]) for x in r if x["type"] == "exited") == [(0, 0), (0, 1), (1, 0), (1, 1)]'
  jsonl ev.jsonl '[(x["kind"], x["rank"]) for x in r if x["type"] == "verdict"] == [("worker", 1), ("ok", None)]'
  jsonl ev.jsonl '[x["signal"] for x in r if x["type"] == "stop"] == ["SIGTERM"]'
}

@test "--events - writes to standard output" {
  run_muster -n 1 --events - true
  expect_status 0
  expect_in "$output" '"type":"end"'
  run_muster -n 1 --events none/ev.jsonl true
  expect_status 2
  expect_in "$stderr" "--events: cannot write none/ev.jsonl"
}

@test "--junit has a test case for each rank" {
  run_muster -n 3 --junit j.xml sh -c '[ "$RANK" = 1 ] || exec sleep 60; printf "a<b \\033[1m&\\n" >&2; exit 3'
  expect_status 3
  python3 - <<'P'
import xml.etree.ElementTree as tree
s = tree.parse("j.xml").getroot()
assert (s.tag, s.get("tests"), s.get("failures"), s.get("skipped")) == ("testsuite", "3", "1", "2"), s.attrib
failed = [c for c in s if c.find("failure") is not None]
assert [c.get("name") for c in failed] == ["rank 1"]
assert failed[0].find("failure").text == "a<b ?[1m&\n", failed[0].find("failure").text
P
  run_muster --junit early.xml --bogus x
  expect_status 2
  expect_in "$(<early.xml)" '<error message="--bogus: no such option'
}

@test "where a core went" {
  ulimit -c unlimited 2>/dev/null || skip "no cores here"
  run_muster -n 1 sh -c 'kill -SEGV $$'
  expect_status 139
  [[ $stderr == *"core dumped"* ]] || skip "no core was dumped"
  expect_in "$stderr" "kernel.core_pattern"
}

@test "a reader of --events that does not read holds up nothing" {
  mkfifo ev
  exec 7<>ev
  head -c 65536 /dev/zero >&7 # full: not one event fits
  run_muster -n 4 --events ev sh -c '[ "$RANK" = 1 ] && exit 5; exec sleep 60'
  exec 7>&-
  expect_status 5
  expect_in "$stderr" "nobody reads them"
  expect_in "$stderr" "rank 1 failed first"
}

@test "--events into a pipe that nobody has opened yet does not hold up the start" {
  mkfifo ev
  run_muster -n 1 --events ev true
  expect_status 0
}

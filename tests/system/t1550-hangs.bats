#!/usr/bin/env bats
# Workers that hang: who is noticed, what is shown before the end, and SIGQUIT. Only ranks that are meant to be
# late ever send a heartbeat, so that no test depends on how fast the machine is.

load helpers
load launcher

# A Python worker: `beat TEXT`, `spin()` and `wait()`; the three lines that docs/supervision.md shows.
python_worker() { # name; the rest of the program comes from standard input
  cat >"$1" <<'W'
import os, socket, sys, threading
sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sock.connect("\0" + os.environ["MUSTER_NOTIFY_SOCKET"][1:])
rank, lock = int(os.environ["RANK"]), threading.Lock()
def have(n, name): return sum(f.startswith(name) for f in os.listdir(".")) >= n
W
  cat >>"$1"
}

# A stack tool that knows each rank's stack: tool NAME WORDS-BEFORE-THE-PID, its text from standard input.
fake_tool() { # name
  mkdir -p fake
  {
    echo '#!/bin/sh'
    # shellcheck disable=SC2016
    echo 'for pid; do :; done; rank=$(tr "\0" "\n" <"/proc/$pid/environ" | sed -n "s/^RANK=//p")'
    cat
  } >"fake/$1"
  chmod +x "fake/$1"
}

@test "a rank whose heartbeat stops is named: shell" {
  script w <<'W'
[ "$RANK" = 2 ] && muster notify STEP=17 STATUS='as it should'
exec sleep 300
W
  run_muster -n 4 --heartbeat-timeout 300ms --stack-tool none ./w
  expect_status 124
  expect_in "$stderr" "rank 2 has sent no heartbeat for "
  expect_in "$stderr" "(--heartbeat-timeout; host "
  no_leftovers
}

@test "a rank whose heartbeat stops is named: C, and the others are in read()" {
  run_muster -n 4 --heartbeat-timeout 300ms --stack-tool none --report r.json beater 1
  expect_status 124
  expect_in "$stderr" "rank 1 has sent no heartbeat for "
  [[ $(python3 -c 'import json; j = json.load(open("r.json")); v = j["verdict"]; print(
    v["kind"], v["hang"], v["rank"], v["local_rank"], v["quiet_ms"] >= 300, j["ranks"][1]["step"],
    j["ranks"][1]["status"], j["ranks"][0]["step"])') == "hang heartbeat 1 1 True 17 as it should None" ]]
  no_leftovers
}

@test "a Python rank in a loop, the others behind a lock: the loop is named, with its line" {
  python_worker w.py <<'W'
def all_reduce():
    lock.acquire(); open(f"up.{rank}", "w").close(); lock.acquire()
def spin():
    while not have(3, "up."): pass
    sock.send(b"STEP=16")
    while True: pass
spin() if rank == 3 else all_reduce()
W
  run_muster -n 4 --heartbeat-timeout 300ms --stack-tool none --junit j.xml w.py
  expect_status 124
  expect_in "$stderr" "rank 3 has sent no heartbeat for "
  expect_in "$stderr" "rank 3 differs: ranks 0-2 are in all_reduce (w.py:7), rank 3 is in spin (w.py:"
  expect_in "$stderr" "last step 16"
  expect_in "$stderr" "Current thread 0x" # the whole stacks, from each rank's own mouth
  expect_in "$(<j.xml)" "rank 3 differs: "
  no_leftovers
}

@test "silence of all ranks ends the job" {
  run_muster -n 2 --silence-timeout 2s --stack-tool none --report r.json sh -c 'echo hello; exec sleep 300'
  expect_status 124
  expect_in "$output" "hello"
  expect_in "$stderr" "no rank has written anything for "
  expect_in "$stderr" "no rank differs: ranks 0, 1 are in "
  expect_in "$(<r.json)" '"hang": "silence"'
  no_leftovers
}

@test "a hang uses a restart that is left" {
  script w <<'W'
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
muster notify READY=1
exec sleep 300
W
  run_muster -n 1 --max-restarts 1 --heartbeat-timeout 300ms --stack-tool none ./w
  expect_status 0
  expect_in "$stderr" "starting again"
}

@test "the time limit shows what the ranks did, in a file of --log-dir, too" {
  run_muster -n 2 --timeout 1s --stack-tool none --log-dir logs --rdzv-id j --events e.jsonl sleep 300
  expect_status 124
  expect_in "$stderr" "the time limit of 1.000 s (--timeout) ended the job"
  expect_in "$stderr" "stacks: logs/j/0/stacks.txt"
  expect_in "$(<logs/j/0/stacks.txt)" "rank 1: pid "
  [[ $(grep -c '"type":"stack"' e.jsonl) -eq 2 ]]
  expect_in "$(grep '"type":"verdict"' e.jsonl)" '"stacks":"logs/j/0/stacks.txt"'
}

@test "a tool's stacks are compared; one that may not look gives way to the next" {
  fake_tool py-spy <<'W'
echo "Error: Permission Denied (os error 13)"
exit 1
W
  fake_tool eu-stack <<'W'
echo "PID $pid - process
TID $pid:
#0  0x0000000000000001 read"
[ "$rank" = 2 ] && echo '#1  0x0000000000000002 load_data' || echo '#1  0x0000000000000002 all_reduce'
W
  python_worker w.py <<'W'
open(f"up.{rank}", "w").close()
while not have(3, "up."): pass
import time
time.sleep(300)
W
  PATH="$PWD/fake:$PATH" begin -n 3 w.py
  eventually 30 have 3 'up.*'
  kill -QUIT "$PID"
  eventually 30 grep -q differs err
  kill -TERM "$PID"
  end_within 30
  expect_status 143
  expect_in "$stderr" "rank 2 differs: ranks 0, 1 are in read from all_reduce, rank 2 is in read from load_data"
  no_leftovers
}

@test "where py-spy can look, no Python rank is aborted" {
  fake_tool py-spy <<'W'
echo 'Thread 1 (idle): "MainThread"'
[ "$rank" = 0 ] && echo '    load (train.py:3)' || echo '    all_reduce (train.py:41)'
W
  python_worker w.py <<'W'
open(f"up.{rank}", "w").close()
while not have(3, "up."): pass
if rank == 0: sock.send(b"READY=1")
lock.acquire(); lock.acquire()
W
  PATH="$PWD/fake:$PATH" run_muster -n 3 --heartbeat-timeout 300ms w.py
  expect_status 124
  expect_in "$stderr" "rank 0 differs: ranks 1, 2 are in all_reduce (train.py:41), rank 0 is in load (train.py:3)"
  expect_not_in "$stderr" "Fatal Python error"
}

@test "a tool that hangs does not hold up the end" {
  fake_tool eu-stack <<'W'
exec sleep 300
W
  PATH="$PWD/fake:$PATH" run_muster -n 2 --timeout 300ms --stack-tool eu-stack sleep 300
  expect_status 124
  expect_in "$stderr" "no stack: the tool took too long"
  no_leftovers
}

@test "a look at a running job ends with the job" {
  fake_tool eu-stack <<'W'
: >"looking.$pid" # of the worker, or of the child that it waits for
exec sleep 300
W
  # A worker without children: who is waited for is looked at, and one that ends meanwhile has no rank to read.
  script w <<'W'
: >"up.$RANK"
read -r line <"stop.$RANK"
W
  mkfifo stop.0 stop.1
  PATH="$PWD/fake:$PATH" begin -n 2 --stack-tool eu-stack ./w
  eventually 20 have 2 'up.*'
  kill -QUIT "$PID"
  eventually 60 have 2 'looking.*'
  echo >stop.0
  echo >stop.1
  end_within 30
  expect_status 0
  no_leftovers
}

@test "SIGQUIT shows what the ranks do, and the job goes on" {
  script w <<'W'
muster notify STEP="$RANK" SECTION=+load
: >"up.$RANK"
until [ -e stop ]; do sleep 0.05; done
W
  begin -n 2 --stack-tool none ./w
  eventually 20 have 2 'up.*'
  kill -QUIT "$PID"
  eventually 20 grep -q 'rank 1: pid' err
  kill -QUIT "$PID"
  : >stop
  end_within 20
  expect_status 0
}

@test "--preempt-signal: a notice comes before SIGTERM" {
  script w <<'W'
trap ': >"saved.$RANK"' USR1
trap 'echo "$RANK got TERM"; exit 0' TERM
: >"up.$RANK"
until [ -e "saved.$RANK" ] && [ "$RANK" = 0 ]; do sleep 0.05; done
W
  begin -n 2 --preempt-signal USR1:3s ./w
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  end_within 30
  expect_status 143
  have 2 'saved.*'
  expect_in "$stderr" "workers get SIGUSR1 and up to 3 s before they are asked to end"
  expect_in "$output" "1 got TERM"
  expect_not_in "$output" "0 got TERM"
  no_leftovers
}

@test "a helper in a session of its own speaks for its rank" {
  cat >w.py <<'W'
import os, subprocess, sys
if os.environ["RANK"] == "1":
    subprocess.run([sys.executable, "-c", """
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(b"READY=1", "\\0" + os.environ["MUSTER_NOTIFY_SOCKET"][1:])
os.read(0, 1)
"""], stdin=os.pipe()[0], start_new_session=True, env={k: v for k, v in os.environ.items() if k != "RANK"})
os.read(os.pipe()[0], 1)
W
  run_muster -n 2 --heartbeat-timeout 300ms --stack-tool none w.py
  expect_status 124
  expect_in "$stderr" "rank 1 has sent no heartbeat for "
  no_leftovers
}

@test "a message that is not understood is told, once" {
  python_worker w.py <<'W'
sock.send(b"STEP=seventeen")
sock.send(b"STEP=eighteen")
sock.send(b"ANYTHING=else")
W
  run_muster -n 1 w.py
  expect_status 0
  expect_in "$stderr" "rank 0: 'STEP=seventeen' is not understood; as in HEARTBEAT=1"
  expect_not_in "$stderr" eighteen
}

@test "muster notify: what it says when it is wrong, and that it needs no muster" {
  unset MUSTER_NOTIFY_SOCKET
  run_muster notify STEP=1
  expect_status 0
  MUSTER_NOTIFY_SOCKET=@nobody run_muster notify STEP=x
  expect_status 2
  expect_in "$stderr" "'STEP=x' is not understood"
  MUSTER_NOTIFY_SOCKET=@nobody-at-all run_muster notify STEP=1
  expect_status 125
  run_muster notify
  expect_status 2
}

@test "wrong values of the options" {
  local words
  for words in "--preempt-signal KILL" "--preempt-signal USR1:never" "--stack-tool strace" \
    "--heartbeat-timeout soon" "--silence-timeout -1"; do
    # shellcheck disable=SC2086
    run_muster $words true
    expect_status 2
    expect_in "$stderr" "${words%% *}"
  done
}

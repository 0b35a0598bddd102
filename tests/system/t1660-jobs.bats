#!/usr/bin/env bats
# Other commands speak to running jobs: the control socket, ps, stop, stack, logs.

load helpers
load launcher

setup() {
  begin_test
  export MUSTER_RUNTIME_DIR=$BATS_TEST_TMPDIR/sockets
  SOCKETS=$MUSTER_RUNTIME_DIR
}

# A job of its own id whose workers wait: begin_job ID ARGS...
begin_job() {
  begin --rdzv-id "$1" -n 2 --gpus none "${@:2}" ./waiter
}
waiter() {
  script waiter <<'W'
echo "out of $RANK"; echo "err of $RANK" >&2
trap 'exit 0' TERM
: >"up.$TORCHELASTIC_RUN_ID.$RANK"
while :; do sleep 0.05; done
W
}
stop_job() { # id
  run_muster stop "$1"
  expect_status 0
  end_within 20
  expect_status 143
}
is_running() { # id
  "$MUSTER" ps | grep -q "^$1 .* 2/2 "
}

@test "without a job ps says so, and the others end with 2" {
  run_muster ps
  expect_status 0
  [[ $output == "no job of yours runs on this host" ]]
  run_muster ps --json
  [[ $output == '{"schema": "muster.ps/1", "jobs": []}' ]]
  local command
  for command in stop stack logs; do
    run_muster "$command"
    expect_status 2
    [[ $stderr == "muster: no job of yours runs on this host" ]]
  done
}

@test "ps shows a job, stop ends it as SIGTERM does, and its socket goes" {
  waiter
  begin_job demo
  eventually 20 is_running demo
  [[ $(stat -c %a "$SOCKETS") == 700 ]]
  [[ $(ls "$SOCKETS") == "demo.$PID" ]]
  run_muster ps
  expect_in "$output" "demo  $PID "
  expect_in "$output" " ./waiter"
  run_muster ps --json
  python3 - "$output" "$PID" <<'P'
import json, sys
job, = json.loads(sys.argv[1])["jobs"]
assert (job["id"], job["pid"], job["state"]) == ("demo", int(sys.argv[2]), "running"), job
assert [r["state"] for r in job["ranks"]] == ["running"] * 2 and job["running"] == job["total"] == 2, job
P
  eventually 20 have 2 'up.demo.*'
  stop_job demo
  expect_in "$stderr" "ended by signal 15 (SIGTERM)"
  [[ -z $(ls "$SOCKETS") ]]
  no_leftovers
}

@test "stop --kill does not wait for a worker that is deaf" {
  script waiter <<'W'
trap '' TERM
: >"up.$RANK"
while :; do sleep 0.05; done
W
  begin_job deaf --grace 1h
  eventually 20 have 2 'up.*'
  run_muster stop --kill deaf
  expect_status 0
  end_within 20
  expect_status 143
  no_leftovers
}

@test "of several jobs one has to be named, by id or pid" {
  waiter
  begin_job one
  local first=$PID
  eventually 20 is_running one
  begin_job two
  eventually 20 is_running two
  run_muster stop
  expect_status 2
  [[ $stderr == "muster: 2 jobs run; name one by its id or pid: one (pid $first), two (pid $PID)" ]]
  run_muster stop three
  expect_status 2
  expect_in "$stderr" "no job 'three' runs; there is one (pid $first), two (pid $PID)"
  eventually 20 have 4 'up.*'
  run_muster stop "$first"
  expect_status 0
  wait "$first" || [[ $? == 143 ]]
  stop_job two
  no_leftovers
}

@test "stack says what each rank is doing, and the job goes on" {
  waiter
  begin_job demo --log-dir logs
  eventually 20 have 2 'up.demo.*'
  run_muster stack
  expect_status 0
  expect_in "$output" "rank 0 (host "
  expect_in "$output" "rank 1 (host "
  expect_in "$output" "stacks in full: $PWD/logs/demo/0/stacks.txt"
  is_running demo
  stop_job demo
  no_leftovers
}

@test "logs shows the files of --log-dir, of some ranks, and follows them to the end" {
  waiter
  begin_job demo --log-dir logs
  eventually 20 have 2 'up.demo.*'
  eventually 20 have_words 4 # of two ranks, each on two streams
  run_muster logs
  expect_status 0
  [[ $output == $'[0] out of 0\n[1] out of 1' ]]
  [[ $stderr == $'[0] err of 0\n[1] err of 1' ]]
  run_muster logs --rank 1 demo
  [[ $output == "[1] out of 1" ]]
  run_muster logs --rank 0-2
  expect_status 2
  [[ $stderr == "muster: --rank: job demo has no rank 2; its ranks are 0 to 1" ]]
  timeout 60 "$MUSTER" logs -f >followed 2>/dev/null 3>&- &
  local follower=$!
  eventually 20 grep -q "out of 1" followed
  echo "said later" >>logs/demo/0/rank-0.out
  eventually 20 grep -qx "\[0\] said later" followed
  stop_job demo
  wait "$follower"
  no_leftovers
}

have_words() { # files that are not empty
  [[ $(find logs/demo/0 -name 'rank-*' -size +0 | wc -l) -eq $1 ]]
}

@test "a job without --log-dir says which option to give" {
  waiter
  begin_job demo
  eventually 20 is_running demo
  run_muster logs
  expect_status 2
  [[ $stderr == "muster: job demo keeps no files of its output; start it with --log-dir DIR" ]]
  eventually 20 have 2 'up.demo.*'
  stop_job demo
  no_leftovers
}

@test "the guard of a job that was killed removes its socket" {
  waiter
  mkdir -m 700 "$SOCKETS"
  MUSTER_RUNTIME_DIR=sockets begin_job demo # the guard's own folder is /
  eventually 20 have 2 'up.demo.*'
  kill -KILL "$PID"
  eventually 20 have 0 "$SOCKETS/*"
  end_within 20
  no_leftovers
}

@test "a socket that a killed job has left is not taken for a job, and stays" {
  waiter
  begin_job demo
  eventually 20 have 2 'up.demo.*'
  local guard
  guard=$(pgrep -P "$PID" -x job-guard)
  kill -KILL "$guard"
  eventually 20 has_ended "$guard"
  kill -KILL "$PID"
  end_within 20
  run_muster ps
  [[ $output == "no job of yours runs on this host" ]]
  [[ $(ls "$SOCKETS") == "demo.$PID" ]] # whose it was ps does not know
  no_leftovers
}

@test "commands remove nothing in the folder of the sockets, whatever is in it" {
  mkdir -m 700 "$SOCKETS"
  mkdir "$SOCKETS/sub.7"
  echo mine | tee "$SOCKETS/thesis.tex" "$SOCKETS/data.123" >"$SOCKETS/target"
  ln -s target "$SOCKETS/link.5"
  mkfifo "$SOCKETS/pipe.9"
  # nobody listens, as with one of another host that shares the folder
  python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$SOCKETS/far.1"
  local command others
  others=$(ls -A "$SOCKETS")
  for command in ps top logs stack stop; do
    run_muster "$command"
    [[ $output$stderr == *"no job of yours runs on this host" ]]
    [[ $(ls -A "$SOCKETS") == "$others" ]] || { ls -A "$SOCKETS"; false; }
  done
  waiter
  begin_job demo
  eventually 20 have 2 'up.demo.*'
  stop_job demo
  [[ $(ls -A "$SOCKETS") == "$others" ]]
  [[ $(cat "$SOCKETS"/{thesis.tex,data.123,link.5}) == $'mine\nmine\nmine' ]]
  no_leftovers
}

@test "a job that is looked for before it listens is found once it does" {
  mkdir -m 700 "$SOCKETS"
  mkfifo go
  python3 -c 'import signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
print(flush=True)
open("go").read()
s.listen()
print(flush=True)
signal.pause()' "$SOCKETS/slow.77" >listening 3>&- &
  local server=$!
  eventually 20 has_lines 1 '' listening
  run_muster ps
  [[ $output == "no job of yours runs on this host" ]]
  : >go
  eventually 20 has_lines 2 '' listening
  run_muster ps
  expect_in "$output" "slow  77   silent"
  kill "$server"
  wait "$server" || true
}

@test "a job takes the place of a dead one that had its process id, but of no file" {
  mkdir -m 700 "$SOCKETS"
  waiter
  script named <<'W'
case $1 in
file) echo mine >"$MUSTER_RUNTIME_DIR/demo.$$" ;;
socket) python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$MUSTER_RUNTIME_DIR/demo.$$" ;;
esac
exec muster -v --rdzv-id demo -n 2 --gpus none ./waiter
W
  local kind
  for kind in file socket; do
    rm -f up.*
    env --default-signal ./named "$kind" </dev/null >out 2>err 3>&- &
    PID=$!
    eventually 20 have 2 'up.demo.*'
    if [[ $kind == file ]]; then
      kill -TERM "$PID"
      end_within 20
      expect_status 143
      expect_in "$stderr" "will not see this job"
      [[ $(cat "$SOCKETS/demo.$PID") == mine ]]
    else
      eventually 20 is_running demo
      stop_job demo
      [[ ! -e $SOCKETS/demo.$PID ]]
    fi
  done
  no_leftovers
}

@test "a job that does not answer is shown as such" {
  mkdir -m 700 "$SOCKETS"
  python3 -c 'import signal, socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(flush=True); signal.pause()' \
    "$SOCKETS/still.77" >listening 3>&- &
  local server=$!
  eventually 20 test -s listening
  run_muster ps
  expect_status 0
  expect_in "$output" "still  77   silent"
  local command
  for command in stack "stop --kill"; do
    # shellcheck disable=SC2086 # a command and its option
    MUSTER_DEADLINE=30 run_muster $command still
    expect_status 125
    expect_in "$stderr" "job still (pid 77) does not answer; if it is suspended, kill -CONT 77 lets it go on"
  done
  python3 - "$SOCKETS/still.77" <<'P'
import socket, sys
full = []
try: # as after many commands that have waited there
    while True:
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        full.append(s)
        s.connect(sys.argv[1])
except BlockingIOError:
    pass
P
  run_muster ps
  expect_in "$output" "still  77   silent"
  kill "$server"
  wait "$server" || true
}

@test "all jobs are asked at the same time" {
  mkdir -m 700 "$SOCKETS"
  # each answers once all three have been asked
  python3 -c 'import os, socket, sys
listeners = []
for name in "a.1", "b.2", "c.3":
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(sys.argv[1], name))
    s.listen()
    listeners.append((name, s))
print(flush=True)
asked = []
for name, s in listeners:
    c, _ = s.accept()
    assert c.recv(100) == b"muster/1 status\n"
    asked.append((name, c))
for name, c in asked:
    job, pid = name.split(".")
    c.sendall(f"muster/1 ok\njob {job}\nprogram x\nstate running\npid {pid}\nend\n".encode())
' "$SOCKETS" >listening 3>&- &
  local server=$!
  eventually 20 test -s listening
  run_muster ps
  expect_status 0
  [[ $(grep -c " running " <<<"$output") == 3 ]] || { echo "$output"; kill "$server"; false; }
  wait "$server"
}

@test "callers that say nothing keep nobody else out" {
  waiter
  begin_job demo
  eventually 20 have 2 'up.demo.*'
  python3 -c 'import os, socket, sys
idle = [socket.socket(socket.AF_UNIX) for _ in range(40)]
for s in idle:
    s.connect(sys.argv[1])
open("crowd", "w").close()
for s in idle:
    s.settimeout(60)
    assert s.recv(1) == b""' "$SOCKETS/demo.$PID" 3>&- &
  local crowd=$!
  eventually 20 test -e crowd
  is_running demo
  run_muster stack
  expect_status 0
  run_muster top --once
  expect_status 0
  stop_job demo
  wait "$crowd"
  no_leftovers
}

@test "a folder that others may enter is used by nobody, and the job runs all the same" {
  mkdir -m 755 "$SOCKETS"
  run_muster ps
  expect_status 125
  [[ $stderr == "muster: $SOCKETS has mode 0755, not 0700" ]]
  run_muster -v -n 1 --gpus none true
  expect_status 0
  [[ -z $(ls "$SOCKETS") ]]
}

@test "jobs are found in XDG_RUNTIME_DIR and in /tmp" {
  unset MUSTER_RUNTIME_DIR
  mkdir run
  waiter
  XDG_RUNTIME_DIR=$PWD/run begin_job here
  eventually 20 test -S "run/muster/here.$PID"
  XDG_RUNTIME_DIR=$PWD/run run_muster stop "$PID"
  expect_status 0
  end_within 20
  expect_status 143
  XDG_RUNTIME_DIR=$PWD/none begin_job there
  eventually 20 test -S "/tmp/muster-$EUID/there.$PID"
  XDG_RUNTIME_DIR=$PWD/run run_muster stop "$PID"
  expect_status 0
  end_within 20
  expect_status 143
  [[ ! -e /tmp/muster-$EUID/there.$PID ]]
  no_leftovers
}

@test "another user's request is not served" {
  [[ $EUID == 0 ]] || skip "needs root, to become another user"
  waiter
  begin_job demo
  eventually 20 is_running demo
  chmod 755 "$SOCKETS"
  chmod 777 "$SOCKETS/demo.$PID"
  run python3 - "$SOCKETS/demo.$PID" <<'P'
import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1]))
s = socket.socket(socket.AF_UNIX)
os.setuid(65534)
s.connect(os.path.basename(sys.argv[1]))
try:
    s.sendall(b"muster/1 status\n")
    print("answer", s.recv(100))
except OSError:
    print("answer", b"")
P
  [[ $output == "answer b''" ]] || { echo "$output"; false; }
  chmod 700 "$SOCKETS"
  is_running demo
  eventually 20 have 2 'up.demo.*'
  stop_job demo
}

@test "what is no request is refused in words, and hurts nobody" {
  waiter
  begin_job demo
  eventually 20 is_running demo
  run python3 - "$SOCKETS/demo.$PID" <<'P'
import socket, sys
def ask(data):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(data)
    s.settimeout(30)
    text = b""
    try:
        while part := s.recv(1000):
            text += part
    except ConnectionResetError:
        pass
    return text
assert ask(b"muster/1 dance\n") == b"muster/1 error this muster does not know the request\nend\n"
assert ask(b"muster/9 status\n").startswith(b"muster/1 error the other side")
assert ask(b"x" * 128) == b""
idle = [socket.socket(socket.AF_UNIX) for _ in range(10)]
for s in idle:
    s.connect(sys.argv[1])
assert ask(b"muster/1 status\nmore\n").endswith(b"end\n")
P
  [[ $status == 0 ]] || { echo "$output"; false; }
  eventually 20 have 2 'up.demo.*'
  stop_job demo
  no_leftovers
}

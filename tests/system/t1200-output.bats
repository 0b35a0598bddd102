#!/usr/bin/env bats
# Workers' output: whole lines, no byte changed, two streams, whoever reads and however slowly.

load helpers
load launcher

@test "lines of several workers are whole and none is lost" {
  bounded "$MUSTER" -n 4 toy flood 3000 150 >out 2>err
  [[ $(grep -cE '^o [0-3] [0-9]+ x{150}$' out) -eq 12000 ]]
  [[ $(wc -l <out) -eq 12000 ]]
  [[ $(grep -cE '^e [0-3] [0-9]+ x{150}$' err) -eq 12000 ]]
  [[ $(wc -l <err) -eq 12000 ]]
}

@test "stdout and stderr into one pipe with a slow reader: lines are whole" {
  cat >slow.py <<'W'
import os, time
while True:
    data = os.read(0, 5000) # less than a line's rest, again and again
    if not data:
        break
    os.write(1, data)
    time.sleep(0.0003)
W
  bounded "$MUSTER" -n 4 toy flood 2000 150 2>&1 | python3 slow.py >both
  [[ $(wc -l <both) -eq 16000 ]]
  [[ $(grep -cE '^[oe] [0-3] [0-9]+ x{150}$' both) -eq 16000 ]]
}

@test "the lines of one worker keep their order" {
  bounded "$MUSTER" -n 2 toy flood 2000 20 2>/dev/null >out
  grep '^o 1 ' out | cut -d' ' -f3 >got
  seq 0 1999 | cmp - got
}

@test "a prefix stands before every line, once" {
  run_muster -n 2 --prefix '[{rank}/{local_rank}]' sh -c 'printf "one\ntwo\nthree"; echo; echo bad >&2'
  expect_status 0
  [[ $(sort <<<"$output") == $'[0/0]one\n[0/0]three\n[0/0]two\n[1/1]one\n[1/1]three\n[1/1]two' ]]
  [[ $(sort <<<"$stderr") == $'[0/0]bad\n[1/1]bad' ]]
}

@test "a prefix with the time; a name that is not known is refused with those that are" {
  run_muster -n 2 --prefix '{time} {rank}|' echo line
  [[ $(grep -cE '^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3} [01]\|line$' <<<"$output") -eq 2 ]]
  run_muster -n 2 --prefix '{rank} {job}' echo line
  expect_status 2
  expect_in "$stderr" "--prefix: '{job}' is not known; known are {rank}, {local_rank}, {host} and {time}"
}

@test "on a terminal the prefix has a colour for each rank, unless NO_COLOR is set or it is dumb" {
  : >keys
  run on_terminal keys "$MUSTER" -n 2 echo line
  expect_in "$output" $'\e[36m0: \e[0mline'
  expect_in "$output" $'\e[33m1: \e[0mline'
  NO_COLOR=1 run on_terminal keys "$MUSTER" -n 2 echo line
  expect_in "$output" "0: line"
  expect_not_in "$output" $'\e'
  TEST_TERM=dumb run on_terminal keys "$MUSTER" -n 2 echo line
  expect_in "$output" "0: line"
  expect_not_in "$output" $'\e'
}

@test "no prefix unless a person reads: nothing is added" {
  run_muster -n 2 echo same
  [[ $output == $'same\nsame' ]]
  run_muster -n 2 --prefix none echo same
  [[ $output == $'same\nsame' ]]
}

@test "a last line without newline comes out, and only a prefix ends it" {
  bounded "$MUSTER" -n 1 toy partial last >out
  printf last | cmp - out
  bounded "$MUSTER" -n 2 --prefix '{rank}:' toy partial last >out
  [[ $(sort out) == $'0:last\n1:last' ]]
  bounded "$MUSTER" -n 1 printf '\n\n' >out
  printf '\n\n' | cmp - out
}

@test "a progress bar's carriage returns pass at once and unchanged" {
  mkfifo gate
  script w <<'W'
printf '10%%\r20%%\r\r30%%\r'
printf 'end of it\r\n'
read -r line <gate
W
  begin -n 1 ./w
  printf '10%%\r20%%\r\r30%%\rend of it\r\n' >want
  eventually 20 cmp -s want out
  echo go >gate
  end_within 20
  expect_status 0
}

@test "a prompt without newline shows while the worker waits, and its line goes on" {
  mkfifo gate
  script w <<'W'
[ "$RANK" = 0 ] || exec sleep 60
printf '(Pdb) '
read -r line <gate
echo "$line"
exit 3
W
  begin -n 2 --prefix '{rank}:' ./w
  eventually 20 grep -q '^0:(Pdb) $' out
  echo next >gate
  end_within 20
  expect_status 3
  [[ $output == '0:(Pdb) next' ]]
}

@test "a prompt of a worker that is alone shows as it is" {
  mkfifo gate
  script w <<'W'
printf '(Pdb) '
read -r line <gate
printf 'end'
W
  begin -n 1 ./w
  eventually 20 grep -q '^(Pdb) $' out
  echo next >gate
  end_within 20
  printf '(Pdb) end' | cmp - out
}

@test "an unfinished line of several workers without prefix is never torn" {
  mkfifo gate
  script w <<'W'
[ "$RANK" = 0 ] || { until [ -e half ]; do sleep 0.05; done; sleep 0.3; echo other; echo go >gate; exit 0; }
printf 'first half, '
: >half
read -r line <gate
echo 'second half'
W
  run_muster -n 2 ./w
  [[ $(sort <<<"$output") == $'first half, second half\nother' ]]
}

@test "a line shows while the worker runs" {
  mkfifo gate
  script w <<'W'
echo first
read -r line <gate
echo second
W
  begin -n 1 ./w
  eventually 20 grep -q first out
  echo go >gate
  end_within 20
  [[ $output == $'first\nsecond' ]]
}

@test "bytes of every value pass unchanged" {
  cat >w.py <<'W'
import os
line = bytes(i for i in range(256) if i != 10) + b"\n"
for i in range(200):
    os.write(1, line)
os.write(1, b"\0\0\n\0")
W
  bounded "$MUSTER" -n 1 w.py >out
  python3 w.py >want
  cmp out want
}

@test "20 MB without a newline pass through little memory, prefixed once" {
  cat >w.py <<'W'
import os
for i in range(320):
    os.write(1, b"x" * 65536)
os.write(1, b"END\n")
status = open(f"/proc/{os.getppid()}/status").read()
open("peak", "w").write(status.split("VmHWM:")[1].split()[0])
W
  bounded "$MUSTER" -n 1 w.py >out
  [[ $(stat -c %s out) -eq $((320 * 65536 + 4)) ]]
  [[ $(tail -c 4 out) == END ]]
  bounded "$MUSTER" -n 1 --prefix 'rank {rank}: ' w.py >out
  [[ $(stat -c %s out) -eq $((320 * 65536 + 4 + 8)) ]]
  [[ -n $SANITIZED || $(<peak) -lt 100000 ]]
}

@test "what was written just before a crash comes out, and so does the end of stderr" {
  script w <<'W'
[ "$RANK" = 1 ] || exec sleep 60
seq -f 'crash log %.0f' 1 20000
seq -f 'crash err %.0f' 1 20000 >&2
kill -9 $$
W
  bounded "$MUSTER" -n 2 ./w >out 2>err || status=$?
  [[ $status -eq 137 ]]
  [[ $(grep -c '^crash log [0-9]*$' out) -eq 20000 ]]
  [[ $(grep -c '^crash err [0-9]*$' err) -eq 20000 ]]
  no_leftovers
}

@test "the reader that leaves ends the job" {
  script w <<'W'
: >"up.$RANK"
exec yes "line of $RANK"
W
  run bash -c '"$MUSTER" -n 3 ./w 2>err | head -n 1; echo "${PIPESTATUS[0]}"'
  expect_in "${lines[0]}" "line of"
  [[ ${lines[1]} == 141 ]]
  expect_in "$(<err)" "SIGPIPE"
  no_leftovers
}

@test "a stderr whose reader leaves is no reason to end" {
  run bash -c '"$MUSTER" -n 2 toy flood 2000 100 2> >(head -n 1 >/dev/null) >out'
  expect_status 0
  [[ $(wc -l <out) -eq 4000 ]]
}

@test "a slow reader gets everything, also when the workers are long gone and left something behind" {
  cat >w.py <<'W'
import os, subprocess
quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
subprocess.Popen(["sleep", "300"], **quiet)
for i in range(20000):
    os.write(1, b"y" * 99 + b"\n")
open("done", "w")
W
  cat >slow.py <<'W'
import os, sys, time
data, end = os.read(0, 1000), time.monotonic() + 4 # longer than muster gives to what was left behind
while time.monotonic() < end:
    time.sleep(0.1)
n = len(data)
while data:
    data = os.read(0, 65536)
    n += len(data)
print(n)
W
  run bash -c '"$MUSTER" -n 1 w.py | python3 slow.py; echo "${PIPESTATUS[0]}"'
  expect_in "$output" "2000000"
  [[ ${lines[-1]} == 0 ]]
  no_leftovers
}

@test "a reader that stalls holds the workers back: muster does not grow and still hears SIGTERM" {
  local stream
  for stream in 1 2; do
    mkfifo "pipe.$stream"
    exec 7<>"pipe.$stream"
    script w <<W
: >up.$stream
exec yes 0123456789012345678901234567890123456789012345678901234567890123456789 >&$stream
W
    if [[ $stream == 1 ]]; then
      env --default-signal "$MUSTER" -n 2 --grace 10m ./w </dev/null >pipe.1 2>err 3>&- 7>&- &
    else
      env --default-signal "$MUSTER" -n 2 --grace 10m ./w </dev/null >out 2>pipe.2 3>&- 7>&- &
    fi
    PID=$!
    eventually 20 test -e "up.$stream"
    eventually 20 all_writers_wait
    [[ -n $SANITIZED || $(sed -n 's/VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$PID/status") -lt 64000 ]]
    kill -TERM "$PID"
    eventually 60 has_ended "$PID"
    status=0
    wait "$PID" || status=$?
    [[ $status -eq 143 ]]
    exec 7>&-
    no_leftovers
  done
}
# Both workers sleep in write: nothing flows any more.
all_writers_wait() {
  local pid n=0
  for pid in $(leftovers); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == yes && $(cat "/proc/$pid/wchan" 2>/dev/null) == *pipe_w* ]] && n=$((n + 1))
  done
  [[ $n -eq 2 ]]
}

@test "a deaf worker behind a stalled stderr is killed all the same" {
  mkfifo pipe
  exec 7<>pipe
  script w <<'W'
trap '' TERM
: >up
while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789 >&2; done
W
  env --default-signal "$MUSTER" -n 1 --grace 100ms ./w </dev/null >out 2>pipe 3>&- 7>&- &
  PID=$!
  eventually 20 test -e up
  kill -TERM "$PID"
  eventually 60 has_ended "$PID"
  no_leftovers
  exec 7>&-
}

@test "output to a full disk ends the job with a message" {
  run bash -c '"$MUSTER" -n 2 sh -c "echo hi; exec sleep 60" 2>err >/dev/full'
  [[ $status -ne 0 ]]
  expect_in "$(<err)" "No space left on device"
  no_leftovers
}

@test "muster's own flags do not stick to a pipe that it shares" {
  run bash -c '("$MUSTER" -n 1 echo hi; python3 -c "
import fcntl, os, sys
sys.exit(fcntl.fcntl(1, fcntl.F_GETFL) & os.O_NONBLOCK)"; echo "after $?") | cat'
  expect_in "$output" "after 0"
}

@test "output to a socket works and its reader's leaving ends the job" {
  cat >socket_out.py <<'W'
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
p = subprocess.Popen([os.environ["MUSTER"], "-n", "2", "yes"], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
theirs.close()
n = 0
while n < 3000000:
    n += len(ours.recv(65536))
ours.close()
print(n >= 3000000, p.wait(60))
W
  run python3 socket_out.py
  [[ $output == "True 141" ]]
  no_leftovers
}

@test "standard input goes to rank 0, the others find it empty" {
  head -c 1000000 /dev/urandom >in
  script w <<'W'
cat >"in.$RANK"
W
  bounded "$MUSTER" -n 3 ./w <in
  cmp in in.0
  [[ ! -s in.1 && ! -s in.2 ]]
  cat in | bounded "$MUSTER" -n 2 ./w
  cmp in in.0
}

@test "standard input that nobody reads does not hold the job up" {
  mkfifo pipe
  exec 7<>pipe
  run bash -c 'exec "$MUSTER" -n 2 true <pipe 7>&-'
  expect_status 0
  exec 7>&-
}

@test "the log folder has a file per stream and attempt, beside the usual output" {
  script w <<'W'
echo "out $RANK"
echo "err $RANK" >&2
printf 'tail'
[ "$RANK" = 0 ] && exit 0
until grep -q tail logs/job/"$TORCHELASTIC_RESTART_COUNT"/rank-0.out; do sleep 0.05; done
exit 3
W
  run_muster -n 2 --log-dir logs --rdzv-id job --max-restarts 1 --prefix '{rank}:' ./w
  expect_status 3
  expect_in "$output" "0:out 0"
  local attempt rank
  for attempt in 0 1; do
    for rank in 0 1; do
      printf 'out %s\ntail' "$rank" | cmp - "logs/job/$attempt/rank-$rank.out"
      [[ $(<"logs/job/$attempt/rank-$rank.err") == "err $rank" ]]
    done
  done
}

@test "logs of an earlier job of the same name are kept" {
  run_muster -n 1 --log-dir deep/er/logs --rdzv-id job echo one
  run_muster -n 1 --log-dir deep/er/logs --rdzv-id job echo two
  [[ $(<deep/er/logs/job/0/rank-0.out) == one ]]
  [[ $(<deep/er/logs/job-2/0/rank-0.out) == two ]]
}

@test "a job id does not lead out of the log folder" {
  mkdir inner
  run_muster -n 1 --log-dir inner/logs --rdzv-id ../../out/side sh -c 'echo $TORCHELASTIC_RUN_ID'
  expect_status 0
  [[ $output == ../../out/side ]]
  [[ ! -e out ]]
  [[ $(find inner/logs -name rank-0.out | wc -l) -eq 1 ]]
}

@test "a log folder that cannot be made is named before anything starts" {
  : >plain
  run_muster -n 2 --log-dir plain/logs sh -c ': >"started.$RANK"'
  expect_status 2
  expect_in "$stderr" "plain"
  have 0 'started.*'
}

@test "a log file that cannot be written costs the log, not the job" {
  # the file size limit stands in for a full disk
  run bash -c 'ulimit -f 1; trap "" XFSZ; exec "$MUSTER" -n 1 --log-dir logs seq 100000 | tail -n 1; exit "${PIPESTATUS[0]}"'
  expect_status 0
  expect_in "$output" "100000"
}

@test "only some ranks are shown; files get all, and the report the end of any rank's stderr" {
  script w <<'W'
echo "out $RANK"
echo "err $RANK" >&2
[ "$RANK" = 2 ] || exec sleep 60
until [ -s logs/job/0/rank-0.err ] && [ -s logs/job/0/rank-1.err ]; do sleep 0.05; done
exit 3
W
  run_muster -n 3 --log-dir logs --rdzv-id job --only-ranks 0 ./w
  expect_status 3
  [[ $output == "out 0" ]]
  expect_in "$stderr" "err 0"
  expect_not_in "$stderr" "err 1"
  expect_in "$stderr" "err 2" # in the report
  [[ $(cat logs/job/0/rank-?.out) == $'out 0\nout 1\nout 2' ]]
}

@test "a flood that is not shown holds nothing up and takes no memory" {
  bounded "$MUSTER" -n 2 --only-ranks 7 toy flood 20000 200 >out 2>err
  [[ ! -s out && ! -s err ]]
}

@test "--redirects writes to files only, --tee to both, by local rank" {
  script w <<'W'
echo "out $RANK"
echo "err $RANK" >&2
W
  run_muster -n 3 --log-dir logs --rdzv-id job -r 0:3,1:1 -t 2:2 ./w
  expect_status 0
  [[ $output == "out 2" ]]
  [[ $(sort <<<"$stderr") == $'err 1\nerr 2' ]]
  [[ $(cd logs/job/0 && ls) == $'rank-0.err\nrank-0.out\nrank-1.out\nrank-2.err' ]]
  [[ $(<logs/job/0/rank-0.err) == "err 0" && $(<logs/job/0/rank-2.err) == "err 2" ]]
  run_muster -n 1 -r 3 ./w
  expect_status 2
  expect_in "$stderr" "--log-dir"
}

@test "standard input goes to the rank that --stdin names, or to none" {
  script w <<'W'
cat >"in.$RANK"
W
  echo text | bounded "$MUSTER" -n 3 --stdin 2 ./w
  [[ ! -s in.0 && ! -s in.1 && $(<in.2) == text ]]
  echo text | bounded "$MUSTER" -n 2 --stdin none ./w
  [[ ! -s in.0 && ! -s in.1 ]]
  run_muster -n 2 --stdin 2 ./w
  expect_status 2
  expect_in "$stderr" "--stdin: there is no rank 2; the last one is 1"
  run_muster plan -n 2 --stdin 2 --gpus none ./w
  expect_status 2
}

@test "--log-size bounds the files and keeps the end, line by line" {
  bounded "$MUSTER" -n 1 --log-dir logs --rdzv-id job --log-size 64K seq 100000 >out
  cd logs/job/0
  [[ $(ls) == $'rank-0.err\nrank-0.out\nrank-0.out.1' ]]
  [[ $(stat -c %s rank-0.out) -le 65536 && $(stat -c %s rank-0.out.1) -le 65536 ]]
  cat rank-0.out.1 rank-0.out >both
  [[ $(wc -l <both) -gt 8000 ]]
  seq "$(head -n 1 both)" 100000 | cmp - both
}

@test "--dedupe shows a line of several ranks once, and loses none" {
  run_muster -n 5 --dedupe sh -c 'echo "warning: the same"; echo "rank $RANK"; echo "bad" >&2'
  expect_status 0
  local n=0 line
  while read -r line; do
    case $line in
    "warning: the same") n=$((n + 1)) ;;
    x[2-5]": warning: the same") n=$((n + ${line:1:1})) ;;
    esac
  done <<<"$output"
  [[ $n -eq 5 ]]
  [[ $(grep -c '^rank [0-4]$' <<<"$output") -eq 5 ]]
  bounded "$MUSTER" -n 4 --dedupe toy flood 3000 150 >out 2>/dev/null
  [[ $(grep -cE '^o [0-3] [0-9]+ x{150}$' out) -eq 12000 ]]
}

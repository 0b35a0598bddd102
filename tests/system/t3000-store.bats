#!/usr/bin/env bats
# muster store: a store without a job.

load helpers
load launcher
load lab

# A store in the background: AT is its address.
begin_store() { # options
  begin store "$@"
  eventually 20 test -s out
  AT=$(<out)
  export MASTER_ADDR=${AT%:*} MASTER_PORT=${AT##*:}
}
end_store() { # signal
  kill "-$1" "$PID"
  end_within 20
  expect_status 0
}
answers() { (exec 9<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
lines_are() { [[ $(wc -l <err) -eq $1 ]]; }

@test "one line with the address; clients come and go, keys stay; SIGTERM ends it with 0" {
  begin_store
  [[ $AT =~ ^127\.0\.0\.1:[0-9]+$ && $(wc -l <out) -eq 1 ]]
  [[ $(counter a) == "a 1" ]]
  [[ $(counter a) == "a 2" ]]
  counter wait 3 b >b1 3>&- &
  local first=$!
  counter wait 3 b >b2 3>&- &
  local second=$!
  counter wait 3 b >b3
  wait "$first" "$second"
  [[ $(sort b1 b2 b3) == $'b 1\nb 2\nb 3' ]]
  end_store TERM
  [[ -z $stderr ]]
  run answers "$MASTER_PORT"
  [[ $status -ne 0 ]]
}


# Whose a connection is can be asked only while its other end lives, so a client that closes has to have had an answer.
@test "what a client sets that closes at once is there: the examples' Store" {
  begin_store
  cat >many.py <<'END'
import os, sys
sys.path.insert(0, sys.argv[1])
from launcher_store import Store

at = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
for i in range(300):
    store = Store(*at)
    store.set(f"key{i}", b"%d" % i)
    store.socket.close()
reader = Store(*at, timeout=20)
print(sum(int(reader.get(f"key{i}")) for i in range(300)))
END
  run python3 many.py "$SOURCE/examples/jax"
  [[ $output == 44850 ]]
  end_store TERM
  [[ -z $stderr ]]
}

@test "SIGINT ends it with 0, also while a client waits" {
  begin_store
  counter wait 2 k >waiting 2>lost 3>&- &
  local client=$!
  eventually 20 grep -q 'k 1' waiting
  end_store INT
  status=0
  wait "$client" || status=$?
  [[ $status -ne 0 ]]
}

@test "--print-port, --host and --port" {
  local port
  port=$(free_port)
  begin_store --host localhost --port "$port" --print-port
  [[ $AT == "$port" ]]
  MASTER_ADDR=127.0.0.1 counter a
  # twice the same port cannot be
  run_muster store --port "$port"
  expect_status 69
  expect_in "$stderr" "$port"
  [[ ${#stderr_lines[@]} -eq 1 && -z $output ]]
  end_store TERM
}

@test "--ready-fd: the address goes there, and the descriptor is closed" {
  mkfifo ready
  "$MUSTER" store --ready-fd 7 >out 2>err 7>ready 3>&- &
  PID=$!
  # ends only when every writer has closed it
  AT=$(timeout 60 cat ready)
  [[ $AT =~ ^127\.0\.0\.1:[0-9]+$ && ! -s out ]]
  MASTER_ADDR=127.0.0.1 MASTER_PORT=${AT#*:} counter a
  end_store TERM
}

@test "every address of the machine" {
  begin_store --host all --print-port
  MASTER_ADDR=127.0.0.1 MASTER_PORT=$AT counter a
  end_store TERM
}

@test "bad input is one line and status 2" {
  local words
  for words in "--prt 3" "program" "--port 70000" "--port" "--port=x" "--host localhost:80" "--ready-fd 77" \
    "--ready-fd x" "-x" "--help=1" "--print-port=1" "--store-open=perhaps"; do
    # shellcheck disable=SC2086 # words of options
    run_muster store $words
    expect_status 2
    [[ ${#stderr_lines[@]} -eq 1 && -z $output ]] || { echo "$words: $output $stderr"; return 1; }
  done
  run_muster store --prt 3
  expect_in "$stderr" "the nearest is --port"
  run_muster store train.py
  expect_in "$stderr" "starts no program"
  run_muster store --host no-such-host.invalid
  expect_status 69
  run_muster store --host 192.0.2.1
  expect_status 69
  run bash -c '"$MUSTER" store >/dev/full'
  expect_status 125
  run_muster store --help
  expect_status 0
  expect_in "$output" "--ready-fd N"
}

@test "who speaks something else is told of in one line, and clients are served all the same" {
  begin_store
  local i
  for i in 1 2 3; do
    (exec 9<>"/dev/tcp/127.0.0.1/$MASTER_PORT" && printf 'GET / HTTP/1.1\r\n\r\n' >&9 && cat <&9) || true
  done
  [[ $(counter a) == "a 1" ]]
  eventually 20 lines_are 1
  expect_in "$(<err)" "127.0.0.1"
  end_store TERM
}

@test "another user of this machine is turned away, unless --store-open" {
  [[ $(id -u) -eq 0 ]] || skip "needs root, to be somebody else"
  command -v setpriv >/dev/null || skip "needs setpriv"
  install -m 755 "$BIN/counter" . # also where the build is nobody else's to read
  chmod a+rx . .. ../.. 2>/dev/null || true
  setpriv --reuid 65534 --clear-groups "$PWD/counter" 2>/dev/null || (($? == 2)) || skip "the folder is closed to others"
  begin_store
  setpriv --reuid 65534 --clear-groups "$PWD/counter" a >turned_away 2>&1 3>&- & # tries for 20 s
  local client=$!
  eventually 20 grep -q "user 65534" err
  kill -KILL "$client"
  wait "$client" || true
  [[ ! -s turned_away ]]
  end_store TERM
  rm out
  begin_store --store-open
  run setpriv --reuid 65534 --clear-groups "$PWD/counter" a
  expect_status 0
  end_store TERM
}

@test "PyTorch 1.13: values, counters and waits between processes" {
  /usr/bin/python3 -c 'import torch.distributed as d; d.TCPStore' 2>/dev/null || skip "/usr/bin/python3 has no torch"
  begin_store
  cat >client.py <<'P'
import datetime, os, sys
import torch.distributed as dist
rank = int(sys.argv[1])
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), 2, False,
                      timeout=datetime.timedelta(seconds=60), wait_for_workers=False)
store.set(f"from{rank}", f"hello of {rank}")
store.wait([f"from{1 - rank}"])
print(store.get(f"from{1 - rank}").decode())
store.add("n", 5)
store.add("left", 1)
while store.add("left", 0) < 2:
    pass
print(store.add("n", 0))
P
  /usr/bin/python3 client.py 0 >out0 3>&- &
  local first=$!
  /usr/bin/python3 client.py 1 >out1
  wait "$first"
  [[ $(<out0) == $'hello of 1\n10' && $(<out1) == $'hello of 0\n10' ]]
  end_store TERM
}

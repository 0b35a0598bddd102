#!/usr/bin/env bash
# muster under valgrind with real workers: no invalid access, nothing definitely lost, the right status.
# valgrind.sh MUSTER PIDFD_LEND PIDFD_PRELOAD; without valgrind 77 (skipped).
set -u
muster=$1 lend=$2 preload=$3
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

check() { # status, arguments of muster
  local wanted=$1 status=0
  shift
  timeout --signal=KILL 100 "$lend" "$preload" valgrind --quiet --trace-children=no --child-silent-after-fork=yes \
    --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=99 \
    --log-file=log.%p "$muster" "$@" >out 2>err </dev/null || status=$?
  compgen -G "log.*" >list || { echo "valgrind left no log: muster $*"; exit 1; }
  # What valgrind cannot do is not the program's fault: calls that it does not know, which then fail by ENOSYS.
  cat log.* | sed 's/^==[0-9]*== //; s/^--[0-9]*-- //' | grep -vE \
    '^(WARNING: unhandled|You may be able to write|Read the file README|Nevertheless we consider|it at http)' | grep . && {
    echo "valgrind has something to say about: muster $*"
    exit 1
  }
  rm -f log.*
  [[ $status -eq $wanted ]] && return
  echo "status $status, expected $wanted: muster $*"
  cat err
  exit 1
}

check 0 -n 3 --gpus none sh -c 'echo out; echo err >&2'
check 7 -n 3 --gpus none --log-dir logs --report r.json --junit j.xml --events e.jsonl sh -c '[ "$RANK" = 1 ] && exit 7; exec sleep 100'
check 137 -n 3 --gpus none --max-restarts 1 --restart-delay 1ms --wrap env sh -c '[ "$RANK" = 2 ] && kill -9 $$; exec sleep 100'
check 0 -n 3 --gpus none --stdin all --dedupe --prefix '{rank} {time}: ' sh -c 'cat; echo same'
check 2 -n 2 --gpus none --wrap "a 'b" true
check 127 -n 2 --gpus none ./missing
check 124 -n 2 --gpus none --timeout 300ms sh -c 'exec sleep 100'
check 0 plan -n 2 --gpus none --wrap 'env A=%r' sh x
echo "8 runs: no errors, nothing lost"

#!/usr/bin/env bash
# A guard against code that grows slow: how many instructions some work takes, counted by callgrind, beside the counts of counts.txt.
# Counts, not times, so that a busy machine does not matter; they hold for one compiler only, and elsewhere the test is skipped (77).
#
#   counts.sh BIN LEND PRELOAD BUILT_BY [--update]     the built programs; pidfd_lend and its library; compiler, version, build type
#
# Too many (counts.txt says how much is allowed) is a failure. If the work is worth it, and after it has become less:
#   tests/bench/counts.sh build/dev/bin build/dev/bin/pidfd_lend build/dev/tests/libpidfd_preload.so "GNU 12.2.0 RelWithDebInfo" --update
set -euo pipefail

bin=$(realpath "$1") lend=$(realpath "$2") preload=$(realpath "$3") built_by=$4 update=${5:-}
here=$(cd "$(dirname "$0")" && pwd)
table=$here/counts.txt

skip() { echo "skipped: $*"; exit 77; }
wanted=$(sed -n 's/^# built by //p' "$table")
place="$built_by, $(. /etc/os-release && echo "$ID $VERSION_ID"), $(uname -m)"
[[ $place == "$wanted" ]] || skip "the counts are those of $wanted, and this is $place"
command -v valgrind >/dev/null || skip "valgrind is not installed"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
line=$(printf '%079d' 0)
for ((i = 0; i < 20000; i++)); do echo "$line"; done >lines
for ((i = 0; i < 40000; i++)); do echo 0123456; done >short_lines
tr '\n' '\r' <short_lines >progress

count() { # NAME [CALLGRIND OPTIONS --] COMMAND...: "NAME COUNT", of the command's own process
  local name=$1 options=()
  shift
  while [[ $1 != -- ]]; do options+=("$1"); shift; done
  shift
  # The same environment and a folder of its own everywhere: both are part of the work.
  env -i PATH=/usr/bin:/bin HOME=/ XDG_RUNTIME_DIR="$scratch" "$lend" "$preload" valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file=log \
    --trace-children=no "${options[@]}" "$@" >out 2>err </dev/null || { cat log err; echo "$*: failed"; exit 1; }
  echo "$name $(sed -n 's/.*Collected : //p' log)"
}

{
  # Thrice: on a busy machine a start may look at its workers more often.
  for _ in 1 2 3; do count launch-8 -- "$bin/muster" -n 8 --gpus none /usr/bin/true; done
  count store-10000 --toggle-collect=serve_all -- "$bin/count_store" 10000
  count output-20000 -- "$bin/muster" -n 1 --gpus none --prefix '[{rank}] ' cat lines
  count output-short -- "$bin/muster" -n 1 --gpus none --prefix '[{rank}] ' cat short_lines
  count output-progress -- "$bin/muster" -n 1 --gpus none --prefix '[{rank}] ' cat progress
  count output-dedupe -- "$bin/muster" -n 1 --gpus none --dedupe cat short_lines
} | sort -k1,1 -k2,2n | awk '!seen[$1]++' >counts

if [[ $update == --update ]]; then
  awk 'NR == FNR { now[$1] = $2; next } /^#/ || !($1 in now) { print; next } { printf "%s %s %s\n", $1, now[$1], $3 }' counts "$table" >new
  cp new "$table"
  cat "$table"
  exit 0
fi
awk 'NR == FNR { if ($1 != "#") { was[$1] = $2; allowed[$1] = $3 } next }
  { change = ($2 - was[$1]) / was[$1] * 100
    printf "%-15s %10d, was %10d: %+.1f %% (allowed %d %%)\n", $1, $2, was[$1], change, allowed[$1]
    if (!($1 in was) || change > allowed[$1]) bad = 1
    if (change < -allowed[$1]) print "  less than ever: --update keeps it so" }
  END { if (bad) print "More instructions than allowed: see the head of tests/bench/counts.sh."; exit bad || FNR != 6 }' "$table" counts

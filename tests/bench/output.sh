#!/usr/bin/env bash
# What passing on the workers' output costs: N ranks write lines of 80 bytes as fast as they are read, through
# muster, through `mpirun --tag-output`, and through one `cat` from one pipe that all share (the floor: it keeps
# no line whole). The reader counts bytes and does nothing else. Rounds are interleaved; medians; ratios to the
# floor. Prints a table in Markdown.
#
#   output.sh [-m MIB] [-r ROUNDS] [-b BIN] [N...]     64 MiB in all, 5 rounds, BIN = build/release/bin, N = 4 64
set -euo pipefail

mib=64 rounds=5 bin=
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/bench/lib.bash"
while getopts m:r:b: option; do
  case $option in
  m) mib=$OPTARG ;;
  r) rounds=$OPTARG ;;
  b) bin=$OPTARG ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[[ $# -gt 0 ]] || set -- 4 64
bin=${bin:-$root/build/release/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Every rank writes its share of one file of lines, by blocks, as a program with a buffer does.
line=$(printf '%079d' 0)
share() { # ranks: bytes of each, whole lines
  echo $((mib * 1024 * 1024 / $1 / 80 * 80))
}

through() { # name ranks: the command that brings all bytes to standard output
  local worker=(cat "$scratch/lines.$2")
  case $1 in
  cat) { for ((i = 0; i < $2; i++)); do "${worker[@]}" & done; wait; } | cat ;;
  muster) "$bin/muster" -n "$2" --gpus none "${worker[@]}" ;;
  "muster, prefixes") "$bin/muster" -n "$2" --gpus none --prefix '[{rank}] ' "${worker[@]}" ;;
  "mpirun --tag-output") mpirun.openmpi --allow-run-as-root --oversubscribe --tag-output -n "$2" "${worker[@]}" ;;
  esac </dev/null
}

one() { # name ranks: appends the time in microseconds
  local start bytes
  start=${EPOCHREALTIME/[.,]/}
  bytes=$(through "$1" "$2" 2>"$scratch/stderr" | wc -c)
  echo $((${EPOCHREALTIME/[.,]/} - start)) >>"$scratch/$1.$2"
  if ((bytes < $2 * $(share "$2"))); then
    cat "$scratch/stderr" >&2
    echo "output.sh: '$1' with $2 ranks lost output: $bytes bytes of $(($2 * $(share "$2")))" >&2
    exit 1
  fi
}

names=(cat)
if [[ -x $bin/muster ]]; then names+=(muster "muster, prefixes"); else echo "output.sh: no $bin/muster" >&2; fi
if command -v mpirun.openmpi >/dev/null; then names+=("mpirun --tag-output"); fi

echo "$mib MiB of lines of 80 bytes: medians of $rounds interleaved rounds, $(nproc) cores, $(uname -sr)."
echo
echo "| ranks | through | MiB/s | time / cat's |"
echo "|---|---|---|---|"
for n; do
  # head ends first, and `yes` by SIGPIPE: that is meant.
  { yes "$line" || true; } | head -c "$(share "$n")" >"$scratch/lines.$n"
  for ((round = 0; round < rounds; round++)); do
    for name in "${names[@]}"; do one "$name" "$n"; done
  done
  floor=$(median "$scratch/cat.$n")
  for name in "${names[@]}"; do
    awk -v n="$n" -v name="$name" -v t="$(median "$scratch/$name.$n")" -v f="$floor" -v mib="$mib" \
      'BEGIN {printf "| %d | %s | %.0f | %.2f |\n", n, name, mib / t * 1e6, t / f}'
  done
done

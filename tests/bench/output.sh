#!/usr/bin/env bash
# What passing on the workers' output costs: N ranks write lines as fast as they are read, through muster, through
# `mpirun --tag-output`, and through one `cat` from one pipe that all share (the floor: it keeps no line whole). The
# reader counts bytes and does nothing else. Rounds are interleaved; medians [least-most]. Prints a table in Markdown.
#
#   output.sh [-m MIB] [-r ROUNDS] [-b BIN] [-l BYTES,...] [N...]
#     64 MiB in all, 5 rounds, BIN = build/release/bin, lines of 8,80,1000 bytes with their newline, N = 4 64
#
# MiB/s is of what the ranks wrote, not of the prefixes. CPU: of all processes, the ranks and the reader too.
set -euo pipefail

mib=64 rounds=5 bin='' lengths=8,80,1000
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/bench/lib.bash
. "$root/tests/bench/lib.bash"
while getopts m:r:b:l: option; do
  case $option in
  m) mib=$OPTARG ;;
  r) rounds=$OPTARG ;;
  b) bin=$OPTARG ;;
  l) lengths=$OPTARG ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[[ $# -gt 0 ]] || set -- 4 64
bin=${bin:-$root/build/release/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

share() { # ranks bytes-of-a-line: bytes of each rank, whole lines
  echo $((mib * 1024 * 1024 / $1 / $2 * $2))
}

through() { # name ranks: the command that brings all bytes to standard output
  local worker=(cat "$scratch/lines")
  case $1 in
  cat) { for ((i = 0; i < $2; i++)); do "${worker[@]}" & done; wait; } | cat ;;
  muster) "$bin/muster" -n "$2" --gpus none "${worker[@]}" ;;
  "muster, prefixes") "$bin/muster" -n "$2" --gpus none --prefix '[{rank}] ' "${worker[@]}" ;;
  "mpirun --tag-output") "$mpirun" --allow-run-as-root --oversubscribe --tag-output -n "$2" "${worker[@]}" ;;
  esac </dev/null
}

one() { # name ranks length: appends the time and the CPU time in seconds
  local bytes TIMEFORMAT='%R %U %S'
  { time through "$1" "$2" 2>"$scratch/stderr" | wc -c >"$scratch/bytes"; } 2>"$scratch/time"
  bytes=$(cat "$scratch/bytes")
  awk '{print $1}' "$scratch/time" >>"$scratch/$1.$2.$3.wall"
  awk '{print $2 + $3}' "$scratch/time" >>"$scratch/$1.$2.$3.cpu"
  if ((bytes < $2 * $(share "$2" "$3"))); then
    cat "$scratch/stderr" >&2
    echo "output.sh: '$1' with $2 ranks lost output: $bytes bytes of $(($2 * $(share "$2" "$3")))" >&2
    exit 1
  fi
}

mpirun=$(find_mpirun)
names=(cat)
if [[ -x $bin/muster ]]; then names+=(muster "muster, prefixes"); else echo "output.sh: no $bin/muster" >&2; fi
if [[ -n $mpirun ]]; then
  names+=("mpirun --tag-output")
else
  echo "output.sh: no Open MPI" >&2
fi

echo "$mib MiB: medians of $rounds interleaved rounds, $(nproc) cores, $(uname -sr)."
echo
echo "| ranks | bytes a line | through | MiB/s [least-most] | speed / cat's | CPU s a GB |"
echo "|---|---|---|---|---|---|"
for n; do
  for length in ${lengths//,/ }; do
    line=$(printf "%0$((length - 1))d" 0)
    # head ends first, and `yes` by SIGPIPE: that is meant.
    { yes "$line" || true; } | head -c "$(share "$n" "$length")" >"$scratch/lines"
    for ((round = 0; round < rounds; round++)); do
      for name in "${names[@]}"; do one "$name" "$n" "$length"; done
    done
    floor=$(median "$scratch/cat.$n.$length.wall")
    for name in "${names[@]}"; do
      file=$scratch/$name.$n.$length
      awk -v mib="$mib" '{print mib / $1}' "$file.wall" >"$file.rate"
      gb=$(awk -v m="$mib" -v c="$(median "$file.cpu")" 'BEGIN {printf "%.2f", c / (m * 1048576 / 1e9)}')
      echo "| $n | $length | $name | $(spread "$file.rate" 0) | $(ratio "$floor" "$(median "$file.wall")") | $gb |"
    done
    if [[ -s $scratch/muster,\ prefixes.$n.$length.wall ]]; then
      mine=$(median "$scratch/muster, prefixes.$n.$length.wall")
      aim "output with prefixes, $n ranks, lines of $length bytes: speed / cat's" "$(ratio "$floor" "$mine")" 0.5 at-least
      if [[ -s "$scratch/mpirun --tag-output.$n.$length.wall" ]]; then
        aim "the same / that of mpirun --tag-output" "$(ratio "$(median "$scratch/mpirun --tag-output.$n.$length.wall")" "$mine" 1)" 5 at-least
      fi
    fi
  done
done

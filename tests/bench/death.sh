#!/usr/bin/env bash
# How long a group lives on after one of its workers has died by SIGKILL: until the last other worker is dead, and
# until the launcher has ended. The workers obey SIGTERM. muster beside each other launcher that is found; runs
# are interleaved, so that a busy moment hits all; medians. Prints a table in Markdown.
#
#   death.sh [-n N] [-r ROUNDS] [-b BIN]     N = 8, ROUNDS = 15, BIN = build/release/bin
#
#   TORCHRUN    torchrun to compare with; else that of the environment made by tests/interop/setup_torch.sh
set -euo pipefail

n=8 rounds=15 bin=
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/bench/lib.bash
. "$root/tests/bench/lib.bash"
while getopts n:r:b: option; do
  case $option in
  n) n=$OPTARG ;;
  r) rounds=$OPTARG ;;
  b) bin=$OPTARG ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
bin=${bin:-$root/build/release/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
death=$bin/death
if [[ ! -x $death ]]; then # a release build without tests does not have it
  death=$scratch/death
  "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -o "$death" "$root/tests/bench/death.c"
fi

# name -> command line up to the program; `order` keeps the rows' order
declare -A command=()
order=()
add() {
  order+=("$1")
  command[$1]="${*:2}"
}
torchrun=$(find_torchrun)
if [[ -x $bin/muster ]]; then add muster "$bin/muster -n $n"; else echo "death.sh: no $bin/muster" >&2; fi
if command -v mpiexec.hydra >/dev/null; then add hydra "mpiexec.hydra -n $n"; fi
mpirun=$(find_mpirun)
if [[ -n $mpirun ]]; then
  add "mpirun (Open MPI)" "$mpirun --allow-run-as-root --oversubscribe -n $n"
fi
if [[ -n $torchrun ]]; then add torchrun "$torchrun --nproc-per-node $n --no-python"; fi

one() { # name
  local last launcher
  # Word splitting is meant: a command line without blanks in its words.
  # shellcheck disable=SC2086
  read -r last launcher < <("$death" --measure "$n" "$scratch/shared" ${command[$1]} "$death" --worker "$scratch/shared" \
    2>"$scratch/stderr" | tail -n 1)
  if [[ -z ${launcher:-} ]]; then
    cat "$scratch/stderr" >&2
    exit 1
  fi
  echo "$last" >>"$scratch/$1.last"
  echo "$launcher" >>"$scratch/$1.launcher"
}

for ((round = 0; round < rounds; round++)); do
  for name in "${order[@]}"; do
    # torchrun takes seconds: every fifth round is enough.
    if [[ $name == torchrun ]] && ((round % 5)); then continue; fi
    one "$name"
  done
done

echo "One of $n workers dies: medians [spread] of $rounds interleaved rounds, $(nproc) cores, $(uname -sr)."
echo
echo "| launcher | until the last other worker is dead, ms | until the launcher has ended, ms |"
echo "|---|---|---|"
for name in "${order[@]}"; do
  echo "| $name | $(spread "$scratch/$name.last" 1 1000) | $(spread "$scratch/$name.launcher" 1 1000) |"
  if [[ $name == muster ]]; then
    aim "$n processes: ms from a worker's death to the launcher's end" "$(ratio "$(median "$scratch/$name.launcher")" 1000 1)" 10
  fi
done

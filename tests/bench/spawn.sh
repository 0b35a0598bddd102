#!/usr/bin/env bash
# What starting a group of N processes that do nothing costs: muster beside a program that only spawns and
# waits (the floor) and beside each other launcher that is found. Runs are interleaved, so that a busy
# moment hits all; medians. Prints a table in Markdown.
#
#   spawn.sh [-n N] [-r ROUNDS] [-b BIN] [-o PEER]     N = 8, ROUNDS = 21, BIN = build/release/bin, all peers
#
#   TORCHRUN    torchrun to compare with; else that of the environment made by tests/interop/setup_torch.sh
set -euo pipefail

n=8 rounds=21 bin='' peer=''
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/bench/lib.bash
. "$root/tests/bench/lib.bash"
while getopts n:r:b:o: option; do
  case $option in
  n) n=$OPTARG ;;
  r) rounds=$OPTARG ;;
  b) bin=$OPTARG ;;
  o) peer=$OPTARG ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
bin=${bin:-$root/build/release/bin}
floor=$bin/spawn_floor
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

note() { echo "spawn.sh: $*" >&2; }

build_floor() { # a release build without tests does not have it
  [[ -x $floor ]] && return
  floor=$scratch/spawn_floor
  "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -o "$floor" "$root/tests/bench/spawn_floor.c"
}

# name -> command line; `order` keeps the rows' order
declare -A command=()
order=()
add() {
  [[ -z $peer || $1 == "$peer" || $1 == floor || $1 == muster ]] || return 0
  order+=("$1")
  command[$1]="${*:2}"
}

add_launchers() {
  local torchrun true_path mpirun
  true_path=$(type -P true)
  add floor "$floor $n $true_path"
  if [[ -x $bin/muster ]]; then add muster "$bin/muster -n $n $true_path"; else note "no $bin/muster"; fi
  if command -v mpiexec.hydra >/dev/null; then add hydra "mpiexec.hydra -n $n $true_path"; fi
  mpirun=$(find_mpirun)
  if [[ -n $mpirun ]]; then
    add "mpirun (Open MPI)" "$mpirun --allow-run-as-root --oversubscribe -n $n $true_path"
  fi
  if command -v srun >/dev/null && timeout 10 srun --overcommit -n "$n" "$true_path" 2>/dev/null; then
    add srun "srun --overcommit -n $n $true_path"
  fi
  torchrun=$(find_torchrun)
  if [[ -n $torchrun ]]; then
    add torchrun "$torchrun --nproc-per-node $n --no-python $true_path"
  else
    note "no torchrun; tests/interop/setup_torch.sh installs one"
  fi
}

# one NAME MODE: appends a measurement; a command that failed ends the comparison, for its time means nothing
one() {
  local name=$1 mode=$2 wall cpu kib status
  # Word splitting is meant: a command line without blanks in its words.
  # shellcheck disable=SC2086
  read -r wall cpu kib status < <("$floor" "$mode" ${command[$name]} 2>"$scratch/stderr" | tail -n 1)
  if [[ ${status:-1} != 0 ]]; then
    cat "$scratch/stderr" >&2
    note "'${command[$name]}' failed with status ${status:-none}"
    exit 1
  fi
  if [[ $mode == --memory ]]; then
    echo "$kib" >>"$scratch/$name.kib"
  else
    echo "$wall" >>"$scratch/$name.wall"
    echo "$cpu" >>"$scratch/$name.cpu"
  fi
}

measure_all() {
  local round name
  for name in "${order[@]}"; do one "$name" --memory; done # warms the caches too
  for ((round = 0; round < rounds; round++)); do
    for name in "${order[@]}"; do
      # torchrun takes seconds: every seventh round is enough.
      if [[ $name == torchrun ]] && ((round % 7)); then continue; fi
      one "$name" --measure
    done
  done
}

print_table() {
  local name wall cpu kib wall0 cpu0
  wall0=$(median "$scratch/floor.wall") cpu0=$(median "$scratch/floor.cpu")
  echo "Starting $n processes that do nothing: medians of $rounds interleaved rounds, $(nproc) cores, $(uname -sr)."
  echo
  echo "| launcher | wall ms [least-most] | x floor | CPU ms | x floor | launcher's peak memory MiB |"
  echo "|---|---|---|---|---|---|"
  for name in "${order[@]}"; do
    wall=$(median "$scratch/$name.wall") cpu=$(median "$scratch/$name.cpu") kib=$(sort -n "$scratch/$name.kib" | tail -n 1)
    echo "| $name | $(spread "$scratch/$name.wall" 1 1000) | $(ratio "$wall" "$wall0") | $(ratio "$cpu" 1000 1) | $(ratio "$cpu" "$cpu0") |" \
      "$(ratio "$kib" 1024 1) |"
    [[ $name == muster && $n -ge 8 ]] || continue
    aim "$n processes: time / the floor's" "$(ratio "$wall" "$wall0")" 1.2
    aim "$n processes: the launcher's peak memory, KiB" "$kib" $((6 * 1024 + 8 * n))
  done
}

build_floor
add_launchers
measure_all
print_table

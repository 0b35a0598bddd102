#!/usr/bin/env bash
# From one command to a group over NODES nodes of N workers each that do nothing, and its end; all nodes are this machine,
# started through a stand-in for ssh: muster beside Open MPI's mpirun with the same stand-in, and beside torchrun's c10d
# rendezvous, of which one agent a node is started (at most 4: each is a Python). Interleaved runs, medians, in Markdown.
#
#   form.sh [-n N] [-r ROUNDS] [-b BIN] [NODES...]     N = 8, ROUNDS = 7, BIN = build/release/bin, NODES = 2 16 64
#
#   TORCHRUN    torchrun to compare with; else that of the environment made by tests/interop/setup_torch.sh
set -euo pipefail

n=8 rounds=7 bin=
root=$(cd "$(dirname "$0")/../.." && pwd)
while getopts n:r:b: option; do
  case $option in
  n) n=$OPTARG ;;
  r) rounds=$OPTARG ;;
  b) bin=$OPTARG ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
bin=${bin:-$root/build/release/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/rsh" <<'STANDIN'
#!/bin/sh
while :; do case $1 in -o | -p | -l | -i | -F) shift 2 ;; -*) shift ;; *) break ;; esac; done
shift
exec sh -c "$*"
STANDIN
chmod +x "$scratch/rsh"

torchrun=${TORCHRUN:-}
for one in "${XDG_CACHE_HOME:-$HOME/.cache}"/muster/torch/*/bin/torchrun; do
  [[ -z $torchrun && -x $one ]] && torchrun=$one
done

hosts() { # NODES SLOTS-TEXT
  local list
  list=$(seq -f "node%g$2" -s , "$1")
  echo "$list"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

run_muster() { timeout 120 "$bin/muster" --ssh "$scratch/rsh" --hosts "$(hosts "$1" ":$n")" true; }

run_mpirun() {
  timeout 120 mpirun.openmpi --allow-run-as-root --mca plm_rsh_agent "$scratch/rsh" --mca oob_tcp_if_include lo \
    --mca plm_rsh_no_tree_spawn 1 --host "$(hosts "$1" ":$n")" -n $(($1 * n)) true
}

run_torchrun() {
  local port i pids=()
  port=$(free_port)
  for ((i = 0; i < $1; i++)); do
    timeout 120 "$torchrun" --nnodes "$1" --nproc-per-node "$n" --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$port" \
      --no-python true &
    pids+=($!)
  done
  wait "${pids[@]}"
}

# one NAME NODES: appends the milliseconds of a run that ended with 0
one() {
  local begin=${EPOCHREALTIME/./}
  if "run_$1" "$2" >"$scratch/log" 2>&1; then
    echo $(((${EPOCHREALTIME/./} - begin) / 1000)) >>"$scratch/$1-$2"
  else
    echo "form.sh: $1, $2 nodes: status $?: $(tail -n 1 "$scratch/log")" >&2
  fi
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%d [%d-%d]", v[int((NR + 1) / 2)], v[1], v[NR] }'; }
middle() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

sizes=("$@")
[[ ${#sizes[@]} -gt 0 ]] || sizes=(2 16 64)
echo "Forming and ending a group of $n workers a node: ms, medians of $rounds interleaved rounds [least-most], $(nproc) cores."
echo
echo "| nodes | workers | muster | mpirun (Open MPI) | torchrun, c10d | mpirun / muster | torchrun / muster |"
echo "|---|---|---|---|---|---|---|"
for nodes in "${sizes[@]}"; do
  names=(muster)
  if command -v mpirun.openmpi >/dev/null; then names+=(mpirun); fi
  if [[ -n $torchrun ]] && ((nodes <= 4)); then names+=(torchrun); fi
  for ((round = 0; round < rounds; round++)); do
    for name in "${names[@]}"; do one "$name" "$nodes"; done
  done
  cells=() ratios=()
  for name in muster mpirun torchrun; do
    if [[ -s $scratch/$name-$nodes ]]; then
      cells+=("$(median "$scratch/$name-$nodes")")
      ratios+=("$(awk -v a="$(middle "$scratch/$name-$nodes")" -v b="$(middle "$scratch/muster-$nodes")" 'BEGIN { printf "%.1f", a / b }')")
    else
      cells+=("-") ratios+=("-")
    fi
  done
  echo "| $nodes | $((nodes * n)) | ${cells[0]} | ${cells[1]} | ${cells[2]} | ${ratios[1]} | ${ratios[2]} |"
done

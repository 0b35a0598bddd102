#!/usr/bin/env bash
# From one command to a group over NODES nodes of N workers each that do nothing, and its end; all nodes are this machine,
# started through a stand-in for ssh: muster beside Open MPI's mpirun with the same stand-in, and beside torchrun's c10d
# rendezvous, of which one agent a node is started (at most 4: each is a Python). Interleaved runs, medians, in Markdown.
#
#   form.sh [-n N] [-r ROUNDS] [-b BIN] [NODES...]     N = 8, ROUNDS = 7, BIN = build/release/bin, NODES = 2 4 16 64
#
# mpirun looks up the name of every host and waits for an answer, so the names stand in an /etc/hosts of a mount
# namespace, which takes root. Runs that do not end within 30 s, or not with 0, are counted and not measured.
#
#   TORCHRUN    torchrun to compare with; else that of the environment made by tests/interop/setup_torch.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/bench/lib.bash"
limit_s=30

if [[ ${FORM_HAS_NAMES-} != yes && $(id -u) -eq 0 ]]; then
  # Addresses that are nobody's (RFC 5737): a host with an address of this machine would not be started by ssh.
  exec env FORM_HAS_NAMES=yes unshare --mount bash -c '
    mount --make-rprivate / && mount -t tmpfs form /mnt &&
      { cat /etc/hosts; for i in {1..250}; do echo "192.0.2.$i node$i"; done; } >/mnt/hosts &&
      mount --bind /mnt/hosts /etc/hosts && exec bash "$0" "$@"' "$0" "$@"
fi

n=8 rounds=7 bin=
while getopts n:r:b: option; do
  case $option in
  n) n=$OPTARG ;;
  r) rounds=$OPTARG ;;
  b) bin=$OPTARG ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
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
torchrun=$(find_torchrun)

hosts() { seq -f "node%g:$n" -s , "$1"; } # NODES

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

run_muster() { timeout $limit_s "$bin/muster" --ssh "$scratch/rsh" --hosts "$(hosts "$1")" true; }

# As many logins at a time as muster has: with the default of 128 it rarely ends at 64 nodes. hwloc's search for X servers
# is left out: a node of a cluster has none.
run_mpirun() {
  HWLOC_COMPONENTS=-gl timeout $limit_s mpirun.openmpi --allow-run-as-root --mca plm_rsh_agent "$scratch/rsh" \
    --mca oob_tcp_if_include lo --mca plm_rsh_no_tree_spawn 1 --mca plm_rsh_num_concurrent 32 \
    --host "$(hosts "$1")" -n $(($1 * n)) true
}

run_torchrun() {
  local port i pids=()
  port=$(free_port)
  for ((i = 0; i < $1; i++)); do
    timeout $limit_s "$torchrun" --nnodes "$1" --nproc-per-node "$n" --rdzv-backend c10d \
      --rdzv-endpoint "127.0.0.1:$port" --no-python true &
    pids+=($!)
  done
  wait "${pids[@]}"
}

# one NAME NODES: appends the milliseconds of a run that ended with 0; others are counted
one() {
  local begin=${EPOCHREALTIME/./} status=0
  "run_$1" "$2" >"$scratch/log" 2>&1 || status=$?
  if ((status == 0)); then
    echo $(((${EPOCHREALTIME/./} - begin) / 1000)) >>"$scratch/$1-$2"
  else
    echo "form.sh: $1, $2 nodes: status $status: $(tail -n 1 "$scratch/log")" >&2
    echo "$status" >>"$scratch/$1-$2.failed"
  fi
}

cell() { # NAME NODES
  local failed=0
  [[ ! -e $scratch/$1-$2.failed ]] || failed=$(wc -l <"$scratch/$1-$2.failed")
  if [[ -s $scratch/$1-$2 ]]; then spread "$scratch/$1-$2" 0; else echo -n -; fi
  ((failed == 0)) || echo -n ", $failed failed"
}
ratio() { # NAME NODES
  [[ -s $scratch/$1-$2 && -s $scratch/muster-$2 ]] || { echo -; return; }
  awk -v a="$(median "$scratch/$1-$2")" -v b="$(median "$scratch/muster-$2")" 'BEGIN { printf "%.1f", a / b }'
}

sizes=("$@")
[[ ${#sizes[@]} -gt 0 ]] || sizes=(2 4 16 64)
echo "Forming and ending a group of $n workers a node: ms, medians of $rounds interleaved rounds [least-most], $(nproc) cores."
echo
echo "| nodes | workers | muster | mpirun (Open MPI) | torchrun, c10d | mpirun / muster | torchrun / muster |"
echo "|---|---|---|---|---|---|---|"
for nodes in "${sizes[@]}"; do
  names=(muster)
  if [[ ${FORM_HAS_NAMES-} == yes ]] && command -v mpirun.openmpi >/dev/null; then names+=(mpirun); fi
  if [[ -n $torchrun ]] && ((nodes <= 4)); then names+=(torchrun); fi
  for ((round = 0; round < rounds; round++)); do
    for name in "${names[@]}"; do one "$name" "$nodes"; done
  done
  echo "| $nodes | $((nodes * n)) | $(cell muster "$nodes") | $(cell mpirun "$nodes") | $(cell torchrun "$nodes") |" \
    "$(ratio mpirun "$nodes") | $(ratio torchrun "$nodes") |"
done

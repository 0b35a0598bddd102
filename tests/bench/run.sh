#!/usr/bin/env bash
# The whole of docs/benchmarks.md's launcher and store: where muster stands against each peer that is found here and against
# the floor, and whether each figure is where it should be. One document in Markdown on standard output; minutes.
#
#   run.sh [-b BIN] [-q] [-o PART,...]     BIN = build/release/bin; PARTS = spawn,output,death,store,form
#
#   -q          quick: few rounds and small sizes, to see that it runs
#   TORCHRUN, TORCH_PYTHON    where PyTorch is; else the environment made by tests/interop/setup_torch.sh, or PATH
#
# BIN holds muster, spawn_floor, death, store_serve, store_floor, store_load and store_crowd; nothing is built where all are there, so a
# folder of static binaries may be carried to another machine with this one. Everything runs under a real-time priority where that is
# allowed, so that other work on the machine does not count.
set -euo pipefail

bin='' parts=spawn,output,death,store,form is_quick=
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/bench
while getopts b:qo: option; do
  case $option in
  b) bin=$OPTARG ;;
  q) is_quick=yes ;;
  o) parts=$OPTARG ;;
  *) sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
bin=$(cd "${bin:-$root/build/release/bin}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export BENCH_SUMMARY=$scratch/summary
export MUSTER_GPUS=none # the workers do nothing, and there may be more than GPUs
: >"$BENCH_SUMMARY"

if [[ ! -x $bin/muster ]]; then
  echo "run.sh: no $bin/muster" >&2
  exit 2
fi
# An absolute path: of several torchruns the first one is meant.
if [[ -z ${TORCHRUN:-} ]] && ! compgen -G "${XDG_CACHE_HOME:-$HOME/.cache}/muster/torch/*/bin/torchrun" >/dev/null; then
  TORCHRUN=$(command -v torchrun || :)
  if [[ -n $TORCHRUN ]]; then export TORCHRUN; fi
fi

priority=()
if chrt -r 40 true 2>/dev/null; then priority=(chrt -r 40); fi

peers() {
  local name found='' missing=''
  for name in mpirun:"Open MPI's mpirun" mpiexec.hydra:Hydra srun:srun redis-benchmark:redis; do
    if command -v "${name%%:*}" >/dev/null; then found+="${found:+, }${name#*:}"; else missing+="${missing:+, }${name#*:}"; fi
  done
  if [[ -n ${TORCHRUN:-} ]] || compgen -G "${XDG_CACHE_HOME:-$HOME/.cache}/muster/torch/*/bin/torchrun" >/dev/null; then
    found+="${found:+, }torchrun"
  else
    missing+="${missing:+, }torchrun"
  fi
  echo "Peers: ${found:-none}. Not here: ${missing:-none}."
}

# A part that fails leaves its line and the others go on.
part() { # TITLE COMMAND...
  echo
  echo "### $1"
  "${priority[@]}" "${@:2}" 2>"$scratch/stderr" || echo "**Failed:** $(tail -n 1 "$scratch/stderr")"
  sed 's/^/run.sh: /' "$scratch/stderr" >&2
}

wants() { [[ ,$parts, == *,$1,* ]]; }
pick() { if [[ -n $is_quick ]]; then echo "$1"; else echo "$2"; fi; } # QUICK FULL

echo "$(nproc) cores, $(uname -srm), load $(cut -d ' ' -f 1-3 /proc/loadavg) at the beginning;" \
  "$([[ ${#priority[@]} -gt 0 ]] && echo "under a real-time priority" || echo "no real-time priority is allowed here"). $(peers)"

if wants spawn; then
  for n in 1 8 64 512; do
    [[ -z $is_quick || $n -lt 64 ]] || continue
    rounds=$((n < 64 ? 21 : n < 512 ? 7 : 3))
    part "Starting $n processes" "$here/spawn.sh" -n "$n" -r "$(pick 3 $rounds)" -b "$bin"
  done
fi
# Where no Slurm runs, one of the tests' own, a daemon of a node that knows of one job step at a time; under the same priority.
slurm=$root/tests/lab/slurmlab.sh
if wants spawn && command -v slurmctld >/dev/null && ! timeout 10 sinfo >/dev/null 2>&1 \
  && "${priority[@]}" "$slurm" "$scratch/slurm" up --nodes 1 --owner $$ >"$scratch/stderr" 2>&1; then
  for n in $(pick 8 "8 64"); do
    part "Starting $n processes, beside srun" env BENCH_SUMMARY= "$slurm" "$scratch/slurm" exec "${priority[@]}" \
      "$here/spawn.sh" -n "$n" -r "$(pick 1 7)" -b "$bin" -o srun
  done
  "$slurm" "$scratch/slurm" down
fi
if wants output; then
  part "Output" "$here/output.sh" -m "$(pick 4 64)" -r "$(pick 1 5)" -b "$bin" 4 64
fi
if wants death; then
  for n in $(pick 4 "4 8 64"); do
    part "The death of a worker, of $n" "$here/death.sh" -n "$n" -r "$(pick 3 15)" -b "$bin"
  done
fi
if wants store; then
  part "Store" "$here/store.sh" -s "$(pick 0.02 0.05)" -r "$(pick 1 8)" -t 160 -c "$(pick 1,64 1,8,64,1000,10000)" \
    -k "$(pick 64 64,1024,8192)" -b "$bin"
fi
if wants form; then
  # Shell positions: all of the pick's words.
  # shellcheck disable=SC2046
  part "Forming a group over many nodes" "$here/form.sh" -r "$(pick 1 3)" -b "$bin" $(pick 2 "2 16 64")
fi

echo
echo "### Where each figure should be"
echo "| figure | aim | measured | there |"
echo "|---|---|---|---|"
cat "$BENCH_SUMMARY"
echo
echo "Load at the end: $(cut -d ' ' -f 1-3 /proc/loadavg)."

#!/usr/bin/env bash
# muster-worker beside nccl-tests on the GPUs of this machine, one process per GPU: order A B B A, medians of
# busbw (or of time with -s) and spread. The first round warms up and is not counted.
#
#   allreduce.sh [-s] [-r ROUNDS] ALL_REDUCE_PERF      the MPI=1 build; ROUNDS = 3; -s: small sizes, times in us
#
# Both load the same libnccl.so.2, found through LD_LIBRARY_PATH. MPIRUN replaces "mpirun --bind-to none".
set -euo pipefail

rounds=3 sizes=64M,256M,1G,8G small=
while getopts sr: option; do
  case $option in
  s) small=1 sizes=8,32,128,512,2K,8K,32K ;;
  r) rounds=$OPTARG ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
perf=${1:?all_reduce_perf of nccl-tests, built with MPI=1}
ngpus=$(nvidia-smi -L | wc -l)
iters=$([[ $small ]] && echo 200 || echo 20)
read -r -a mpirun <<<"${MPIRUN:-mpirun --bind-to none}"
[[ $(id -u) == 0 ]] && mpirun+=(--allow-run-as-root)
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# One size a run for both: the largest of a run says how far apart the operations of all sizes are in memory.
a() { # columns: size, then time or busbw, out of place and in place
  local size
  for size in ${sizes//,/ }; do
    muster run muster-worker --sizes "$size" -c 0 -n "$iters"
  done | awk -v r="$1" -v o="$([[ $small ]] && echo 5 || echo 7)" '/^ *[0-9]+ /{print "muster", r, $1, $o, $(o + 4)}'
}
b() {
  local size
  for size in ${sizes//,/ }; do
    "${mpirun[@]}" -np "$ngpus" -x LD_LIBRARY_PATH "$perf" -b "$size" -e "$size" -n "$iters" -w 1 -c 0
  done | awk -v r="$1" -v o="$([[ $small ]] && echo 6 || echo 8)" '/^ *[0-9]+ /{print "nccl-tests", r, $1, $o, $(o + 4)}'
}
for ((round = 0; round <= rounds; round++)); do
  for run in a b b a; do "$run" "$round" >>"$results"; done
done
python3 - "$results" <<'END'
import statistics
import sys

runs = {}
for line in open(sys.argv[1]):
    who, round_, size, out, inside = line.split()
    if round_ != "0":
        runs.setdefault((int(size), who), []).append((float(out), float(inside)))
print("| bytes | placement | muster [spread] | nccl-tests [spread] | ratio of medians |\n|---|---|---|---|---|")
for size in sorted({key[0] for key in runs}):
    for i, place in ((0, "out"), (1, "in")):
        cell, median = {}, {}
        for who in ("muster", "nccl-tests"):
            values = [run[i] for run in runs[size, who]]
            median[who] = statistics.median(values)
            cell[who] = f"{median[who]:.2f} [{min(values):.2f}-{max(values):.2f}]"
        print(f"| {size} | {place} | {cell['muster']} | {cell['nccl-tests']} | {median['muster'] / median['nccl-tests']:.4f} |")
END

#!/usr/bin/env bash
# PyTorch DDP, FSDP, Lightning, Accelerate and DeepSpeed under muster and under torchrun on this machine's GPUs: losses, time to the
# first step, how a failure ends, restarts. frameworks.py says what is measured; this finds the programs.
#
#   MUSTER       the launcher under test (default: muster on PATH)
#   PYTHON       an interpreter with PyTorch (default: python3)
#   OUT          where frameworks.md and the raw logs go (default: a new folder, named at the end)
#   FORCE_CPU=1  gloo on the CPU, to try the script itself
#   WORKERS 2, ROUNDS 3, RESTARTS 20; PARALLEL: restart jobs at a time; RUN_S 120: of one run; LIMIT_S 510: of all
#   MPI_PROGRAM  one of nccl-tests, built with MPI=1; MPI_OPTIONS: options by which muster itself starts MPI programs
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

MUSTER=$(command -v "${MUSTER:-muster}") || { echo "frameworks: no muster on PATH; set MUSTER" >&2; exit 2; }
PYTHON=$(command -v "${PYTHON:-python3}") || { echo "frameworks: no python3; set PYTHON" >&2; exit 2; }
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
export MUSTER PYTHON OUT
# No run may depend on what an outer launcher happens to hold.
unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
if [[ ${FORCE_CPU:-} == 1 ]]; then
  export CUDA_VISIBLE_DEVICES="" MUSTER_GPUS=none ACCELERATE_USE_CPU=true JAX_PLATFORMS=cpu
fi
exec "$PYTHON" -u "$here/frameworks.py"

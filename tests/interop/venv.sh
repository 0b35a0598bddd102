#!/usr/bin/env bash
# The frameworks of examples/ in a virtual environment that is kept, above the PyTorch of setup_torch.sh (whose
# packages it sees and does not copy). Made on the first call, found again on later ones. Prints the path of its
# python as the only line on stdout; what it does goes to stderr.
#
#   MUSTER_FRAMEWORKS     packages to install (default below); what is missing of them is named, and is no error
#   XDG_CACHE_HOME        where it is kept: $XDG_CACHE_HOME/muster/frameworks/TORCH_VERSION
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=${MUSTER_TORCH_VERSION:-2.15.0}
packages=${MUSTER_FRAMEWORKS:-lightning accelerate transformers jax mpi4py deepspeed}
root=${XDG_CACHE_HOME:-$HOME/.cache}/muster/frameworks
venv=$root/$version
python=$venv/bin/python
# torch asks for it and the CPU does not need it; see setup_torch.sh.
skip='torch triton cuda-bindings cuda-pathfinder nvidia-cuda-cccl nvidia-cusolver nvidia-nvtx nvidia-ml-py'

say() { echo "venv: $*" >&2; }

# "name==version" of what a package needs and is not there yet, as pip resolves it on this machine.
wanted() { # package
  "$python" -m pip install --quiet --dry-run --no-build-isolation --report - "$1" |
    "$python" -c '
import json, sys
skip = set(sys.argv[1].split())
for item in json.load(sys.stdin)["install"]:
    meta = item["metadata"]
    if meta["name"].lower().replace("_", "-") not in skip:
        print(meta["name"] + "==" + meta["version"])' "$skip"
}

add() { # package
  local list
  list=$(wanted "$1") || return 1
  [[ -z $list ]] && return 0
  # Word splitting is meant: one argument a package. deepspeed is built here and has to see torch; what it would else
  # compile when it is first used is compiled now.
  # shellcheck disable=SC2086
  DS_ACCELERATOR=cpu DS_BUILD_SHM_COMM=1 "$python" -m pip install --quiet --no-deps --no-cache-dir --no-compile --no-build-isolation $list >&2
}

make() {
  local torch
  torch=$("$here/setup_torch.sh")
  rm -rf "$venv"
  "$torch" -m venv "$venv"
  "$torch" -c 'import site; print(site.getsitepackages()[0])' \
    >"$("$python" -c 'import site; print(site.getsitepackages()[0])')/torch_below.pth"
  "$python" -m pip install --quiet --no-compile --upgrade setuptools wheel >&2
  local package
  for package in $packages; do
    say "installing $package"
    add "$package" || say "$package could not be installed here; its example is not run"
  done
  echo "$packages" >"$venv/packages"
}

main() {
  mkdir -p "$root"
  exec 9>"$root/.lock"
  flock 9 # two runs at the same time: the second waits, then finds it ready
  if [[ -f $venv/packages && $(<"$venv/packages") == "$packages" ]]; then
    say "already in $venv"
  else
    local started=$SECONDS
    make
    say "done in $((SECONDS - started)) s, $(du -sh "$venv" | cut -f1) on disk"
  fi
  echo "$python"
}

main "$@"

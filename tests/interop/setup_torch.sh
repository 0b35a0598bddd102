#!/usr/bin/env bash
# A current PyTorch from PyPI in a virtual environment that is kept: made on the first call, found
# again on later ones. Prints the path of its python as the only line on stdout; what it does goes
# to stderr. Tests use it on the CPU alone, so what only a GPU program loads is left out.
#
#   MUSTER_TORCH_VERSION  version to install (default below)
#   XDG_CACHE_HOME        where it is kept: $XDG_CACHE_HOME/muster/torch/VERSION
set -euo pipefail

version=${MUSTER_TORCH_VERSION:-2.15.0}
root=${XDG_CACHE_HOME:-$HOME/.cache}/muster/torch
venv=$root/$version
python=$venv/bin/python
# Not needed for import and gloo: a compiler and what belongs to it, libraries loaded at first use.
skip='triton cuda-bindings cuda-pathfinder nvidia-cuda-cccl nvidia-cusolver nvidia-nvtx'

say() { echo "setup_torch: $*" >&2; }

works() { # imports, and is the version that was asked for
  [[ -x $python ]] && "$python" -c "
import sys, torch, torch.distributed as d
sys.exit(0 if torch.__version__.split('+')[0] == '$version' and d.is_gloo_available() else 1)" \
    >/dev/null 2>&1
}

# "name==version" of everything that torch asks for, as pip resolves it on this machine.
wanted() {
  "$python" -m pip install --quiet --dry-run --ignore-installed --report - "torch==$version" numpy |
    "$python" -c '
import json, sys
skip = set(sys.argv[1].split())
for item in json.load(sys.stdin)["install"]:
    meta = item["metadata"]
    if meta["name"].lower().replace("_", "-") not in skip:
        print(meta["name"] + "==" + meta["version"])' "$skip"
}

main() {
  mkdir -p "$root"
  exec 9>"$root/.lock"
  flock 9 # two runs at the same time: the second waits, then finds it ready
  if works; then
    say "torch $version is already in $venv"
  else
    say "installing torch $version into $venv (about 2 GB of downloads, 4 GB on disk)"
    local started=$SECONDS list
    rm -rf "$venv"
    python3 -m venv "$venv"
    list=$(wanted)
    # Word splitting is meant: one argument a package.
    # shellcheck disable=SC2086
    "$python" -m pip install --quiet --no-deps --no-cache-dir --no-compile $list >&2
    works || { say "torch $version was installed but does not import:"; "$python" -c 'import torch' >&2; exit 1; }
    say "done in $((SECONDS - started)) s, $(du -sh "$venv" | cut -f1) on disk"
  fi
  echo "$python"
}

main "$@"

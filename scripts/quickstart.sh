#!/usr/bin/env bash
# From a fresh clone to a checked group of workers: installs the few packages that the build needs (only
# those that are missing), builds, and runs the main job. Safe to repeat.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# shellcheck source=scripts/packages.bash
source scripts/packages.bash

build=$root/build/release

build_release() {
  local started=$SECONDS log=$build/quickstart.log
  mkdir -p "$build"
  say "build: under way, for some minutes the first time; its output goes to $log"
  # Warnings stay warnings here: a newer compiler than ours must not stop a user.
  if ! { cmake --preset release -DBUILD_TESTING=OFF -DMUSTER_WERROR=OFF && cmake --build --preset release; } \
    >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    say "the build failed; all of its output is in $log" >&2
    return 1
  fi
  if grep -q 'ninja: no work to do' "$log"; then
    say "build: nothing has changed, $build/bin is up to date"
  else
    say "build: done in $((SECONDS - started)) s, programs are in $build/bin"
  fi
}

run_job() {
  local -a job=(muster -n 4 muster-worker)
  if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then job=(muster run muster-worker); fi
  export PATH=$build/bin:$PATH
  say "run: ${job[*]}"
  "${job[@]}"
}

mapfile -t packages < <(build_packages "$root" | tr ' ' '\n')
need_packages "packages" "${packages[@]}"
build_release
run_job
say "done. To run it yourself: PATH=$build/bin:\$PATH muster -n 4 muster-worker"

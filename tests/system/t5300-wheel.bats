#!/usr/bin/env bats
# The wheel: built from these sources, installed into an environment of its own and used there.

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
  local pip=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/tools}/bin/pip
  "$pip" show -q scikit-build-core 2>/dev/null || { export SKIP_FILE="no scikit-build-core in the tools of scripts/test.sh"; return 0; }
  # Nothing is fetched. Not optimised: what is looked at is where things are, not how fast they run.
  if ! "$pip" wheel "$SOURCE" -q --no-index --no-build-isolation --no-deps -w "$BATS_FILE_TMPDIR/wheels" \
    -C build-dir="$BATS_FILE_TMPDIR/build" -C cmake.build-type=Debug -C cmake.define.MUSTER_CUDA=OFF >"$BATS_FILE_TMPDIR/log" 2>&1; then
    cat "$BATS_FILE_TMPDIR/log"
    return 1
  fi
  python3 -m venv "$BATS_FILE_TMPDIR/venv"
  "$BATS_FILE_TMPDIR/venv/bin/pip" install -q --no-index --disable-pip-version-check "$BATS_FILE_TMPDIR"/wheels/muster-*.whl
}

setup() {
  begin_test
  VENV=$BATS_FILE_TMPDIR/venv
  PATH=$VENV/bin:/usr/bin:/bin
}

@test "the wheel is of any Python 3 and has programs, man pages and completions, no module" {
  run python3 -m zipfile -l "$(echo "$BATS_FILE_TMPDIR"/wheels/muster-*-py3-none-linux_*.whl)"
  expect_status 0
  expect_in "$output" ".data/scripts/muster-worker"
  expect_in "$output" ".data/data/share/man/man1/muster-run.1"
  expect_in "$output" ".data/data/share/bash-completion/completions/muster"
  expect_not_in "$output" ".py "
}

@test "muster and muster-worker run from the environment" {
  [[ $(command -v muster) == "$VENV/bin/muster" ]]
  run --separate-stderr bounded muster -n 2 muster-worker --backend host --sizes 8
  expect_status 0
  expect_in "$output" "verified: 0 wrong"
  echo 'import os, sys; print(os.environ["RANK"], sys.prefix)' >script.py
  run --separate-stderr bounded muster -n 1 script.py
  expect_status 0
  expect_in "$output" "0 $VENV"
}

@test "muster-torchrun takes torchrun's command line, and there is no torchrun" {
  run --separate-stderr bounded muster-torchrun --nproc-per-node 2 --no-python sh -c 'echo "rank $RANK"; exit $((RANK * 3))'
  expect_status 3
  expect_in "$output" "rank 0"
  [[ ! -e $VENV/bin/torchrun ]]
}

@test "pip takes all of it away" {
  pip uninstall -q -y muster
  run find "$VENV" -name '*muster*'
  [[ -z $output ]]
}

#!/usr/bin/env bats
# What `cmake --install` puts where, and that it runs from there.

bats_require_minimum_version 1.5.0
load helpers

setup() {
  begin_test
  PREFIX=$BATS_TEST_TMPDIR/prefix
  PATH=/usr/bin:/bin # programs under test are found where they were installed, or not at all
}

install_to() { # prefix [cmake options...]
  cmake --install "${BIN%/bin}" --prefix "$@" >install.log 2>&1 || { cat install.log; return 1; }
}

@test "an installed muster runs, and finds muster-worker beside itself" {
  install_to "$PREFIX"
  run --separate-stderr bounded env -C / "$PREFIX/bin/muster" -n 2 muster-worker --backend host --sizes 8
  expect_status 0
  expect_in "$output" "verified: 0 wrong"
  run --separate-stderr bounded "$PREFIX/bin/muster" version
  expect_status 0
}

@test "muster-torchrun takes torchrun's command line; the name torchrun is left to PyTorch" {
  install_to "$PREFIX"
  run --separate-stderr bounded "$PREFIX/bin/muster-torchrun" --nproc-per-node 2 --no-python sh -c 'echo "rank $RANK"'
  expect_status 0
  expect_in "$output" "rank 1"
  [[ ! -e $PREFIX/bin/torchrun ]]
}

@test "the name torchrun is installed where it was asked for" {
  cmake -S "$SOURCE" -B build -DMUSTER_TORCHRUN=ON -DBUILD_TESTING=OFF -DMUSTER_CUDA=OFF >log 2>&1 || { cat log; return 1; }
  cmake --install build --component names --prefix "$PREFIX"
  [[ $(readlink "$PREFIX/bin/torchrun") == muster ]]
}

@test "a build that has to have CUDA does not do without" {
  run cmake -S "$SOURCE" -B build -DMUSTER_CUDA=REQUIRED -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON -DBUILD_TESTING=OFF
  [[ $status -ne 0 ]]
  expect_in "$output" "MUSTER_CUDA is REQUIRED, but: no CUDA toolkit found"
}

@test "with DESTDIR everything is below the prefix there, and nothing anywhere else" {
  DESTDIR=$PWD/stage install_to /opt/muster
  [[ -x stage/opt/muster/bin/muster && -x stage/opt/muster/bin/muster-worker ]]
  [[ $(ls stage) == opt && $(ls stage/opt) == muster ]]
  [[ ! -e /opt/muster/bin/muster ]]
  # Links lead to their neighbours, so a folder can be moved.
  run find stage -type l -printf '%P -> %l\n'
  [[ $output == "opt/muster/bin/muster-torchrun -> muster" ]]
  mv stage/opt/muster elsewhere
  run --separate-stderr bounded elsewhere/bin/muster-torchrun --nproc-per-node 1 --no-python true
  expect_status 0
}

@test "programs carry no search path for libraries" {
  install_to "$PREFIX"
  local program
  for program in muster muster-worker; do
    run readelf -d "$PREFIX/bin/$program"
    expect_in "$output" NEEDED
    expect_not_in "$output" RPATH
    expect_not_in "$output" RUNPATH
  done
}

@test "man pages, completions, the license and documents come along" {
  install_to "$PREFIX"
  local share=$PREFIX/share command
  for command in $("$PREFIX/bin/muster" --help | sed -n 's/^  muster \([a-z]*\) .*/\1/p') worker; do
    [[ -s $share/man/man1/muster-$command.1 ]] || { echo "no man page of $command"; return 1; }
  done
  [[ -s $share/man/man1/muster.1 && -s $share/bash-completion/completions/muster ]]
  [[ -s $share/zsh/site-functions/_muster && -s $share/fish/vendor_completions.d/muster.fish ]]
  [[ -s $share/doc/muster/LICENSE && -s $share/doc/muster/docs/install.md ]]
}

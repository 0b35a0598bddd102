#!/usr/bin/env bats
# The examples, as their READMEs tell a user to run them.

load helpers

torch_of() { # python: succeeds if it has a torch with gloo
  "$1" -c 'import sys, torch.distributed as d; sys.exit(not d.is_gloo_available())' 2>/dev/null
}

@test "the C worker: every rank prints the sum of all ranks" {
  run_muster -n 4 example-worker
  expect_status 0
  for rank in 0 1 2 3; do
    expect_in "$output" "rank $rank of 4: sum of ranks 6, hello from rank 0"
  done
  no_leftovers
}

@test "the C worker alone is a group of one" {
  run_muster -n 1 example-worker
  expect_status 0
  expect_in "$output" "rank 0 of 1: sum of ranks 0, hello from rank 0"
}

@test "the C worker without muster says what it needs" {
  bats_require_minimum_version 1.5.0
  run --separate-stderr env -u RANK "$BIN/example-worker"
  expect_status 2
  expect_in "$stderr" "muster -n 4 example-worker"
}

@test "the program that only reads its environment: every rank does its part, alone it does everything" {
  run_muster -n 3 example-part
  expect_status 0
  expect_in "$output" "rank 0 of 3: terms 1 to 333333, sum 1.644931067"
  expect_in "$output" "rank 2 of 3: terms 666667 to 1000000, sum 0.000000500"
  run env -u RANK -u WORLD_SIZE "$BIN/example-part"
  expect_status 0
  expect_in "$output" "rank 0 of 1: terms 1 to 1000000, sum 1.644933067"
  run env RANK=4 WORLD_SIZE=4 "$BIN/example-part"
  expect_status 2
}

@test "every example has a README, is in the list of examples, and is named by a test" {
  local folder name
  for folder in "$SOURCE"/examples/*/; do
    name=$(basename "$folder")
    [[ -s $folder/README.md ]] || { echo "$name has no README.md"; return 1; }
    grep -q "\[$name\]($name/README.md)" "$SOURCE/examples/README.md" || { echo "$name is not in examples/README.md"; return 1; }
    grep -rqE "examples/$name(/|\$)|\"$name/|$name/main.c" "$SOURCE"/tests/system/t*.bats "$SOURCE/tests/interop/same_loss.py" \
      "$SOURCE/examples/CMakeLists.txt" || { echo "no test names $name"; return 1; }
  done
}

ddp() { # python
  export PYTHON=$1 OMP_NUM_THREADS=1 MUSTER_DEADLINE=240
  run_muster -n 2 "$SOURCE/examples/pytorch-ddp/train.py" 3
  expect_status 0
  expect_in "$output" "step 3 loss 0."
  expect_in "$output" "rank 0 of 2: sum 3"
  expect_in "$output" "rank 1 of 2: sum 3"
  no_leftovers
}

@test "PyTorch DDP with the system's PyTorch" {
  torch_of /usr/bin/python3 || skip "python3-torch is not installed"
  ddp /usr/bin/python3
}

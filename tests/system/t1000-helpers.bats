#!/usr/bin/env bats
# The tests' own tools, without muster: a helper that finds nothing would make every other test pass.

load helpers

@test "a process that was left behind is found by its tag, and by nothing else" {
  setsid sleep 300 &
  local pid=$!
  eventually 10 has_leftover
  [[ $(leftovers) == "$pid" ]]
  kill -KILL "$pid"
  no_leftovers
}
has_leftover() {
  [[ -n $(leftovers) ]]
}

@test "a run past its deadline is ended and is not a success" {
  MUSTER_DEADLINE=1 run bounded sleep 300
  [[ $status -eq 137 ]]
}

@test "Ctrl-C typed on the terminal reaches the foreground group" {
  printf 'expect ready\ntype \\x03\nexpect got INT\n' >script
  run on_terminal script toy polite
  [[ $status -eq 0 ]]
  expect_in "$output" "got INT"
}

@test "the terminal runner reports the signal that ended the command" {
  # shellcheck disable=SC2016 # for the inner shell
  printf '' >script
  run on_terminal script sh -c 'kill -9 $$'
  [[ $status -eq 137 ]]
}

@test "an expectation that the output does not meet fails" {
  printf 'expect something else\n' >script
  run on_terminal script echo hello
  [[ $status -eq 124 ]]
}

@test "toys do what toy.c says" {
  RANK=1 run toy exit 1 7
  [[ $status -eq 7 ]]
  RANK=0 run toy flood 3 5
  [[ ${#lines[@]} -eq 6 ]]
  RANK=2 run toy signal 2 9
  [[ $status -eq 137 ]]
}

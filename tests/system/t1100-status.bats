#!/usr/bin/env bats
# What `muster run` answers, and whom it names.

load helpers
load launcher

@test "the status is that of the worker that failed, which is named; the others are ended" {
  script w <<'W'
[ "$RANK" = 2 ] && exit 7
exec sleep 60
W
  run_muster -n 4 ./w
  expect_status 7
  expect_in "$stderr" "muster: rank 2 failed first: exit 7"
  expect_in "$stderr" "stopped by muster: 3 others (SIGTERM)"
  expect_in "$stderr" "exit status 7"
  no_leftovers
}

@test "the last rank's failure ends the job while rank 0 is busy" {
  run_muster -n 4 toy exit 3 1
  expect_status 1
  expect_in "$stderr" "rank 3 failed first"
}

@test "death by a signal is 128+N and the signal is named" {
  run_muster -n 3 toy signal 1 9
  expect_status 137
  expect_in "$stderr" "rank 1 failed first: signal 9 (SIGKILL)"
  run_muster -n 2 toy signal 0 11
  expect_status 139
  expect_in "$stderr" "SIGSEGV"
  no_leftovers
}

@test "an exit code above 128 is said not to be a signal" {
  run_muster -n 1 toy exit 0 138
  expect_status 138
  expect_in "$stderr" "an exit code, not a signal"
}

@test "every exit code from 1 to 255 comes through" {
  local code
  for code in 1 2 69 77 93 124 125 126 127 255; do
    run_muster -n 1 toy exit 0 "$code"
    expect_status "$code"
  done
}

@test "a worker that is done early is no failure: the others may finish" {
  script w <<'W'
[ "$RANK" = 0 ] && exit 0
until [ -e go ]; do sleep 0.05; done
echo "done $RANK"
W
  begin -n 3 ./w
  eventually 20 only_two_workers
  : >go
  end_within 20
  expect_status 0
  expect_in "$output" "done 1"
  expect_in "$output" "done 2"
}
only_two_workers() { [[ $(running w) -eq 2 ]]; }

@test "success says nothing" {
  run_muster -n 4 true
  expect_status 0
  [[ -z $output && -z $stderr ]]
}

@test "a program that is not there: 127 and its name" {
  local name
  for name in ./no-such-program no-such-program no-such-dir/x plain/x ""; do
    : >plain
    run_muster -n 4 "$name" --flag
    expect_status 127
    expect_in "$stderr" "${name:-"''"}: no such program"
  done
  no_leftovers
}

@test "a Python script that is not there is 127 too, not the interpreter's 2" {
  run_muster -n 2 no-such.py
  expect_status 127
  expect_in "$stderr" "no-such.py: no such program"
  PYTHON=no-such-python run_muster -n 2 "$BATS_TEST_FILENAME.py"
  expect_status 127
  expect_in "$stderr" "no-such-python: no such program in PATH; "
  expect_in "$stderr" ".py runs under it, PYTHON names another"
}

@test "a program that cannot be executed: 126 and why" {
  echo x >plain
  run_muster -n 2 ./plain
  expect_status 126
  expect_in "$stderr" "./plain: cannot be executed"
  expect_in "$stderr" "chmod +x"
  run_muster -n 2 .
  expect_status 126
  expect_in "$stderr" "it is a directory"
  chmod +x plain
  run_muster -n 2 ./plain
  expect_status 126
  expect_in "$stderr" "./plain could not be started"
  expect_in "$stderr" "needs a #! line"
  no_leftovers
}

@test "a script whose interpreter is missing: 127, in one line, before anything starts" {
  printf '#!/no/such/interpreter -x\n' >bad
  chmod +x bad
  run_muster -n 2 ./bad
  expect_status 127
  [[ $stderr == "muster: ./bad: its first line names the interpreter /no/such/interpreter, which is not there" ]]
  run_muster --hosts localhost:2 ./bad
  expect_status 127
  expect_in "$stderr" "muster: localhost: ./bad: its first line names the interpreter"
  no_leftovers
}

@test "a script with the line ends of Windows: 126 and how to mend it" {
  printf '#!/bin/sh\r\necho hi\r\n' >crlf
  chmod +x crlf
  run_muster -n 2 ./crlf
  expect_status 126
  expect_in "$stderr" "muster: ./crlf: cannot be executed: its lines end as on Windows"
  sed -i 's/\r$//' crlf
  run_muster -n 2 ./crlf
  expect_status 0
}

@test "a program of this folder without ./ is named" {
  script here <<<'echo hi'
  run_muster -n 2 here
  expect_status 127
  expect_in "$stderr" "muster: here: no such program in PATH; the one here is ./here"
}

@test "the program is looked up in PATH as a shell would" {
  mkdir one two
  script one/prog <<<'echo "from $0"'
  cp one/prog two/prog
  chmod -x one/prog
  PATH="$PWD/one:$PWD/two:$PATH" run_muster -n 1 prog
  expect_status 0
  expect_in "$output" "two/prog"
  PATH="$PWD/one:$PATH" run_muster -n 1 prog
  expect_status 126
  cd two
  run /usr/bin/env PATH= "$MUSTER" -n 1 prog # an empty PATH is the working directory, as for exec
  expect_status 0
  run /usr/bin/env -u PATH "$MUSTER" -n 1 sh -c 'exit 3'
  expect_status 3
}

@test "the evidence is the last lines of the failed worker's stderr, and of nobody else" {
  script w <<'W'
echo "noise of $RANK" >&2
[ "$RANK" = 1 ] || exec sleep 60
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "trace $i" >&2; done
printf 'bo\000om' >&2
exit 5
W
  bounded "$MUSTER" -n 2 ./w 2>err || status=$?
  stderr=$(tr -d '\0' <err)
  expect_status 5
  local evidence=${stderr##*last lines}
  expect_in "$evidence" "trace 12"
  expect_in "$evidence" "bo?om"
  expect_not_in "$evidence" "trace 2"$'\n'
  expect_not_in "$evidence" "noise of 0"
}

@test "the time limit ends the job with 124, and a job within it is not touched" {
  run_muster -n 2 --timeout 2s toy polite # long enough for both to be ready
  expect_status 124
  expect_in "$stderr" "--timeout"
  expect_in "$output" "got TERM"
  run_muster -n 2 --timeout 60 true
  expect_status 0
  no_leftovers
}

@test "the time limit also ends workers that hear nothing, after the grace" {
  run_muster -n 2 --timeout 300ms --grace 200ms toy deaf
  expect_status 124
  no_leftovers
}

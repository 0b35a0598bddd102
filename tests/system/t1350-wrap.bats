#!/usr/bin/env bats
# --wrap: a profiler or debugger before the program of some ranks, and a rank that owns the terminal.

load helpers
load launcher

@test "the words come before the program, quoted as in a shell, expanded by no shell" {
  run_muster -n 2 --wrap 'env A=%r/%l "B=$HOME x" C=100%%' sh -c 'echo "$RANK $A $B $C"'
  expect_status 0
  expect_in "$output" '0 0/0 $HOME x 100%'
  expect_in "$output" '1 1/1 $HOME x 100%'
}

@test "the program's own words stay as they are" {
  script show <<'W'
for word; do printf '<%s>' "$word"; done
W
  run_muster -n 1 --wrap 'nice -n 0' ./show 'a b' '' '%r' "q'q" '$x' -n
  expect_status 0
  [[ $output == "<a b><><%r><q'q><\$x><-n>" ]]
}

@test "only the ranks of --wrap-ranks" {
  run_muster -n 4 --wrap 'env W=yes' --wrap-ranks 1,3 sh -c 'echo "$RANK:$W"'
  expect_status 0
  [[ $(sort <<<"$output") == $'0:\n1:yes\n2:\n3:yes' ]]
}

@test "each rank may have a file of its own, and %h and %j are known" {
  run_muster -n 2 --rdzv-id job9 --wrap 'sh -c ": >out.%r.%j; test \"%h\" = \"$(uname -n)\" && exec \"$@\"" -' true
  expect_status 0
  [[ -e out.0.job9 && -e out.1.job9 ]]
}

@test "what is wrong with the words is one line, and nothing was started" {
  local text
  for text in "a 'b" 'a "b' 'a\' 'a.%q' ' '; do
    run_muster -n 2 --wrap "$text" sh -c ': >started'
    expect_status 2
    expect_in "$stderr" "--wrap: column "
    [[ ${#stderr_lines[@]} -eq 1 && ! -e started ]]
  done
  run_muster -n 2 --wrap-ranks 1 sh -c ': >started'
  expect_status 2
  run_muster -n 2 --wrap nice --wrap-ranks 0,2 sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "--wrap-ranks: there is no rank 2; the last one is 1"
  [[ ! -e started ]]
}

@test "a wrapper that is missing or cannot be executed is named, before anything starts" {
  : >plain
  run_muster -n 2 --wrap no-such-tool --wrap-ranks 1 sh -c ': >started'
  expect_status 127
  expect_in "$stderr" "--wrap: no-such-tool: no such program"
  run_muster -n 2 --wrap ./plain sh -c ': >started'
  expect_status 126
  expect_in "$stderr" "--wrap: ./plain: cannot be executed"
  [[ ! -e started ]]
  run_muster -n 2 --wrap nice ./no-such-program
  expect_status 127
  expect_in "$stderr" "./no-such-program: no such program"
}

@test "status and signal come through a wrapper that executes and through one that forks" {
  script forks <<'W'
"$@"
exit $?
W
  local wrapper
  for wrapper in env ./forks 'timeout 100' 'setsid -w'; do
    run_muster -n 3 --wrap "$wrapper" --wrap-ranks 1 sh -c '[ "$RANK" = 1 ] && exit 7; exec sleep 60'
    expect_status 7
    no_leftovers
  done
  run_muster -n 2 --wrap env sh -c '[ "$RANK" = 1 ] && kill -9 $$; exec sleep 60'
  expect_status 137
}

@test "the stop signal reaches the program behind a wrapper that forks" {
  script forks <<'W'
trap : TERM
"$@" &
wait
wait
W
  begin -n 2 --wrap ./forks sh -c 'trap "echo saved; exit 0" TERM; : >"up.$RANK"; while :; do sleep 0.05; done'
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  [[ $output == $'saved\nsaved' ]]
  no_leftovers
}

@test "a wrapper that ignores SIGTERM does not keep its program from ending" {
  script deaf <<'W'
trap '' TERM
env --default-signal=TERM "$@"
W
  begin -n 2 --wrap ./deaf sh -c ': >"up.$RANK"; exec sleep 1000'
  eventually 20 have 2 'up.*'
  kill -TERM "$PID"
  end_within 20
  expect_status 143
  no_leftovers
}

@test "muster plan shows who is wrapped" {
  run_muster plan -n 3 --gpus none --wrap "env A=%r 'b c'" --wrap-ranks 0,2 sh x
  expect_status 0
  expect_in "$output" "program   sh x"
  expect_in "$output" "rank 0    env A=0 'b c' sh x"
  expect_in "$output" "rank 2    env A=2 'b c' sh x"
  run_muster plan -n 3 --gpus none --wrap nice --terminal 2 sh x
  expect_in "$output" "ranks 0-2 nice sh x"
  expect_in "$output" "terminal  rank 2"
  run_muster plan --json -n 2 --gpus none --wrap nice --wrap-ranks 1 sh x
  [[ $(python3 -c 'import json,sys; print([w["wrapped"] for w in json.load(sys.stdin)["workers"]])' <<<"$output") == "[None, ['nice', 'sh', 'x']]" ]]
}

@test "a debugger without a terminal, or for several ranks, is refused" {
  script gdb <<'W'
: >started
W
  PATH=$PWD:$PATH
  run_muster -n 2 --wrap 'gdb --args' true
  expect_status 2
  expect_in "$stderr" "choose one rank with --wrap-ranks"
  run_muster -n 2 --wrap 'gdb --args' --wrap-ranks 1 true
  expect_status 2
  expect_in "$stderr" "rank 1 needs the terminal for its debugger"
  run_muster -n 2 --terminal 0 true
  expect_status 2
  expect_in "$stderr" "rank 0 needs the terminal"
  [[ ! -e started ]]
  run_muster -n 2 --wrap 'gdb -batch -ex run --args' true
  expect_status 0
  [[ -e started ]]
}

# Says what it finds, asks a question, then becomes the program.
asker() {
  script asker <<'W'
trap 'echo "interrupted $RANK"' INT
[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo "terminal of $RANK"
pgrp=$(ps -o pgid= -p $$) front=$(ps -o tpgid= -p $$)
[ "$((pgrp))" = "$((front))" ] && echo "in front"
echo "question?"
read -r answer || read -r answer
echo "answer: $answer"
exec "$@"
W
}

@test "the rank that owns the terminal gets its keys and Ctrl-C; the others do not" {
  asker
  cat >keys <<'K'
expect in front
expect question?
type \x03
expect interrupted 1
type hello\n
expect answer: hello
expect late 1
K
  run on_terminal keys "$MUSTER" -n 3 --terminal 1 --wrap ./asker --wrap-ranks 1 sh -c 'echo "late $RANK"'
  expect_status 0
  expect_in "$output" "terminal of 1"
  expect_in "$output" "late 0"
  no_leftovers
}

@test "when the owner has ended the terminal is muster's again" {
  cat >keys <<'K'
expect gone
type \x03
K
  run on_terminal keys "$MUSTER" -n 2 --terminal 1 --prefix none sh -c \
    'case $RANK in 1) : >ended;; *) until [ -e ended ]; do sleep 0.05; done
     until [ "$(ps -o tpgid= -p "$PPID" | tr -d " ")" = "$(ps -o pgid= -p "$PPID" | tr -d " ")" ]; do sleep 0.05; done
     echo gone; exec sleep 60;; esac'
  expect_status 130
  no_leftovers
}

@test "Ctrl-Z of the owner stops the whole job, fg brings it back" {
  asker
  cat >keys <<'K'
type PS1='> '\n
type "$MUSTER" -n 2 --terminal 1 --wrap ./asker --wrap-ranks 1 sh -c 'echo "late $RANK"'\n
expect question?
type \x1a
expect Stopped
type fg\n
expect fg
expect sh -c
type again\n
expect answer: again
expect late 1
type echo "end=$?"; exit 3\n
expect end=0
K
  export MUSTER
  run on_terminal keys bash --norc --noprofile -i
  expect_status 3
  no_leftovers
}

@test "a restart lends the terminal again" {
  cat >keys <<'K'
expect ask 0
type a\n
expect got a
expect ask 1
type b\n
expect got b
K
  run on_terminal keys "$MUSTER" -n 2 --terminal 1 --max-restarts 1 sh -c \
    '[ "$RANK" = 0 ] && exit 0; echo "ask $TORCHELASTIC_RESTART_COUNT"; read -r x; echo "got $x"; [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 4'
  expect_status 0
  no_leftovers
}

@test "gdb on one rank: run, Ctrl-C, print, kill, quit" {
  command -v gdb >/dev/null || skip "gdb is not installed"
  [[ -z $SANITIZED ]] || skip "LeakSanitizer does not work under a debugger"
  cat >keys <<'K'
expect (gdb)
type run\n
expect ready
type \x03
expect SIGINT
expect (gdb)
type print 40+2\n
expect = 42
expect (gdb)
type kill\n
expect (y or n)
type y\n
expect killed
expect (gdb)
type quit\n
K
  run on_terminal keys "$MUSTER" -n 1 --wrap 'gdb -q -nx --args' "$BIN/toy" deaf
  expect_status 0
  no_leftovers
}

# Shared by every suite: `load helpers` at the top of a .bats file.
#
# A test finds MUSTER, MUSTER_WORKER (programs), BIN (their folder, which PATH begins with) and SOURCE (the
# project) in its environment; toys/toy.c is a worker that behaves in one special way. Every process that a test starts inherits
# TEST_TAG, by which whatever it leaves behind can be found, whoever its parent is by then.

: "${BIN:?the folder of the programs under test}"
: "${MUSTER:=$BIN/muster}" "${MUSTER_WORKER:=$BIN/muster-worker}"
: "${SOURCE:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
export PATH="$BIN:$PATH"
# No run may depend on what the caller's shell or an outer launcher happens to hold.
unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT CUDA_VISIBLE_DEVICES NO_COLOR OMP_NUM_THREADS OMP_THREAD_LIMIT

setup() { begin_test; }
begin_test() {
  [[ -z ${SKIP_FILE-} ]] || skip "$SKIP_FILE" # set by setup_file, for all of them
  TEST_TAG="muster-test-$$-$BATS_TEST_NUMBER-$RANDOM$RANDOM"
  export TEST_TAG
  cd "$BATS_TEST_TMPDIR" || return 1
}

# What a test left running fails it, and does not stay.
teardown() { end_test; }
end_test() {
  local pids
  pids=$(leftovers)
  [[ -z $pids ]] && return 0
  echo "left running:"
  # shellcheck disable=SC2086 # one word a process
  ps -o pid,ppid,stat,args -p ${pids//$'\n'/ } || true
  # shellcheck disable=SC2086
  kill -KILL $pids 2>/dev/null || true
  return 1
}

# Process ids, one a line, of everything that carries this test's tag but the test itself. A zombie has
# no environment any more and does not count: it is its parent's business.
leftovers() {
  local file pid
  for file in $(grep -lzx "TEST_TAG=$TEST_TAG" /proc/[0-9]*/environ 2>/dev/null); do
    pid=${file//[!0-9]/}
    [[ -d /proc/$pid ]] && ! is_self "$pid" && echo "$pid"
  done
  return 0
}

# The test's own shell and its parents.
is_self() {
  local pid=$BASHPID
  while [[ $pid -gt 1 ]]; do
    [[ $pid == "$1" ]] && return 0
    pid=$(ps -o ppid= -p "$pid") || return 1
    pid=${pid// /}
  done
  return 1
}

# muster with a deadline: bounded ARGS... (MUSTER_DEADLINE seconds, 120 unless set). A run that passes it is
# killed and gives 137, which no test expects by mistake: it also says so.
bounded() {
  local status=0
  timeout --signal=KILL "${MUSTER_DEADLINE:-120}" "$@" || status=$?
  ((status == 137)) && echo "bounded: ended by SIGKILL, or past ${MUSTER_DEADLINE:-120} s: $*" >&2
  return "$status"
}

# Runs muster as bats' `run` does, streams apart: $status, $output (stdout), $stderr, $lines, $stderr_lines.
run_muster() {
  bats_require_minimum_version 1.5.0
  run --separate-stderr bounded "$MUSTER" "$@"
}

# Repeats a command until it succeeds, for a deadline (seconds) and no longer. Pauses between tries are not
# what makes it right: a slow machine only tries more often.
eventually() { # seconds command...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || { echo "not within the deadline: $*" >&2; return 1; }
    read -r -t 0.05 <> <(:) || true
  done
}

# The last word on processes: none of this test's are left. Gives the kernel a moment to finish deaths that
# have already been caused.
no_leftovers() {
  eventually 30 none_left || { leftovers; return 1; }
}
none_left() {
  [[ -z $(leftovers) ]]
}

# Processes that run ./nap, a copy of sleep: by that those are found that do not carry this test's tag.
naps() {
  find /proc/[0-9]*/exe -maxdepth 0 -lname "$PWD/nap" 2>/dev/null | cut -d / -f 3
}
naps_are() { # count
  [[ $(naps | wc -l) -eq $1 ]]
}

# Plain assertions that show what was there. bats' run sets status, output and stderr.
expect_status() {
  [[ $status -eq $1 ]] && return 0
  printf 'status %s, expected %s\n--- stdout\n%s\n--- stderr\n%s\n' "$status" "$1" "$output" "${stderr-}"
  return 1
}
expect_in() { # text what
  [[ $1 == *"$2"* ]] && return 0
  printf 'not found: %s\n--- in\n%s\n' "$2" "$1"
  return 1
}
expect_not_in() { # text what
  [[ $1 != *"$2"* ]] && return 0
  printf 'unexpected: %s\n--- in\n%s\n' "$2" "$1"
  return 1
}

# A command on a real terminal: on_terminal SCRIPT COMMAND... See terminal.py for the script's lines.
on_terminal() {
  TERM=${TEST_TERM:-xterm} python3 "$SOURCE/tests/system/terminal.py" "$@"
}

#!/usr/bin/env bats
# The command line and its environment fallbacks, end to end.

load helpers
load launcher

@test "an unknown option is status 2 and names the nearest one" {
  run_muster --max-restart 2 true
  expect_status 2
  expect_in "$stderr" "the nearest is --max-restarts"
  run_muster -n 1 --tiemout=3 true
  expect_status 2
  expect_in "$stderr" "--timeout"
  run_muster -Z true
  expect_status 2
  expect_in "$stderr" "-Z: no such option"
}

@test "what is for other hosts is refused where there are none, instead of being left out" {
  local words
  for words in "-x VAR=1" "--env-file vars.env" "--chdir /"; do
    # shellcheck disable=SC2086 # words of one option
    run_muster -n 1 $words "${MARK[@]}"
    expect_status 2
    expect_in "$stderr" "is for hosts that muster starts on"
    nothing_started
    # shellcheck disable=SC2086
    run_muster plan -n 1 $words true
    expect_status 2
  done
  run_muster --hosts localhost:1 -x VAR=1 sh -c 'echo "<$VAR>"'
  expect_status 0
  expect_in "$output" "<1>"
  MUSTER_CHDIR=/ run_muster -n 1 true
  expect_status 0
}

@test "bad values are status 2, name the option and say what would be right" {
  local words
  for words in "-n 0" "-n -1" "-n 4097" "-n x" "-n 4x" "-n 0x4" "--nproc-per-node=" "--grace soon" \
    "--timeout -3" "--master-port 0" "--master-port 65536" "--binding both" "--max-restarts=-1" "--log-dir="; do
    # shellcheck disable=SC2086 # words of one option
    run_muster $words true
    expect_status 2
    expect_in "$stderr" "muster: -"
    : >started.none
  done
}

@test "a missing value or program is status 2" {
  run_muster -n
  expect_status 2
  expect_in "$stderr" "needs a value"
  run_muster -n 2
  expect_status 2
  expect_in "$stderr" "no program"
  run_muster run
  expect_status 2
  run_muster
  expect_status 2
}

@test "names take dashes or underscores, values a blank or an equals sign" {
  local words
  for words in "--nproc-per-node 2" "--nproc_per_node=2" "-n2" "-n 2" "run -n 2" "--nproc-per_node=2"; do
    # shellcheck disable=SC2086
    run_muster $words sh -c 'echo "size $WORLD_SIZE"'
    expect_status 0
    expect_in "$output" "size 2"
  done
}

@test "what follows the program, or --, is the program's" {
  run_muster -n 1 echo -n 7 --help -- --grace
  expect_status 0
  [[ $output == "7 --help -- --grace" ]]
  script ./-odd <<<'echo odd "$@"'
  PATH="$PWD:$PATH" run_muster -n 1 -- -odd -n 3
  expect_status 0
  [[ $output == "odd -n 3" ]]
}

@test "the environment stands in for options, and the command line wins" {
  MUSTER_NPROC_PER_NODE=3 run_muster run sh -c 'echo "size $WORLD_SIZE"'
  expect_status 0
  expect_in "$output" "size 3"
  MUSTER_NPROC_PER_NODE=3 run_muster -n 2 sh -c 'echo "size $WORLD_SIZE"'
  expect_in "$output" "size 2"
  PET_NPROC_PER_NODE=3 run_muster run sh -c 'echo "size $WORLD_SIZE"'
  expect_in "$output" "size 3"
  MUSTER_NPROC_PER_NODE=2 PET_NPROC_PER_NODE=3 run_muster run sh -c 'echo "size $WORLD_SIZE"'
  expect_in "$output" "size 2"
}

@test "a bad value in the environment names the variable, unless it does not count" {
  MUSTER_GRACE=soon run_muster -n 1 true
  expect_status 2
  expect_in "$stderr" "MUSTER_GRACE: 'soon'"
  MUSTER_GRACE=soon run_muster -n 1 --grace 3 true
  expect_status 0
  PET_NPROC_PER_NODE=auto run_muster -n 1 true
  expect_status 0
  MUSTER_GRACE="" run_muster -n 1 true
  expect_status 0
  MUSTER_GRACE=soon run_muster run --help
  expect_status 0
}

@test "help and version go to stdout, with status 0; output that is lost is an error" {
  run_muster run --help
  expect_status 0
  expect_in "$output" "--max-restarts"
  [[ -z $stderr ]]
  run_muster --version
  expect_status 0
  run_muster help check
  expect_status 0
  expect_in "$output" "usage: muster check"
  run_muster help checkx
  expect_status 2
  expect_in "$stderr" "the nearest is 'check'"
  run_muster --help
  expect_status 0
  run bash -c '"$MUSTER" --help >/dev/full'
  expect_status 125
}

@test "an answer that is lost is an error, whichever command gives it and however long it is" {
  local words
  for words in "gpus" "gpus --json" "plan -n 2 true" "plan -n 2 --json true" "doctor --only shm.size" \
    "doctor --json --only shm.size" "explain" "completion bash" "run --help" "version" "ps" "ps --json"; do
    # shellcheck disable=SC2016
    run bash -c '"$MUSTER" $1 >/dev/full' - "$words"
    expect_status 125
    expect_in "$output" "muster: cannot write to standard output"
  done
}

@test "a dash that was copied from a web page is told from the keyboard's" {
  run_muster –n 2 true
  expect_status 2
  expect_in "$stderr" "muster: –n: it begins with a typographic dash"
  run_muster run -n 2 —timeout 3 true
  expect_status 2
  expect_in "$stderr" "type the option anew"
}

@test "an unknown command is status 2 and names the nearest" {
  run_muster rnu -n 1 true
  expect_status 2
  expect_in "$stderr" "the nearest is 'run'"
  run_muster train.py
  expect_status 2
  expect_in "$stderr" "muster run train.py"
}

@test "hosts of --include and --exclude that are joined with commas: the line says with what" {
  local option
  for option in --include --exclude; do
    run_muster plan --hosts n1:2,n2:2 "$option" n1,n2 true
    expect_status 2
    expect_in "$stderr" "muster: $option, column 1: \"n1,n2\" is no host; commas stand between slots, hosts are joined with @"
  done
}

@test "a file of events that takes nothing is named, and costs the events alone" {
  run_muster -n 2 --events /dev/full true
  expect_status 0
  expect_in "$stderr" "warning: --events cannot be written any more: No space left on device"
}

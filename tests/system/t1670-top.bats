#!/usr/bin/env bats
# muster top: figures of ranks and GPUs, once and on a terminal. The GPUs are those of a NVML of the tests.

load helpers
load launcher
load devices

setup() {
  begin_test
  export MUSTER_RUNTIME_DIR=$BATS_TEST_TMPDIR/sockets
  fake_driver N4
  [[ -z $SANITIZED ]] || skip "the library of the tests has no sanitizer"
  script waiter <<'W'
muster notify STEP=7
trap 'exit 0' TERM
: >"up.$RANK"
while :; do sleep 0.05; done
W
  SCREENS=muster-$$-$RANDOM
}
teardown() {
  close_screen
  end_test
}
close_screen() {
  tmux -L "$SCREENS" kill-server 2>/dev/null || true
}

begin_job() {
  begin --rdzv-id demo --gpus 0-3 ./waiter
  eventually 20 have 4 'up.*'
  eventually 20 knows_steps
}
knows_steps() {
  [[ $("$MUSTER" ps --json | grep -c '"step": 7') == 4 ]]
}
# Of one look, asked for again until it is so. Who measures is started by the first, which on a busy machine may end before
# it has, as may any other.
top_has() { # options of top -- words...
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  run_muster top "${options[@]}"
  while shift && (($#)); do
    [[ $output == *"$1"* ]] || return 1
  done
}
# So many ranks have each of these.
json_has() { # number words...
  local words
  run_muster top --json
  for words in "${@:2}"; do
    [[ $(grep -c -- "$words" <<<"$output") == "$1" ]] || return 1
  done
}
stop_job() {
  kill -TERM "$PID"
  end_within 20
  expect_status 143
}

# A terminal of this size with muster top on it.
screen() { # columns rows
  tmux -L "$SCREENS" -f /dev/null new-session -d -x "$1" -y "$2" "cat; MUSTER_NVML_PATH=$MUSTER_NVML_PATH FAKE_GPU_NODE=$FAKE_GPU_NODE \
    FAKE_GPU_FILE=$FAKE_GPU_FILE FAKE_NVML_HEALTH='${FAKE_NVML_HEALTH-}' MUSTER_RUNTIME_DIR=$MUSTER_RUNTIME_DIR $MUSTER top demo; echo status \$?; cat" 3>&-
  keys 'before' Enter
  eventually 20 shows before
  keys C-d
}
keys() {
  tmux -L "$SCREENS" send-keys "$@"
}
shows() { # words
  tmux -L "$SCREENS" capture-pane -p | grep -qF -- "$1"
}
are_bold() { # words
  tmux -L "$SCREENS" capture-pane -e -p | grep -qF -- $'\e[1m'"$1"
}
# No line is left of what was wider or higher before.
lines_are() { # number
  [[ $(tmux -L "$SCREENS" capture-pane -p | grep -c .) == "$1" ]]
}

@test "top --once: what each rank and its GPU do, and who differs" {
  export FAKE_NVML_HEALTH='power.1=300000;temp.1=71;throttle.1=36'
  begin_job
  eventually 20 top_has --once -- " 300 W, the others about 75 W" " 71 C "
  expect_status 0
  [[ ${lines[0]} == "job demo  running  4/4 ranks  0 restarts  "*"pid $PID" ]]
  [[ ${lines[1]} == "rank 1 differs: its GPU draws 300 W, the others about 75 W" ]]
  expect_in "${lines[2]}" "RANK  STATE"
  expect_in "$output" "  *1  running  "
  expect_in "$output" " 300 W "
  expect_in "$output" " 71 C "
  expect_in "$output" "power cap, thermal"
  stop_job
  no_leftovers
}

@test "top --json has every figure, by the GPU's UUID" {
  export FAKE_NVML_HEALTH='power.2=123456'
  begin_job
  eventually 20 json_has 4 '"gpu_power_mw": [0-9]' '"cpu_percent": [0-9]' '"steps_per_s": 0'
  expect_status 0
  python3 - "$output" "$U2" "$PID" <<'P'
import json, sys
job = json.loads(sys.argv[1])
assert (job["schema"], job["id"], job["pid"]) == ("muster.top/1", "demo", int(sys.argv[3])), job
assert len(job["ranks"]) == 4 and job["note"] is None
rank = job["ranks"][2]
assert (rank["gpu_uuid"], rank["gpu_index"], rank["gpu_power_mw"]) == (sys.argv[2], "2", 123456), rank
assert rank["state"] == "running" and rank["step"] == 7 and rank["steps_per_s"] == 0, rank
assert rank["is_known"] and rank["starts"] == 1, rank
assert rank["rss_bytes"] > 0 and rank["cpu_percent"] >= 0 and rank["gpu_memory_bytes"] > rank["gpu_memory_used_bytes"] > 0, rank
P
  stop_job
  no_leftovers
}

@test "without NVML top says so and shows the rest" {
  gpus_are N4
  export MUSTER_NVML_PATH=/nowhere/libnvidia-ml.so.1
  begin_job
  eventually 20 top_has --once -- ": NVML: " RSS
  expect_status 0
  expect_in "$output" "figures are missing: "
  expect_in "$output" ": NVML: /nowhere/libnvidia-ml.so.1"
  expect_in "$output" "running"
  expect_in "$output" "RSS"
  expect_not_in "$output" "POWER"
  stop_job
  no_leftovers
}

@test "who measures lives while somebody looks, and starts again when it is gone" {
  begin --rdzv-id demo --gpus 0-3 ./waiter
  eventually 20 have 4 'up.*'
  run_muster ps
  [[ -z $(helpers) ]]
  eventually 20 both_measure
  helpers | xargs kill -KILL
  eventually 20 json_has 4 '"gpu_power_mw": 75000'
  stop_job
  no_leftovers
}
both_measure() { # one of them for the GPUs
  run_muster top --once
  [[ $(helpers | wc -w) == 2 ]]
}
helpers() { pgrep -P "$PID" -x muster-sampler || true; }

@test "who measures answers for as many workers as a node may have" {
  local kind
  python3 -c 'import sys; print("".join(f"{i},{sys.argv[1]},{sys.argv[2]};" for i in range(4096)))' "$$" "$U2" >question
  for kind in usage gpus; do
    "$MUSTER" sampler "$kind" <question >answer
    [[ $(wc -l <answer) == 1 && $(tr ';' '\n' <answer | grep -c '^sample,[0-9]*,') == 4096 ]]
    expect_not_in "$(<answer)" why,
  done
}

@test "how often each rank was started" {
  script fails_once <<'W'
: >"up.$TORCHELASTIC_RESTART_COUNT.$RANK"
if [ "$TORCHELASTIC_RESTART_COUNT.$RANK" = 0.2 ]; then until [ "$(ls up.0.* | wc -l)" = 4 ]; do sleep 0.05; done; exit 3; fi
trap 'exit 0' TERM
while :; do sleep 0.05; done
W
  begin --rdzv-id demo --gpus 0-3 --max-restarts 1 --grace 5s ./fails_once
  eventually 20 have 4 'up.1.*'
  run_muster top --once
  expect_in "$output" "RESTARTS"
  run_muster top --json
  [[ $(grep -c '"starts": 2' <<<"$output") == 4 ]]
  run_muster ps --json
  [[ $(grep -c '"starts": 2' <<<"$output") == 4 ]]
  stop_job
  no_leftovers
}

@test "on a terminal top draws in place, follows its size, and q gives the terminal back" {
  begin_job
  screen 80 24
  eventually 20 shows "STEP/S"
  eventually 20 lines_are 6
  eventually 20 are_bold RANK
  tmux -L "$SCREENS" resize-window -x 120 -y 40
  eventually 20 shows "UUID"
  eventually 20 lines_are 6
  tmux -L "$SCREENS" resize-window -x 40 -y 10
  eventually 20 shows "RANK  STATE    GPU  UTIL  POWER  STEP/S"
  eventually 20 lines_are 6
  tmux -L "$SCREENS" resize-window -x 40 -y 5
  eventually 20 shows "and 3 more ranks"
  eventually 20 lines_are 4
  keys q
  eventually 20 shows "status 0"
  shows before
  close_screen
  stop_job
  no_leftovers
}

@test "a job that ends ends top" {
  begin_job
  screen 80 24
  eventually 20 shows "job demo  running"
  stop_job
  eventually 20 shows "the job has ended"
  eventually 20 shows "status 0"
  close_screen
  no_leftovers
}

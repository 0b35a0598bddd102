#!/usr/bin/env bats
# muster top over several hosts: figures come from all of them while somebody looks, and a host that does not answer
# leaves its own unknown. Each host has the GPUs of a NVML of the tests.

load helpers
load launcher
load devices
load lab

setup_file() { lab_up 3; }
teardown_file() { lab_down; }
setup() {
  begin_test
  [[ -z $SANITIZED ]] || skip "the library of the tests has no sanitizer"
  export MUSTER_RUNTIME_DIR=$BATS_TEST_TMPDIR/sockets
  fake_driver N4
  lab_hostfile 2 1 2
  script waiter <<W
$MUSTER notify STEP=7
trap 'exit 0' TERM
: >"up.\$RANK"
while :; do sleep 0.05; done
W
}
teardown() {
  [[ -z ${SKIP_FILE-} ]] || return 0
  lab_end_test
}

# The GPUs of a node, and what its NVML says of them.
gpus_of() { # node [NAME=VALUE]...
  local word
  for word in "MUSTER_NVML_PATH=$MUSTER_NVML_PATH" "FAKE_GPU_NODE=N4" "FAKE_GPU_FILE=$FAKE_GPU_FILE" "${@:2}"; do
    echo "export '$word'"
  done >"$LAB/node$1/home/.bashrc"
}

# Looks until a view has it; the job is asked on the node that leads it.
look() { # python expression over j
  eventually 40 has "$1" || { echo "$output"; return 1; }
}
has() { # python expression over j
  lab_muster 1 top --json
  shows "$1"
}
# The same of the view that is there.
shows() { # python expression over j
  [[ $status == 0 ]] && python3 2>/dev/null -c 'import json, sys; j = json.load(sys.stdin); r = j["ranks"]; sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1" <<<"$output"
}
table_has() { # words...
  local words
  lab_muster 1 top --once
  for words; do
    [[ $output == *"$words"* ]] || return 1
  done
}
begin_job() {
  launch a 1 run --hostfile hostfile --gpus 0,1 --rdzv-id demo --grace 5s ./waiter
  eventually 60 have 4 'up.*'
}
end_job() {
  kill -TERM "${PIDS[a]}"
  ended a
  expect_status 143
  lab_ps_empty
}
measures() { # node
  lab_ps "$1" | grep -q "muster sampler"
}

@test "ranks of another host have their figures, and the one that differs is found among all" {
  gpus_of 2 'FAKE_NVML_HEALTH=power.1=300000;temp.1=71;throttle.1=36;nvlink.1=2000;pcie.0=1500'
  begin_job
  run measures 2
  [[ $status == 1 ]] # nobody has looked
  look 'all(x["is_known"] and x["step"] == 7 and x["starts"] == 1 and x["steps_per_s"] == 0 for x in r) and j["note"] is None
    and all(x["rss_bytes"] > 0 and x["cpu_percent"] >= 0 for x in r)
    and [x["differs"] for x in r] == [False, False, False, True]
    and r[2]["pcie_tx_bytes_per_s"] > r[2]["pcie_rx_bytes_per_s"] > 0.7e9
    and r[0]["nvlink_tx_bytes_per_s"] is None and r[3]["nvlink_tx_bytes_per_s"] > r[3]["nvlink_rx_bytes_per_s"] > 0.9e9'
  shows "[(x['host'], x['gpu_uuid'], x['gpu_power_mw']) for x in r] == [('node1', '$U0', 75000), ('node1', '$U1', 75000), ('node2', '$U0', 75000), ('node2', '$U1', 300000)]"
  measures 2
  eventually 40 table_has "draws 300 W, the others about 75 W" " 71 C " NVLINK
  expect_status 0
  expect_in "$output" "  *3  running  node2"
  expect_in "$output" "rank 3 differs: its GPU draws 300 W, the others about 75 W"
  expect_in "$output" " 71 C "
  expect_in "$output" "power cap, thermal"
  expect_in "$output" "NVLINK"
  lab_muster 1 ps --json
  [[ $(grep -c '"step": 7' <<<"$output") == 4 ]]
  end_job
}

@test "a host that stands still leaves its figures unknown, and the view goes on" {
  gpus_of 2
  begin_job
  look 'all(x["is_known"] for x in r)'
  netlab freeze 2 # for less than the ten seconds after which a host is lost
  eventually 5 has '[x["is_known"] for x in r] == [True, True, False, False]'
  netlab thaw 2
  shows 'r[0]["rss_bytes"] > 0 and r[3]["rss_bytes"] is None and r[3]["gpu_power_mw"] is None and r[3]["step"] is None'
  shows "r[3]['gpu_uuid'] == '$U1' and 'node2: no answer in time' in j['note']"
  look 'all(x["is_known"] for x in r) and j["note"] is None'
  end_job
}

@test "a driver that hangs on one host costs its GPUs' figures only" {
  gpus_of 2 'FAKE_NVML_FAULT=nvmlDeviceGetPowerUsage=0,delay=300000'
  begin_job
  look 'r[3]["rss_bytes"] is not None and r[3]["cpu_percent"] is not None and r[3]["step"] == 7 and r[1]["gpu_power_mw"] == 75000'
  shows 'r[3]["gpu_power_mw"] is None and "node2: " in j["note"] and "NVML" in j["note"]'
  end_job
}

@test "a command that runs no rank itself has the figures of all" {
  gpus_of 2
  gpus_of 3
  lab_hostfile 2 2 3
  begin_job
  look '[(x["host"], x["gpu_power_mw"]) for x in r] == [("node2", 75000)] * 2 + [("node3", 75000)] * 2'
  end_job
}

#!/usr/bin/env bats
# muster gpus: the map physical -> visible -> rank, and in words what changed it.
# bats file_tags=launcher

load helpers
load devices

# The line of a GPU in the table: its number, CUDA's, its rank, its UUID.
expect_row() { # index cuda rank uuid
  local line words
  for line in "${lines[@]}"; do
    read -r -a words <<<"$line"
    [[ ${words[0]-} == "$1" && ${words[1]-} == "$2" && ${words[2]-} == "$3" && ${words[3]-} == "$4" ]] && return 0
  done
  printf 'no row %s\n--- in\n%s\n' "$*" "$output"
  return 1
}
@test "all GPUs, nothing set" {
  gpus_are N4
  run_muster gpus
  expect_status 0
  expect_row 0 cuda:0 0 "$U0"
  expect_row 3 cuda:3 3 "$U3"
  for word in 00000000:B3:00.0 "NVIDIA H200" "411 / 143771" nobody "is not set: CUDA shows every GPU"; do
    expect_in "$output" "$word"
  done
  [[ -z $stderr ]]
}

@test "a list in the environment, and positions in it" {
  gpus_are N4
  export CUDA_VISIBLE_DEVICES=2,0,1
  run_muster gpus --gpus 0,2
  expect_status 0
  expect_row 2 cuda:0 0 "$U2"
  expect_row 0 cuda:1 - "$U0"
  expect_row 1 cuda:2 1 "$U1"
  expect_row 3 hidden - "$U3"
  expect_in "$output" "CUDA_VISIBLE_DEVICES=2,0,1: CUDA shows 3 of 4 GPUs"
  expect_in "$output" "cuda:0 is GPU 2"
}

@test "what CUDA does to a malformed value, without a word of its own" {
  gpus_are N4
  CUDA_VISIBLE_DEVICES=0-2 run_muster gpus
  expect_status 0
  expect_in "$output" 'reads only the number in front of "0-2"'
  CUDA_VISIBLE_DEVICES=1,9,0 run_muster gpus
  expect_in "$output" 'stops reading CUDA_VISIBLE_DEVICES at "9,0"'
  expect_row 0 hidden - "$U0"
  CUDA_VISIBLE_DEVICES=1,1 run_muster gpus
  expect_status 0
  expect_in "$output" "error 101"
  expect_row 0 error - "$U0"
  CUDA_VISIBLE_DEVICES='[0, 1]' run_muster gpus
  expect_in "$output" "error 100"
  expect_in "$output" "Brackets and quotes"
  expect_in "$output" "would refuse"
  CUDA_VISIBLE_DEVICES='' run_muster gpus
  expect_in "$output" "set and empty"
}

@test "variables of others are explained and never counted on" {
  gpus_are N4
  NVIDIA_VISIBLE_DEVICES=1 SLURM_JOB_GPUS=4,5 CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_DEVICE_ORDER=PCI_BUS_ID run_muster gpus
  expect_status 0
  expect_row 0 cuda:0 0 "$U0"
  expect_row 3 cuda:3 3 "$U3"
  for word in "NVIDIA_VISIBLE_DEVICES=1 was for the container runtime" "SLURM_JOB_GPUS=4,5: what Slurm gave this" \
    "CUDA_MPS_PIPE_DIRECTORY=/tmp/mps" "CUDA_DEVICE_ORDER=PCI_BUS_ID"; do
    expect_in "$output" "$word"
  done
}

@test "MIG instances have rows of their own" {
  gpus_are NMIG
  run_muster gpus --binding isolated
  expect_status 0
  expect_row 0:1 - 1 MIG-bbbb0002-0000-5000-8000-000000000002
  expect_row 1 cuda:1 3 "$U2"
  expect_in "$output" "MIG on, 3 instances"
}

@test "who uses a GPU: processes and their ids, from NVML" {
  fake_driver NBUSY
  run_muster gpus
  expect_status 0
  expect_in "$output" "2 processes: pid 1000,1001, 90 %"
  expect_in "$output" "nobody to be seen from here"
}

@test "options that run would refuse: the table, the refusal, status 2" {
  gpus_are N4
  run_muster gpus --gpus 9
  expect_status 2
  expect_row 0 cuda:0 - "$U0"
  expect_in "$stderr" "no position 9"
}

@test "takes options only, and says which command takes a program" {
  run_muster gpus train.py
  expect_status 2
  expect_in "$stderr" "muster plan [options] train.py"
}

@test "--json" {
  gpus_are N4
  CUDA_VISIBLE_DEVICES=2,0,9 run_muster gpus --json --gpus 1
  expect_status 0
  [[ $(json 'j["schema"], j["cuinit"]') == "('muster-gpus/1', 0)" ]]
  [[ $(json '[(g["index"], g["cuda"], g["ranks"]) for g in j["gpus"]]') == "[(0, 1, [0]), (1, None, []), (2, 0, []), (3, None, [])]" ]]
  [[ $(json 'j["environment"]["CUDA_VISIBLE_DEVICES"], j["warnings"][0]["class"]') == "('2,0,9', 'W_TRUNC')" ]]
  CUDA_VISIBLE_DEVICES=0,0 run_muster gpus --json
  [[ $(json 'j["cuinit"], "error 101" in j["refused"]') == "(101, True)" ]]
}

@test "no driver: says what is missing" {
  [[ ! -e /dev/nvidiactl && ! -e /proc/driver/nvidia ]] || skip "this machine has a driver"
  run_muster gpus
  [[ $status -eq 0 || $status -eq 78 ]]
  expect_in "$output" "no driver"
}

@test "a driver that tells nothing: status 78, the reason and the remedy" {
  MUSTER_NVML_PATH=$PWD/none.so run_muster gpus
  expect_status 78
  expect_in "$output" "none.so: cannot open"
  expect_in "$output" "NVIDIA_DRIVER_CAPABILITIES"
}

@test "lines keep to 100 columns in a pipe" {
  gpus_are N8
  run_muster gpus
  for line in "${lines[@]}"; do
    [[ ${#line} -le 100 ]] || { echo "long: $line"; return 1; }
  done
  expect_in "$output" GPU-80000000-0000-4000-8000-000000000007
}

# CUDA's own order: a muster-worker of the test answers instead of CUDA.
ask_the_toy() { # its script on standard input
  mkdir -p bin
  { echo '#!/bin/sh'; cat; } >bin/muster-worker
  chmod +x bin/muster-worker
  export PATH=$PWD/bin:$PATH
  gpus_are NHET
}

@test "mixed GPUs in CUDA's own order: muster-worker --probe is asked, with every GPU in view" {
  ask_the_toy <<END
[ "\$1" = --probe ] && [ "\$CUDA_DEVICE_ORDER" = FASTEST_FIRST ] && [ -z "\${CUDA_VISIBLE_DEVICES+x}" ] || exit 9
echo "a remark of some library"
echo $U2
echo $U0
END
  CUDA_DEVICE_ORDER=FASTEST_FIRST CUDA_VISIBLE_DEVICES=0 run_muster gpus
  expect_status 0
  expect_row 1 cuda:0 0 "$U2"
  expect_row 0 hidden - "$U0"
  expect_in "$output" "CUDA's own order"
  CUDA_DEVICE_ORDER=FASTEST_FIRST run_muster run env
  expect_status 0
  expect_in "$output" "CUDA_VISIBLE_DEVICES=$U2,$U0"
}

@test "nobody is asked where the order does not matter" {
  ask_the_toy <<<'echo asked >>asked; exit 1'
  run_muster gpus
  expect_status 0
  CUDA_DEVICE_ORDER=FASTEST_FIRST CUDA_VISIBLE_DEVICES=$U0 run_muster gpus
  expect_status 0
  gpus_are N4
  CUDA_DEVICE_ORDER=FASTEST_FIRST run_muster gpus
  expect_status 0
  [[ ! -e asked ]]
}

@test "an answer that is none" {
  ask_the_toy <<<'echo "all is well"'
  CUDA_DEVICE_ORDER=FASTEST_FIRST run_muster gpus
  expect_in "$stderr" "muster-worker --probe names no GPU"
  # shellcheck disable=SC2016 # the toy's own pid
  ask_the_toy <<<'kill -9 $$'
  CUDA_DEVICE_ORDER=FASTEST_FIRST run_muster gpus
  expect_in "$stderr" "failed: it said nothing"
}

@test "the real muster-worker --probe without a driver: what is known, one line of reason, status 17" {
  [[ ! -e /dev/nvidiactl ]] || skip "this machine has a driver"
  bats_require_minimum_version 1.5.0
  run --separate-stderr bounded "$MUSTER_WORKER" --probe
  expect_status 17
  [[ ${#stderr_lines[@]} -eq 1 ]]
  expect_not_in "$output" "GPU-"
  local line
  for line in "${lines[@]}"; do [[ $line =~ ^[a-z_]+= ]]; done
  if [[ $stderr != *"built without CUDA"* ]]; then
    expect_in "$output" "driver=0"
    expect_in "$output" "count=0"
    expect_in "$output" "nccl_header="
  fi
}

# A remote shell that logs in nowhere: on host "here" it runs the words, on others it fails as ssh does.
fake_ssh() {
  cat >fake-ssh <<'W'
#!/bin/sh
for word; do host=$last; last=$word; done
case $host in
here*) exec sh -c "$last" ;;
*) echo "ssh: $host: Permission denied (publickey)." >&2; exit 255 ;;
esac
W
  chmod +x fake-ssh
}

@test "over a list of hosts: one table, equal hosts together, failures named" {
  gpus_are N4
  fake_ssh
  run_muster gpus --ssh "$PWD/fake-ssh" --hosts here1:2,here2:2,here3:2 --exclude here3:0
  expect_status 0
  [[ ${lines[1]} =~ ^here1-here3\ +0\ +cuda:0\ +0\ +NVIDIA\ H200\ +143771\ +nobody$ && ${lines[3]} =~ ^\ +2\ +cuda:2\ +-\  ]]
  [[ ${#lines[@]} -eq 5 && -z $stderr ]]
  printf 'here1 slots=4\nhere2 slots=2 gpus=1,3\nother1\nother2\n' >hosts
  run_muster gpus --ssh "$PWD/fake-ssh" --hostfile hosts
  expect_status 69
  [[ ${lines[1]} =~ ^here1\ +0\ +cuda:0\ +0\  && ${lines[6]} =~ ^\ +1\ +cuda:1\ +0\  && ${#lines[@]} -eq 9 ]]
  expect_in "$stderr" "other1, other2: ssh: HOST: Permission denied (publickey)."
  run_muster gpus --json --ssh "$PWD/fake-ssh" --hostfile hosts
  expect_status 69
  [[ $(python3 -c 'import json, sys
j = json.load(sys.stdin)
print(j["schema"], [(h["host"], h["answer"] and len(h["answer"]["gpus"]), bool(h["failed"])) for h in j["hosts"]])' <<<"$output") == \
    "muster-hosts-gpus/1 [('here1', 4, False), ('here2', 4, False), ('other1', None, True), ('other2', None, True)]" ]]
}

@test "over a list of hosts: what run would refuse there, no GPU, another version, an answer that is none" {
  gpus_are N4
  fake_ssh
  run_muster gpus --ssh "$PWD/fake-ssh" --hosts here1,here2 --gpus 9
  expect_status 2
  expect_in "$stderr" "here1, here2: --gpus 9: no position 9 among the visible GPUs"
  MUSTER_FAKE_GPUS='' MUSTER_NVML_PATH=/nowhere run_muster gpus --hosts localhost
  expect_in "$output" "localhost  none"
  script() { { echo '#!/bin/sh'; cat; } >"$1" && chmod +x "$1"; }
  script old <<'W'
echo "muster-agent 1 ${2#--boot=} 0.0.9"; exec cat >/dev/null
W
  run_muster gpus --ssh "$PWD/fake-ssh" --remote-muster "$PWD/old" --hosts here1
  expect_status 69
  expect_in "$stderr" "here1: its muster has version 0.0.9"
  script other <<'W'
echo "muster-agent 1 ${2#--boot=} VERSION"; head -c 10 >/dev/null; echo "answer {}"; echo "answered 0"; exec cat >/dev/null
W
  sed -i "s/VERSION/$("$MUSTER" version | head -1 | cut -d' ' -f2)/" other
  run_muster gpus --ssh "$PWD/fake-ssh" --remote-muster "$PWD/other" --hosts here1
  expect_status 69
  expect_in "$stderr" "here1: its answer is none: not of the schema muster-gpus/1"
  script deaf <<'W'
exec sleep 600
W
  run_muster gpus --ssh "$PWD/deaf" --join-timeout 1 --hosts here1,here2
  expect_status 69
  expect_in "$stderr" "here1, here2: no answer within 1 s"
  run_muster gpus --hosts a --hostfile b
  expect_status 2
  run_muster gpus --engine slurm --hosts a
  expect_status 2
  [[ -z $output ]]
}

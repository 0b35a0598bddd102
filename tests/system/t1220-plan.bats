#!/usr/bin/env bats
# muster plan: what run would do with the same words; nothing is started, nothing is left.
# bats file_tags=launcher

load helpers
load devices

gpus_by_rank() {
  json '[[(g["index"], g["cuda"]) for g in w["gpus"]] for w in j["workers"]]'
}

@test "each rank's GPU, CUDA's name for it, argv, environment, origins" {
  gpus_are N4
  printf '#!/bin/sh\necho >>started\n' >train.sh
  chmod +x train.sh
  PET_MAX_RESTARTS=2 MUSTER_GPUS=2,0 run_muster plan --grace 5 ./train.sh --lr "0 1"
  expect_status 0
  not_started
  for word in "2 workers on 1 node, binding shared; nothing was started" "./train.sh --lr '0 1'" \
    "0    2  $U2  00000000:B3:00.0  cuda:0" "1    0  $U0  00000000:17:00.0  cuda:1" \
    "any free port"; do
    expect_in "$output" "$word"
  done
  [[ $output =~ WORLD_SIZE\ +2 && $output =~ CUDA_VISIBLE_DEVICES\ +2,0 && $output =~ LOCAL_RANK\ +0,\ 1 ]]
  [[ $output =~ --grace\ 5s\ +command\ line && $output =~ --gpus\ 2,0\ +MUSTER_GPUS ]]
  [[ $output =~ --max-restarts\ 2\ +PET_MAX_RESTARTS && $output =~ defaults:.*procs-per-gpu ]]
}

@test "what the plan says of each rank's environment is what run gives" {
  gpus_are N4
  local mode name
  for mode in shared isolated isolated-virtual rotated; do
    run_muster plan --json --binding $mode --gpus 3,1 --master-port 29999 --rdzv-id job env
    expect_status 0
    json '"\n".join("%d %s=%s" % (w["rank"], k, v) for w in j["workers"] for k, v in w["environment"].items())' |
      grep -v ERROR_FILE | sort >planned
    run_muster run --binding $mode --gpus 3,1 --rdzv-id job --prefix '{rank} ' env
    expect_status 0
    for name in $(cut -d' ' -f2 planned | cut -d= -f1 | sort -u); do
      grep -E "^[01] $name=" <<<"$output" | sed 's/MASTER_PORT=.*/MASTER_PORT=29999/'
    done | sort >given
    diff planned given
  done
}

@test "what an outer launcher left is hidden, and the plan lists it" {
  gpus_are N4
  SLURM_PROCID=3 OMPI_COMM_WORLD_RANK=5 run_muster plan -n 1 true
  expect_status 0
  expect_in "$output" "hidden from workers"
  expect_in "$output" "SLURM_PROCID=3"
  expect_in "$output" "OMPI_COMM_WORLD_RANK=5"
  expect_not_in "$output" "HOME="
  run_muster plan -v -n 1 true
  expect_in "$output" "passed on unchanged"
  expect_in "$output" "HOME="
}

@test "log paths are said and no folder is made" {
  gpus_are N4
  run_muster plan --log-dir logs --rdzv-id night -n 2 true
  expect_status 0
  expect_in "$output" "logs/night/0/rank-<rank>.out"
  run_muster plan --json --log-dir logs --rdzv-id night -n 2 true
  [[ $(json '[w["stderr"] for w in j["workers"]]') == "['logs/night/0/rank-0.err', 'logs/night/0/rank-1.err']" ]]
  [[ ! -e logs ]]
  mkdir tmp
  TMPDIR=$PWD/tmp run_muster plan -n 2 --binding none true
  expect_status 0
  [[ -z $(ls tmp) ]]
}

# With the same words and status by run and by plan.
refused_alike() { # arguments...
  local want said
  run_muster run "$@"
  want=$status said=$stderr
  run_muster plan "$@"
  [[ $status -eq $want && $want -ne 0 && $stderr == "$said" && -z $output ]] ||
    { printf '%s: run %s %s\nplan %s %s\n' "$*" "$want" "$said" "$status" "$stderr"; return 1; }
}
@test "refused as run refuses: GPU, program, option" {
  gpus_are N4
  local words
  for words in "--gpus 9 true" "no-such-program" "./none.py" "--grace x true" "-n 9 true" "$PWD"; do
    # shellcheck disable=SC2086 # words
    refused_alike $words
  done
}

@test "warnings are said on standard error, and stand in the JSON" {
  gpus_are N4
  CUDA_VISIBLE_DEVICES=1,7 run_muster plan --json true
  expect_status 0
  expect_in "$stderr" 'stops reading at "7"'
  [[ $(json '[w["class"] for w in j["warnings"]]') == "['W_TRUNC']" ]]
}

@test "several GPUs a worker, several workers a GPU, no GPU" {
  gpus_are N4
  run_muster plan --json --gpus-per-proc 2 true
  [[ $(gpus_by_rank) == "[[(0, 0), (1, 1)], [(2, 2), (3, 3)]]" ]]
  run_muster plan --json --gpus 1 --procs-per-gpu 2 true
  [[ $(gpus_by_rank) == "[[(1, 0)], [(1, 0)]]" ]]
  run_muster plan --json --gpus none -n 2 true
  [[ $(gpus_by_rank) == "[[], []]" ]]
  run_muster plan --gpus none -n 2 true
  expect_in "$output" "no GPU"
}

@test "every option has a value and an origin in the JSON" {
  gpus_are N4
  MUSTER_TIMEOUT=90 run_muster plan --json -n 2 -v true
  expect_status 0
  [[ $(json 'j["options"]["nproc-per-node"], j["options"]["timeout"]') == \
    "({'value': '2', 'from': 'command line'}, {'value': '90s', 'from': 'MUSTER_TIMEOUT'})" ]]
  [[ $(json 'j["options"]["grace"]') == "{'value': '25s', 'from': 'default'}" ]]
}

@test "--json is no option of run" {
  run_muster run --json true
  expect_status 2
  expect_in "$stderr" "--json is for muster plan"
}

@test "bytes that are no UTF-8, and codes of a terminal, break nothing" {
  gpus_are N4
  SLURM_PROCID=$'\xff\x01' CUDA_VISIBLE_DEVICES=$'0,\xfe' run_muster plan --json true
  expect_status 0
  [[ $(json 'j["world_size"]') == 1 ]]
  SLURM_PROCID=$'\x1b[2J' run_muster plan true
  expect_not_in "$output" $'\x1b'
  CUDA_VISIBLE_DEVICES=$'0,\x1b[2J' run_muster gpus
  expect_not_in "$output" $'\x1b'
}

@test "over a list of hosts: ranks, what decides them, nobody is asked" {
  cat >ssh-must-not-run <<'W'
#!/bin/sh
echo >>started
W
  chmod +x ssh-must-not-run
  printf 'a slots=2\nb slots=1 gpus=5 iface=ib0\nlocalhost\n' >hosts
  run_muster plan --ssh "$PWD/ssh-must-not-run" --hostfile hosts train.py
  expect_status 0
  not_started
  for line in "0     a                     0-1        0-1    hosts:1               decided on a          -" \
    "1     b                     2          0      hosts:2               5 (hosts:2)           iface=ib0" \
    "2     localhost (this one)  from 3 on  -      decided on localhost  decided on localhost  -"; do
    expect_in "$output" "$line"
  done
  [[ -z $stderr ]]
  run_muster plan --json --hosts a:4,b:4 train.py
  expect_status 0
  [[ $(json 'j["schema"], j["world_size"], [(n["host"], n["first_rank"], n["workers"], n["workers_from"]) for n in j["nodes"]]') == \
    "('muster-hosts-plan/1', 8, [('a', 0, 4, '--hosts'), ('b', 4, 4, '--hosts')])" ]]
  [[ $(json '[w["class"] for w in j["warnings"]], j["nodes"][1]["gpus"], j["options"]["hosts"]["from"]') == \
    "(['W_HEAD'], None, 'command line')" ]]
  expect_in "$stderr" "is none of the hosts: programs whose rank 0 listens at MASTER_ADDR itself cannot work"
  run_muster plan --json --hosts a,b -n 2 train.py
  [[ $(json 'j["world_size"], j["nodes"][0]["workers_from"]') == "(4, 'command line')" ]]
}

@test "a list of hosts that run refuses: the same words and status" {
  printf 'a slots=2\na slots=3\n' >twice
  printf 'localhost slots=1 iface=eth9x\n' >iface
  local words
  for words in "--hostfile twice true" "--hostfile iface true" "--hosts a,b --nnodes 3 true" "--hosts a -x NOSUCH true" \
    "--hosts a --ssh ./none true" "--hosts a --exclude a true"; do
    # shellcheck disable=SC2086 # words
    refused_alike $words
  done
  run_muster plan --nnodes 2 --rdzv-endpoint localhost:1 true
  expect_status 2
  expect_in "$stderr" "muster plan shows this node, or the hosts of a list"
}

#!/usr/bin/env bats
# muster check on the host backend: what it says, writes and ends with, for a good group and for each way to fail.

load helpers
load launcher

# A small test: what is measured does not matter here.
SMALL=(--sizes "8,64K" --iters 2)
# What the preflight would say of the machine of the tests: /dev/shm may be small, its name unknown.
MACHINE_RULES=(--skip shm.size --skip net.name)

run_check() { # arguments of muster check
  run_muster check "${MACHINE_RULES[@]}" "$@"
}

# Lines of Python on the JSON object c, in the file.
json_holds() { # file expression
  python3 - "$1" "$2" <<'PY'
import json, sys
c = json.load(open(sys.argv[1]))
if not eval(sys.argv[2]):
    sys.exit(f"not so: {sys.argv[2]}\n{json.dumps(c, indent=1)[:4000]}")
PY
}

verdict_is() { # text: the last line of standard output begins so
  [[ ${lines[-1]} == "$1"* ]] || { printf 'the last line is: %s\n--- stderr\n%s\n' "${lines[-1]}" "$stderr"; return 1; }
}

@test "a good group: one screen, the verdict last, every report" {
  run_check -n 3 "${SMALL[@]}" --json c.json --csv c.csv --junit c.xml --html c.html
  expect_status 0
  verdict_is "PASS: every byte right; peak busbw "
  [[ ${#lines[@]} -lt 24 ]]
  [[ ${lines[0]} == "muster check: 3 ranks on 1 node, backend host" ]]
  expect_in "$stderr" "no GPU here: without one muster-worker tests on its host backend"
  json_holds c.json "c['schema'] == 'muster.check/1' and c['verdict']['status'] == 'pass' and c['verdict']['exit'] == 0"
  json_holds c.json "len(c['ranks']) == 3 and all(set(r['reached_ms']) >= {'started', 'init_enter', 'init_done'} for r in c['ranks'])"
  json_holds c.json "all(r['reached_ms']['warm'] >= r['reached_ms']['init_done'] for r in c['ranks'])"
  json_holds c.json "len(c['results']) >= 4 and all(r['verdict'] == 'pass' and r['wrong'] == 0 for r in c['results'] if r['wrong'] is not None)"
  json_holds c.json "c['preflight'] == [] and c['errors'] == [] and c['job']['id']"
  python3 - <<'PY'
import csv, xml.dom.minidom
rows = list(csv.DictReader(open("c.csv")))
assert {r["bytes"] for r in rows} == {"8", "65536"} and all(r["verdict"] == "pass" for r in rows), rows
suite = xml.dom.minidom.parse("c.xml").documentElement
cases = suite.getElementsByTagName("testcase")
assert suite.getAttribute("failures") == "0" and len(cases) == int(suite.getAttribute("tests")) == len(rows) + 1
PY
  grep -q "<!DOCTYPE html>" c.html
  no_leftovers
}

@test "on a terminal the verdict has its colour, unless NO_COLOR is set" {
  : >keys
  run on_terminal keys "$MUSTER" check "${MACHINE_RULES[@]}" -n 2 --test allreduce --sizes 8
  expect_in "$output" $'\e[1;32mPASS\e[0m: every byte right'
  NO_COLOR=1 run on_terminal keys "$MUSTER" check "${MACHINE_RULES[@]}" -n 2 --test allreduce --sizes 8
  expect_in "$output" "PASS: every byte right"
  expect_not_in "$output" $'\e'
}

@test "wrong data is status 10 and names the rank" {
  run_check -n 3 "${SMALL[@]}" --inject corrupt:rank=1,size=64K --json c.json --junit c.xml
  expect_status 10
  verdict_is "FAIL: WRONG DATA: "
  expect_in "${lines[-1]}" "rank 1"
  json_holds c.json "c['verdict']['status'] == 'fail' and c['verdict']['exit'] == 10"
  grep -q "<failure" c.xml
}

@test "a slow rank is named, and is a warning" {
  run_check -n 3 --sizes 64K --iters 2 --inject slow:rank=2,ms=200
  expect_status 0
  verdict_is "WARN: rank 2 is slow"
}

@test "a rank that hangs is status 12, with its last phase" {
  run_check -n 3 "${SMALL[@]}" --inject hang:rank=1,phase=cuda_ok --deadline cuda_ok=2 --json c.json --html c.html
  expect_status 12
  verdict_is "FAIL: rank 1 (host "
  expect_in "${lines[-1]}" "has not reached cuda_ok; last phase started"
  json_holds c.json "c['verdict']['exit'] == 12 and c['results'] == [] and list(c['ranks'][1]['reached_ms']) == ['started']"
  json_holds c.json "'cuda_ok' in c['ranks'][0]['reached_ms']"
}

@test "a rank that dies is the job's status, with its last phase" {
  run_check -n 3 "${SMALL[@]}" --inject die:rank=2,phase=init_enter,signal=9
  expect_status 137
  verdict_is "FAIL: rank 2 failed first: signal 9 (SIGKILL)"
  expect_in "${lines[-1]}" "its last phase: cuda_ok"
}

@test "a late rank is waited for" {
  run_check -n 2 "${SMALL[@]}" --inject late:rank=1,phase=started,s=2 --json c.json
  expect_status 0
  # On a busy machine rank 0 may be late, too, but less so.
  json_holds c.json "c['ranks'][1]['reached_ms']['started'] - c['ranks'][0]['reached_ms']['started'] >= 500"
  json_holds c.json "c['ranks'][0]['reached_ms']['cuda_ok'] >= c['ranks'][1]['reached_ms']['started']"
}

@test "slower than demanded is status 11" {
  run_check -n 2 --sizes 64K --iters 2 --min-busbw 100000 --json c.json
  expect_status 11
  verdict_is "FAIL: too slow: "
  expect_in "${lines[-1]}" "below the 100000 demanded"
  json_holds c.json "c['verdict']['exit'] == 11 and all(r['verdict'] == 'fail' for r in c['results'])"
}

@test "one rank has no peer: no pass" {
  run_check -n 1 --sizes 8
  expect_status 17
  verdict_is "NOT TESTED: "
}

@test "standard output may be any one of the reports, and is then nothing else" {
  run_check -n 2 --sizes 8 --iters 1 --json -
  expect_status 0
  printf '%s\n' "$output" >c.json
  json_holds c.json "c['verdict']['exit'] == 0"
  expect_in "$stderr" "PASS: every byte right"
  run_check -n 2 --sizes 8 --iters 1 --csv -
  [[ ${lines[0]} == collective,type,op,bytes,* && ${#lines[@]} -ge 2 ]]
  run_check -n 2 --sizes 8 --json - --csv -
  expect_status 2
  expect_in "$stderr" "only one of --json, --csv, --html and --junit can be -"
}

@test "the columns of nccl-tests" {
  run_check -n 2 --sizes 64K --iters 2 --format nccl-tests
  expect_status 0
  expect_in "$output" "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
  [[ $output =~ $'\n'\ +65536\ +16384\ +float\ +sum ]]
}

@test "a bad word is one line and status 2, and nothing is started" {
  local words
  while read -r -a words; do
    echo "words: ${words[*]}"
    run_check "${words[@]}"
    expect_status 2
    [[ -z $output && ${#stderr_lines[@]} -eq 1 ]]
  done <<'END'
-n 2 --tpye float
-n 2 --type floot
-n 2 --sizes 8,huge
-n 2 --inject hang
-n 2 train.py
-n 2 --json /nowhere/c.json
-n 2 --html
-n 2 --format xml
-n 2 -- -t 2
-n 0
END
}

@test "what only the ranks can refuse ends with a verdict, too" {
  local words
  while read -r -a words; do
    echo "words: ${words[*]}"
    run_check "${words[@]}" --json c.json
    expect_status 2
    verdict_is "FAIL: "
    json_holds c.json "c['verdict']['exit'] == 2"
  done <<'END'
-n 3 --test hypercube
-n 2 --inject hang:rank=2 --root 0
-n 2 --sizes 900T --root 0
END
}

@test "nothing to test is no failure and no pass" {
  run_check -n 2 --test isolate
  expect_status 17
  verdict_is "NOT TESTED: nothing was tested: isolate was left out: it takes 3 to 16 ranks"
  run_check -n 1 --test pairs
  expect_status 17
  verdict_is "NOT TESTED: nothing was tested: pairs was left out: one rank has no peer"
  LIAR_STATUS=17 run_check -n 2 --worker liar
  expect_status 17
  verdict_is "NOT TESTED: nothing was tested: "
}

@test "a report that cannot be written is no pass" {
  run_check -n 2 "${SMALL[@]}" --json /dev/full
  expect_status 125
  verdict_is "PASS"
  expect_in "$stderr" "--json: cannot write /dev/full: No space left on device"
}

@test "hosts that do not answer are counted" {
  run_muster check --hosts nowhere,elsewhere --ssh false "${SMALL[@]}"
  expect_status 69
  verdict_is "FAIL: 2 of 2 hosts did not answer: nothing was started"
}

@test "GPUs of another host that were not tested are a warning" {
  printf '#!/bin/bash\nMUSTER_FAKE_GPUS=%q exec sh -c "${@: -1}"\n' "$SOURCE/tests/vectors/devices/inventories.json:N4" >ssh
  chmod +x ssh
  run_muster check --hosts other:2 --ssh "$PWD/ssh" --only env.leftover --test allreduce --sizes 8
  expect_status 0
  verdict_is "WARN: the GPUs that are there were not tested: muster-worker has used its host backend"
  run_muster check --hosts other:2 --gpus none --ssh "$PWD/ssh" --only env.leftover --test allreduce --sizes 8
  verdict_is "PASS: every byte right"
}

@test "a worker that does not answer what it is asked first is not started" {
  printf '#!/bin/sh\nexec yes\n' >endless
  chmod +x endless
  run_check -n 2 --worker ./endless
  expect_status 69
  [[ -z $output && ${#stderr_lines[@]} -eq 1 ]]
  expect_in "$stderr" "is it muster-worker?"
}

@test "without GPUs the number of ranks is asked for" {
  run_check
  expect_status 2
  [[ -z $output ]]
  expect_in "$stderr" "say how many, with -n N"
}

@test "a report is replaced as a whole" {
  echo old >c.json
  ln c.json kept
  run_check -n 2 --sizes 8 --iters 1 --json c.json
  expect_status 0
  [[ $(<kept) == old ]]
  json_holds c.json "c['verdict']['exit'] == 0"
  [[ -z $(compgen -G 'c.json.*') ]]
}

@test "a worker that leaves nothing, or no result, is no pass" {
  run_check -n 2 --worker liar --json c.json
  expect_status 17
  verdict_is "NOT TESTED: nothing was tested: the worker left no figures"
  json_holds c.json "c['schema'] == 'muster.check/1' and c['results'] == [] and len(c['ranks']) == 2"
  local text
  for text in '{"schema": "muster.che' '[]' '{"schema":"other/1"}'; do
    LIAR_RESULT=$text run_check -n 2 --worker liar --json c.json
    expect_status 17
    expect_in "$output" "the worker's result is no"
    json_holds c.json "len(c['errors']) == 1"
  done
  LIAR_RESULT='{"schema":"muster.check/1","results":[1,{}],"ranks":"all"}' run_check -n 2 --worker liar
  expect_status 17
  LIAR_STATUS=13 run_check -n 2 --worker liar
  expect_status 13
  verdict_is "FAIL: rank "
}

@test "no worker, or none that can be executed" {
  run_check -n 2 --worker ./missing
  expect_status 127
  echo 'no program' >file
  run_check -n 2 --worker ./file
  expect_status 126
}

@test "a result of GPUs is held against what their links should give" {
  load devices
  fake_driver N4
  printf '#!/bin/sh\necho driver=13000\necho runtime=13000\necho code=0\n' >probe
  chmod +x probe
  export MUSTER_PROBE=$PWD/probe
  local result
  result=$(<"$SOURCE/tests/vectors/check/slow.json")
  result=${result//NCCL_NVLS/NVLS}
  LIAR_RESULT=$result run_check --worker liar --json c.json --junit c.xml
  expect_status 11
  verdict_is "FAIL: too slow: all_reduce of 1G out of place: busbw 259.4 GB/s, 70 % of the expected 371"
  expect_in "$output" "expected: 371 GB/s at 256M and more: 18 NVLinks of 20.6 GB/s from each GPU to the NVSwitch"
  expect_in "$output" "link 2-3 is slow"
  json_holds c.json "abs(c['expected']['busbw'] - 370.8) < 0.1 and c['results'][1]['verdict'] == 'fail'"
  LIAR_RESULT=$(<"$SOURCE/tests/vectors/check/h200.json") run_check --worker liar
  expect_status 0
  verdict_is "PASS: every byte right; peak busbw 357.0 GB/s, 96 % of the expected 371"
}

@test "a size that memory does not hold is refused at once, with how much there is" {
  run_check -n 3 --sizes 8,900T
  expect_status 2
  verdict_is "FAIL: --sizes: 900T does not fit; memory holds "
  [[ ${lines[-1]} =~ holds\ [0-9]+M?\ a\ buffer ]]
  no_leftovers
}

@test "the largest size is tested, whatever it divides by" {
  run_check -n 2 --sizes 8,1000 --iters 1 --csv c.csv
  expect_status 0
  grep -q "1000" c.csv
  expect_not_in "$output" "left out"
}

@test "a library that is named and not there is a usage error, whichever backend is taken" {
  local backend
  for backend in "" "--backend host" "--backend nccl"; do
    # shellcheck disable=SC2086 # two words, or none
    run_check -n 2 "${SMALL[@]}" $backend --nccl /nonexistent/libnccl.so
    expect_status 2
    verdict_is "FAIL: rank "
    expect_in "${lines[-1]}" "--nccl: /nonexistent/libnccl.so: "
  done
  run_check -n 2 "${SMALL[@]}" --backend host --nccl libnccl-of-nobody.so.2
  expect_status 2
  expect_in "${lines[-1]}" "--nccl: libnccl-of-nobody.so.2: "
  run_check -n 2 "${SMALL[@]}" --backend host --nccl libc.so.6 # there, and not used
  expect_status 0
}

@test "--bisect names the setting without which it works" {
  LIAR_STATUS=13 LIAR_CURE=NCCL_SHM_DISABLE=1 run_check -n 2 --worker liar --bisect --json c.json
  expect_status 13
  expect_in "$output" "bisect: it passes with NCCL_SHM_DISABLE=1: without shared memory between processes"
  json_holds c.json "any('NCCL_SHM_DISABLE=1' in n for n in c['notes'])"
  LIAR_STATUS=13 run_check -n 1 --worker liar --bisect
  expect_status 13
  expect_in "$output" "bisect: it fails with each of 7 settings, too"
  LIAR_STATUS=2 run_check -n 1 --worker liar --bisect
  expect_not_in "$output" "bisect"
}

@test "--bisect does not pass on the host backend what failed on GPUs" {
  printf '#!/bin/bash\necho "${NCCL_P2P_DISABLE-first}: $*" >>words\nexec liar "$@"\n' >heard
  chmod +x heard
  LIAR_RESULT=$(<"$SOURCE/tests/vectors/check/h200.json") LIAR_STATUS=14 LIAR_CURE=NCCL_P2P_DISABLE=1 \
    run_check -n 1 --worker ./heard --bisect
  expect_status 14
  [[ $(grep -c '^1: .*--backend nccl$' words) -eq 1 && $(grep -c backend words) -eq 1 ]]
}

@test "Ctrl-C ends it, and the reports say so" {
  begin check "${MACHINE_RULES[@]}" -n 2 "${SMALL[@]}" --inject hang:rank=1,phase=cuda_ok --json c.json
  eventually 20 have_children
  kill -INT "$PID"
  end_within 20
  expect_status 130
  json_holds c.json "c['verdict']['exit'] == 130 and 'signal 2' in c['verdict']['text']"
  no_leftovers
}
have_children() {
  [[ $(pgrep -c -P "$PID" -x muster-worker) -eq 2 ]]
}

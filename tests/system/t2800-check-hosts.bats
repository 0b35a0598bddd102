#!/usr/bin/env bats
# muster check over several hosts, on the host backend: each link measured, a slow one and a blocked direction named.

load helpers
load launcher
load lab

setup_file() {
  lab_up 3
}
teardown_file() { lab_down; }
teardown() {
  [[ -z ${LAB-} || -n ${SKIP_FILE-} ]] || netlab unblock 3
  lab_end_test
}

HOSTS=node1:1,node2:1,node3:1
PAIRS=(--test "allreduce,pairs" --sizes "8,64K" --iters 2)

json_holds() { # expression
  python3 -c 'import json, sys; c = json.load(open("c.json")); sys.exit(0 if eval(sys.argv[1]) else "not so: " + sys.argv[1])' "$1"
}

@test "every link between hosts is measured, both ways" {
  lab_muster 1 check --hosts "$HOSTS" "${PAIRS[@]}" --json "$PWD/c.json"
  expect_status 0
  expect_in "$output" "muster check: 3 ranks on 3 nodes, backend host"
  json_holds "[r['host'] for r in c['ranks']] == ['node1', 'node2', 'node3'] and c['job']['nodes'] == 3"
  json_holds "all(c['pairs'][m][a][b] > 0 for m in ('uni', 'bidi', 'latency_us') for a in range(3) for b in range(3) if a != b)"
  [[ $(grep -c 'one way from row to column' <<<"$output") -eq 1 ]]
}

@test "a slow link is named" {
  lab_muster 1 check --hosts "$HOSTS" --test pairs --iters 2 --inject slowlink:a=1,b=2,ms=60 --json "$PWD/c.json"
  expect_status 0
  expect_in "${lines[-1]}" "WARN: link 1-2 is slow"
  json_holds "[(o['a'], o['b']) for o in c['pairs']['outliers']] == [(1, 2)]"
}

@test "a blocked direction is found before anything starts" {
  netlab block 3 2
  lab_muster 1 check --hosts "$HOSTS" "${PAIRS[@]}" --json "$PWD/c.json"
  expect_status 78
  expect_in "$output" "net.reach"
  expect_in "${lines[-1]}" "FAIL: the preflight found an error: "
  json_holds "any(f['rule'] == 'net.reach' and 'node3' in f['seen'] for f in c['preflight']) and c['results'] == []"
}

@test "a blocked direction that the preflight did not look for ends with the ranks that wait" {
  netlab block 3 2
  lab_muster 1 check --only env.leftover --hosts "$HOSTS" "${PAIRS[@]}" --deadline init_done=4 --json "$PWD/c.json"
  expect_status 12
  expect_in "${lines[-1]}" "not reached init_done"
  json_holds "'init_enter' in c['ranks'][2]['reached_ms'] and 'init_done' not in c['ranks'][2]['reached_ms']"
}

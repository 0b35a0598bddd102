#!/usr/bin/env bats
# --metrics: figures of a running job over HTTP, as curl, promtool and a real Prometheus read them.

load helpers
load launcher
load devices

setup() {
  begin_test
  export MUSTER_RUNTIME_DIR=$BATS_TEST_TMPDIR/sockets
  local tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster/tools}
  PATH=$PATH:$tools/bin
  script waiter <<'W'
muster notify STEP=$((41 + RANK))
echo "out of $RANK"
trap 'exit 0' TERM
: >"up.$RANK"
while :; do sleep 0.05; done
W
}

# A job that serves its figures: URL. Arguments of muster before the program.
begin_job() {
  begin --rdzv-id demo --metrics 127.0.0.1:0 "$@" ./waiter
  eventually 60 has_url
}
has_url() {
  URL=$(sed -n 's/^muster: metrics: //p' err)
  [[ -n $URL ]]
}
stop_job() {
  kill -TERM "$PID"
  end_within 20
  expect_status 143
}
scrape() {
  curl -sS --max-time 20 "$URL" >page
}
# The page has a line: a page may be a second old.
shows() { # extended regular expression
  scrape && grep -qE -- "$1" page
}
lacks() { # extended regular expression
  [[ $(grep -cE -- "$1" page) == 0 ]]
}
# The families of the page stand in docs/metrics.md.
are_documented() {
  local name
  while read -r name; do
    grep -q "\`$name\`" "$SOURCE/docs/metrics.md" || { echo "docs/metrics.md does not have $name"; return 1; }
  done < <(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' page)
}
status_of() { # curl's arguments
  curl -s -o body --max-time 20 -w '%{http_code}' "$@"
}

@test "the page has the job and its ranks, and is what promtool calls right" {
  begin_job -n 2 --gpus none
  [[ $URL == http://127.0.0.1:*/metrics ]]
  eventually 60 shows '^muster_rank_step\{job_id="demo",rank="1",host="[^"]*"\} 42$'
  eventually 60 shows '^muster_rank_output_bytes_total\{.*rank="0".*,stream="stdout"\} 9$'
  local line
  for line in 'muster_build_info\{version="[0-9.]+"\} 1' 'muster_job_info\{job_id="demo",program="./waiter"\} 1' \
    'muster_job_state\{job_id="demo",state="running"\} 1' 'muster_job_ranks\{job_id="demo"\} 2' \
    'muster_node_up\{job_id="demo",node="0",host="[^"]+"\} 1' 'muster_rank_up\{job_id="demo",rank="1",host="[^"]+"\} 1' \
    'muster_rank_heartbeat_age_seconds\{.*rank="0".*\} [0-9]+\.[0-9]{3}' 'muster_store_keys\{job_id="demo"\} 0'; do
    eventually 60 shows "^$line\$" || { cat page; return 1; }
  done
  lacks DCGM
  are_documented
  "$MUSTER" ps --json | grep -qF "\"metrics\": \"$URL\""
  curl -sI "$URL" | tr -d '\r' >headers
  grep -qx 'HTTP/1.1 200 OK' headers
  grep -qx 'Content-Type: text/plain; version=0.0.4; charset=utf-8' headers
  if command -v promtool >/dev/null; then
    promtool check metrics <page
  else
    echo "# promtool is missing: its own check was left out" >&3
  fi
  stop_job
  no_leftovers
}

@test "other pages and requests have the answers that HTTP has for them" {
  begin_job -n 1 --gpus none
  [[ $(status_of "${URL%metrics}") == 200 ]]
  grep -q 'href="/metrics"' body
  [[ $(status_of "${URL}x") == 404 ]]
  [[ $(status_of "$URL?name=x") == 200 ]]
  [[ $(status_of -X POST -d x=1 "$URL") == 405 ]]
  [[ $(status_of -H "X: $(printf '%09000d' 0)" "$URL") == 431 ]]
  [[ $(status_of --http1.0 "$URL") == 200 ]]
  stop_job
  [[ $(status_of "$URL") == 000 ]] # nobody is there any more
  no_leftovers
}

@test "a Prometheus scrapes it" {
  command -v prometheus >/dev/null || skip "no prometheus: scripts/test.sh fetches it"
  begin_job -n 3 --gpus none
  local server port address=${URL#http://}
  cat >prometheus.yml <<Y
scrape_configs:
  - job_name: muster
    scrape_interval: 1s
    static_configs:
      - targets: ['${address%/metrics}']
Y
  prometheus --config.file prometheus.yml --storage.tsdb.path data --web.listen-address 127.0.0.1:0 >prometheus.log 2>&1 3>&- &
  server=$!
  eventually 60 listens "$server"
  API=http://127.0.0.1:$port/api/v1/query
  eventually 60 answers 'muster_rank_up' '[["0", "1"], ["1", "1"], ["2", "1"]]'
  # the straggler of docs/metrics.md
  eventually 60 answers 'max by (job_id) (muster_rank_step) - on (job_id) group_right () muster_rank_step > 1' '[["0", "2"]]'
  eventually 60 answers 'muster_rank_up * on (job_id, rank) group_left (pid) muster_rank_info{rank="2"}' '[["2", "1"]]'
  stop_job
  eventually 60 answers 'up' '[[null, "0"]]'
  kill -TERM "$server"
  wait "$server" || true
  no_leftovers
}
# Sets port.
listens() { # pid
  port=$(ss -Hltnp | sed -n "s/.* 127\.0\.0\.1:\([0-9]*\) .*pid=$1,.*/\1/p")
  [[ -n $port ]]
}
answers() { # query, pairs of rank and value as JSON
  curl -sS --max-time 20 --get --data-urlencode "query=$1" "$API" | python3 -c '
import json, sys
rows = json.load(sys.stdin)["data"]["result"]
found = sorted([r["metric"].get("rank"), r["value"][1]] for r in rows)
sys.exit(found != json.loads(sys.argv[1]))' "$2"
}

@test "GPUs have dcgm-exporter's names and units, and muster loads no NVML for them" {
  fake_driver N4
  [[ -z $SANITIZED ]] || skip "the library of the tests has no sanitizer"
  FAKE_NVML_HEALTH='power.1=300500;temp.1=71;throttle.1=36;sm.1=1410;nvlink.1=900;pcie.1=40' begin_job --gpus 0-3
  eventually 60 shows '^DCGM_FI_DEV_POWER_USAGE\{gpu="1",UUID="'"$U1"'",Hostname="[^"]+",job_id="demo",rank="1"\} 300\.500$'
  local line
  for line in 'DCGM_FI_DEV_GPU_TEMP\{gpu="1",.*,rank="1"\} 71' 'DCGM_FI_DEV_CLOCKS_EVENT_REASONS\{gpu="1",.*\} 36' \
    'DCGM_FI_DEV_POWER_USAGE\{gpu="3",UUID="'"$U3"'",.*,rank="3"\} 75\.000' 'DCGM_FI_DEV_GPU_UTIL\{gpu="0",.*\} [0-9]+' \
    'DCGM_FI_DEV_FB_USED\{gpu="2",.*\} [0-9]+' 'DCGM_FI_DEV_FB_TOTAL\{gpu="2",.*\} [1-9][0-9]+' \
    'DCGM_FI_DEV_SM_CLOCK\{gpu="1",.*\} 1410' 'muster_gpu_nvlink_transmit_bytes_total\{gpu="1",.*,rank="1"\} [1-9][0-9]+' \
    'muster_gpu_pcie_receive_bytes_per_second\{gpu="1",.*,rank="1"\} [1-9][0-9]+' \
    'muster_rank_info\{.*rank="2".*,gpu="2",UUID="'"$U2"'"\} 1' 'muster_rank_resident_memory_bytes\{.*rank="2".*\} [1-9][0-9]*' \
    'muster_rank_cpu_seconds_total\{.*rank="2".*\} [0-9.]+'; do
    eventually 60 shows "^$line\$" || { cat page; return 1; }
  done
  are_documented
  [[ $(grep -c libnvidia-ml "/proc/$PID/maps") == 0 ]]
  stop_job
  no_leftovers
}

@test "a driver that hangs holds up neither a scrape nor the end of the job" {
  fake_driver N4
  [[ -z $SANITIZED ]] || skip "the library of the tests has no sanitizer"
  FAKE_NVML_FAULT='nvmlDeviceGetPowerUsage=0,delay=600000' begin_job --gpus 0-3
  eventually 60 shows '^muster_rank_step\{.*rank="3".*\} 44$'
  lacks DCGM
  stop_job
  no_leftovers
}

@test "of several nodes one place has all ranks" {
  script myssh <<'W'
while [ "$1" != -- ]; do shift; done
exec sh -c "$3"
W
  begin_job --ssh "$PWD/myssh" --hosts a,b -n 2 --gpus none
  eventually 60 shows '^muster_rank_step\{.*rank="3",host="[^"]+"\} 44$'
  local line
  for line in 'muster_job_nodes\{.*\} 2' 'muster_job_ranks\{.*\} 4' 'muster_node_up\{.*node="1",.*\} 1' \
    'muster_node_heartbeat_age_seconds\{.*node="1",.*\} [0-9.]+' 'muster_rank_info\{.*rank="3",.*node="1",local_rank="1",.*\} 1' \
    'muster_rank_cpu_seconds_total\{.*rank="3",.*\} [0-9.]+' 'muster_rank_output_bytes_total\{.*rank="2",.*,stream="stdout"\} 9'; do
    eventually 60 shows "^$line\$" || { cat page; return 1; }
  done
  are_documented
  stop_job
  [[ $(grep -c 'metrics:' <<<"$stderr") == 1 ]]
  no_leftovers
}

@test "restarts are counted, and output goes on being" {
  script worker <<'W'
echo "$TORCHELASTIC_RESTART_COUNT"
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 7
trap 'exit 0' TERM
while :; do sleep 0.05; done
W
  begin -n 1 --gpus none --max-restarts 1 --metrics :0 ./worker
  eventually 60 has_url
  eventually 60 shows '^muster_job_restarts_total\{.*\} 1$'
  eventually 60 shows '^muster_rank_output_bytes_total\{.*stream="stdout"\} 4$'
  grep -q '^muster_job_generation{.*} 1$' page
  grep -q '^muster_job_max_restarts{.*} 1$' page
  grep -q '^muster_rank_restarts_total{.*rank="0".*} 1$' page
  stop_job
  no_leftovers
}

@test "how a rank has ended is there while the others go on" {
  script worker <<'W'
[ "$RANK" = 0 ] && exit 0
trap 'exit 0' TERM
while :; do sleep 0.05; done
W
  begin -n 2 --gpus none --metrics :0 ./worker
  eventually 60 has_url
  eventually 60 shows '^muster_rank_exit_status\{.*rank="0".*\} 0$'
  grep -q '^muster_rank_up{.*rank="0".*} 0$' page
  grep -q '^muster_rank_state{.*rank="0".*,state="done"} 1$' page
  lacks '^muster_rank_exit_status\{.*rank="1"'
  stop_job
  no_leftovers
}

@test "an address that is none, or not ours, is refused before anything starts" {
  local address
  for address in x :x : 70000 n1 ::1 unix:/tmp/x; do
    run_muster -n 1 --gpus none --metrics "$address" "${MARK[@]}"
    expect_status 2
    [[ ${#stderr_lines[@]} == 1 ]]
    expect_in "$stderr" "--metrics"
  done
  run_muster -n 1 --gpus none --metrics 192.0.2.1:0 "${MARK[@]}"
  expect_status 2
  expect_in "$stderr" "muster: --metrics 192.0.2.1:0: cannot listen there: "
  MUSTER_METRICS=y run_muster -n 1 --gpus none "${MARK[@]}"
  expect_status 2
  expect_in "$stderr" "MUSTER_METRICS: "
  not_started
}

@test "a port that is taken is refused before anything starts" {
  begin_job -n 1 --gpus none
  local port=${URL##*:}
  port=${port%/metrics}
  run_muster -n 1 --gpus none --metrics "$port" "${MARK[@]}"
  expect_status 2
  [[ $stderr == "muster: --metrics $port: cannot listen there: address already in use; port 0 takes any free one" ]]
  not_started
  stop_job
  no_leftovers
}

@test "a plan listens nowhere" {
  run_muster plan -n 1 --gpus none --metrics 192.0.2.1:0 true
  expect_status 0
  expect_not_in "$stderr" "metrics:"
}

@test "clients that babble, dawdle or crowd disturb neither the job nor a scrape" {
  begin_job -n 1 --gpus none
  python3 - "$URL" <<'P'
import socket, sys, urllib.request
url = sys.argv[1]
host, port = url.split("/")[2].split(":")
def dial(words=b""):
    s = socket.create_connection((host, int(port)), 20)
    s.sendall(words)
    return s
def answer(words):
    with dial(words) as s:
        got = b""
        while part := s.recv(65536):
            got += part
        return got
def page():
    with urllib.request.urlopen(url, timeout=20) as r:
        assert r.status == 200 and b"muster_rank_up" in r.read()
assert b" 400 " in answer(b"\x16\x03\x01\x02\x00\x01\r\n")
assert b" 400 " in answer(b"GET /metrics HTTP/1.1\r\n\r\n")
assert b" 505 " in answer(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
assert b" 431 " in answer(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 4000)
assert b" 200 " in answer(b"GET /metrics HTTP/1.0\r\n\r\n" + b"x" * 100000)
idle = [dial() for _ in range(60)] # more than are served; the first have to make room
half = [dial(b"GET /metrics HT") for _ in range(60)]
page()
for s in half:
    try:
        s.sendall(b"TP/1.0\r\n\r\n")
        s.close() # without reading
    except OSError:
        pass
page()
with dial() as s: # half a connection is a whole request
    s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    s.shutdown(socket.SHUT_WR)
    got = b""
    while part := s.recv(65536):
        got += part
    assert got.startswith(b"HTTP/1.1 200 OK") and got.endswith(b"\n")
page()
P
  stop_job
  [[ $(grep -c '^muster: ' <<<"$stderr") == 2 ]] || { echo "$stderr"; return 1; } # its address, its end
  no_leftovers
}

@test "without the option nobody is served" {
  begin --rdzv-id demo -n 1 --gpus none ./waiter
  eventually 20 have 1 'up.*'
  [[ $(ss -Hltnp | grep -c "pid=$PID,") == 1 ]] # the store
  "$MUSTER" ps --json | grep -qF '"metrics": null'
  stop_job
  expect_not_in "$stderr" "metrics:"
  no_leftovers
}

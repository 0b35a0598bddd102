#!/bin/bash
# Our store against PyTorch's libuv server, same client: runs in the order A B B A, medians, ratios.
# usage: store.sh BUILD_BIN_DIR PYTHON [SECONDS [CONNECTIONS]]
# PEER_WRAPPER: a command before PYTHON. PyTorch looks up the name of each client in DNS; where that stalls, run it with
# "hosts: files" in a private /etc/nsswitch.conf (unshare -m).
set -eu
bin=$1 python=$2 seconds=${3:-0.5} conns=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# serve NAME: one run of store_load against a fresh server of that name
serve() {
    local in="$tmp/in" out="$tmp/out" pid thread at
    rm -f "$in" && mkfifo "$in" && : >"$out"
    if [ "$1" = muster ]; then "$bin/store_serve" <"$in" >"$out" & else ${PEER_WRAPPER:-} "$python" "$here/store_peer.py" <"$in" >"$out" & fi
    pid=$!
    exec 9>"$in"
    until grep -q listening "$out"; do kill -0 "$pid"; read -r -t 0.1 <> <(:) || :; done
    at=$(sed -n 's/^listening //p' "$out")
    # PyTorch serves in a thread of its own: the one named pt_tcpstore_uv
    thread=$(grep -l pt_tcpstore "/proc/$pid"/task/*/comm 2>/dev/null | head -1 || :)
    thread=${thread:+$pid/task/$(basename "$(dirname "$thread")")}
    "$bin/store_load" "$at" "$seconds" "${thread:-$pid}" $conns >>"$tmp/$1"
    exec 9>&-
    wait "$pid"
}
for name in muster torch torch muster; do serve "$name"; done

awk '
function median(list,  n, a, i, j, t) {
    n = split(list, a, " ")
    for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] + 0 < a[j-1] + 0; j--) { t = a[j]; a[j] = a[j-1]; a[j-1] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}
{ k = $1 " " $2 " " $3; if (!(k in seen)) { seen[k] = 1; order[++count] = k }
  rate[FILENAME, k] = rate[FILENAME, k] " " $4; cpu[FILENAME, k] = cpu[FILENAME, k] " " $5 }
END {
    printf "%-12s %5s %4s %10s %10s %6s %9s %9s %6s\n", "query", "conns", "deep", "muster/s", "torch/s", "ratio", "us muster", "us torch", "ratio"
    for (i = 1; i <= count; i++) {
        split(order[i], p, " ")
        a = median(rate[ARGV[1], order[i]]); b = median(rate[ARGV[2], order[i]])
        c = median(cpu[ARGV[1], order[i]]); d = median(cpu[ARGV[2], order[i]])
        printf "%-12s %5d %4d %10.0f %10.0f %6.2f %9.2f %9.2f %6.2f\n", p[1], p[2], p[3], a, b, a / b, c, d, c ? d / c : 0
    }
}' "$tmp/muster" "$tmp/torch"

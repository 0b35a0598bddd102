#!/usr/bin/env bash
# The store beside PyTorch's libuv server and beside a server that only takes and sends as many bytes (the floor: the same loop and
# sockets), under the same client. Servers in turn, forwards and backwards; medians. Prints tables in Markdown.
#
#   store.sh [-s SECONDS] [-r ROUNDS] [-b BIN] [-c CONNECTIONS,...] [-B BYTES,...] [-k CLIENTS,...]
#     a point's time, 0.3; ROUNDS = 2; BIN = build/release/bin; of the load 1,8,64,1000,10000 connections, values of
#     64,1048576 bytes; of the rendezvous 64,1024,8192 clients (0 = none)
#
#   TORCH_PYTHON    an interpreter with PyTorch; else the one beside TORCHRUN, or of the environment made by
#                   tests/interop/setup_torch.sh
# PyTorch looks up the name of each client, which may wait for DNS: it runs with "hosts: files" in a private
# /etc/nsswitch.conf where unshare may make one, else with at most 64 connections.
set -euo pipefail

seconds=0.3 rounds=2 bin='' conns=1,8,64,1000,10000 bytes=64,1048576 clients=64,1024,8192
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/bench
while getopts s:r:b:c:B:k: option; do
  case $option in
  s) seconds=$OPTARG ;;
  r) rounds=$OPTARG ;;
  b) bin=$OPTARG ;;
  c) conns=$OPTARG ;;
  B) bytes=$OPTARG ;;
  k) clients=$OPTARG ;;
  *) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
bin=${bin:-$root/build/release/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/bench/lib.bash
. "$here/lib.bash"

find_python() {
  local found=${TORCH_PYTHON:-} one
  if [[ -z $found && -n ${TORCHRUN:-} ]]; then found=$(dirname "$TORCHRUN")/python3; fi
  if [[ -z $found ]]; then
    for one in "${XDG_CACHE_HOME:-$HOME/.cache}"/muster/torch/*/bin/python3; do
      [[ -x $one ]] && found=$one
    done
  fi
  if [[ -n $found ]] && "$found" -c 'import torch.distributed' 2>/dev/null; then echo "$found"; fi
}

ulimit -n "$(ulimit -Hn)" || :
python=$(find_python)
names=(floor muster)
if [[ -n $python ]]; then names+=(torch); else echo "store.sh: no PyTorch: tests/interop/setup_torch.sh installs one" >&2; fi

without_dns() { # COMMAND...
  # The inner shell expands these.
  # shellcheck disable=SC2016
  exec unshare -m sh -c 'mount --bind "$0" /etc/nsswitch.conf && exec "$@"' "$scratch/nsswitch" "$@"
}
echo "hosts: files" >"$scratch/nsswitch"
has_private_names=
if (without_dns true) 2>/dev/null; then has_private_names=yes; fi

start() { # NAME: a fresh server; SERVER_TASK is who serves
  local comm
  if [[ $1 == floor ]]; then
    serve "$bin/store_floor"
  elif [[ $1 == muster ]]; then
    serve "$bin/store_serve"
  elif [[ -n $has_private_names ]]; then
    serve without_dns "$python" "$here/store_peer.py"
  else
    serve "$python" "$here/store_peer.py"
  fi
  SERVER_TASK=$SERVER_PID
  # PyTorch serves in a thread of its own
  comm=$(grep -l pt_tcpstore "/proc/$SERVER_PID"/task/*/comm 2>/dev/null | head -n 1 || :)
  if [[ -n $comm ]]; then SERVER_TASK=$SERVER_PID/task/$(basename "$(dirname "$comm")"); fi
}

# What two descriptors a client allow: a limit of files below that cuts a list.
fitting() { # LIST [NAME]
  local one out=''
  for one in ${1//,/ }; do
    if [[ ${2:-} == torch && -z $has_private_names ]] && ((one > 64)); then continue; fi
    if ((one + 100 <= $(ulimit -n))); then out+=${out:+,}$one; else echo "store.sh: ulimit -n is too low for $one" >&2; fi
  done
  echo "$out"
}
conns=$(fitting "$conns") clients=$(fitting "$clients")

load() { # NAME
  local flags=()
  start "$1"
  if [[ $1 == floor ]]; then flags=(-f); fi
  "$bin/store_load" "${flags[@]}" -s "$seconds" -p "$SERVER_TASK" -c "$(fitting "$conns" "$1")" -b "$bytes" "$SERVER_AT" >>"$scratch/load.$1"
  end_server
}

crowd() { # NAME
  local n what=init i fit
  if [[ $1 == floor ]]; then what=floor; fi
  fit=$(fitting "$clients" "$1")
  for n in ${fit//,/ }; do
    ((n)) || continue
    start "$1"
    for ((i = 0; i < (n > 2000 ? 1 : 3); i++)); do
      "$bin/store_crowd" "$what" "$SERVER_AT" "$n" >>"$scratch/init.$1.$n"
      end_server
      start "$1" # keys and counters are those of one job
    done
    end_server
  done
  if [[ $1 == floor || $clients == 0 ]]; then return; fi
  if [[ $1 == torch && -z $has_private_names ]]; then return; fi
  n=$(fitting 10000)
  n=${n:-1000}
  echo "$n" >"$scratch/waiters"
  start "$1"
  "$bin/store_crowd" idle "$SERVER_AT" "$n" "$SERVER_PID" >>"$scratch/idle.$1"
  end_server
  start "$1"
  "$bin/store_crowd" release "$SERVER_AT" "$n" >>"$scratch/release.$1"
  end_server
}

for ((round = 0; round < rounds; round++)); do
  order=("${names[@]}")
  if ((round % 2)); then order=(); for name in "${names[@]}"; do order=("$name" "${order[@]}"); done; fi
  for name in "${order[@]}"; do
    load "$name"
    crowd "$name"
  done
done

# A median for each point of a file of store_load's lines: "KEY RATE P50 P99 CPU"
medians() {
  awk 'function med(list,  n, a, i, j, t) {
    n = split(list, a, " ")
    for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] + 0 < a[j-1] + 0; j--) { t = a[j]; a[j] = a[j-1]; a[j-1] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }
  { k = $1 "/" $2 "/" $3 "/" $4; if (!(k in seen)) { seen[k] = 1; order[++count] = k }
    for (i = 5; i <= 8; i++) v[k, i] = v[k, i] " " $i }
  END { for (i = 1; i <= count; i++) { k = order[i]; print k, med(v[k, 5]), med(v[k, 6]), med(v[k, 7]), med(v[k, 8]) } }' "$1"
}

echo "Requests a second; the time of a batch, median / 99th percentile in us; the server's CPU time for a request in us. Medians of"
echo "$rounds rounds, $seconds s a point, $(nproc) cores, $(uname -sr). \"floor\": the same bytes through the same loop."
echo
echo "| query | bytes | connections | in flight | muster /s | / floor | / PyTorch | muster us | floor us | PyTorch us | muster CPU | PyTorch CPU |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
for name in "${names[@]}"; do medians "$scratch/load.$name" >"$scratch/m.$name"; done
[[ -n $python ]] || : >"$scratch/m.torch"
awk -v summary="$scratch/worst" '
  FILENAME ~ /m.floor$/ { floor[$1] = $2; ftime[$1] = sprintf("%.0f / %.0f", $3, $4); next }
  FILENAME ~ /m.torch$/ { torch[$1] = $2; ttime[$1] = sprintf("%.0f / %.0f", $3, $4); tcpu[$1] = $5; next }
  { split($1, p, "/")
    over = $2 / floor[$1]; peer = torch[$1] ? sprintf("%.2f", $2 / torch[$1]) : "-"
    if (!(p[4] in least) || over < least[p[4]]) { least[p[4]] = over; where[p[4]] = $1 }
    if ((p[3] == 64 || p[3] == 1000) && p[2] == 64 && p[1] != "set" && torch[$1] && (!(p[4] > 1) in lp || $2 / torch[$1] < lp[!(p[4] > 1)]))
      lp[!(p[4] > 1)] = $2 / torch[$1]
    printf "| %s | %d | %d | %d | %.0f | %.2f | %s | %.0f / %.0f | %s | %s | %.2f | %s |\n", p[1], p[2], p[3], p[4], $2, over, peer, $3, $4,
      ftime[$1], ($1 in ttime) ? ttime[$1] : "-", $5, ($1 in tcpu) ? sprintf("%.2f", tcpu[$1]) : "-" }
  END {
    for (d in least) printf "floor %d %.2f %s\n", d, least[d], where[d] >summary
    for (d in lp) printf "peer %d %.2f\n", d == "0", lp[d] >summary
  }' "$scratch/m.floor" "$scratch/m.torch" "$scratch/m.muster"

while read -r what depth least where; do
  case $what in
  floor) aim "store: least share of the echo's requests/s, $depth in flight ($where)" "$least" 0.8 at-least ;;
  peer) aim "store: least multiple of TCPStore's, 64 and 1000 connections, $( ((depth)) && echo pipelined || echo "one in flight"), with an answer" \
    "$least" 3 at-least ;;
  esac
done < <(sort "$scratch/worst")

[[ $clients != 0 ]] || exit 0
echo
echo "A rendezvous as torch's init_process_group makes it (connection, init/, the store's barrier, one id for all; the clients are in one"
echo "process), ms; floor: the same round trips without a store."
echo
echo "| clients | floor | muster | PyTorch | PyTorch / muster |"
echo "|---|---|---|---|---|"
for n in ${clients//,/ }; do
  row="| $n |"
  for name in floor muster torch; do
    if [[ -s $scratch/init.$name.$n ]]; then row+=" $(spread "$scratch/init.$name.$n") |"; else row+=" - |"; fi
  done
  share=-
  if [[ -n $python ]]; then share=$(ratio "$(median "$scratch/init.torch.$n")" "$(median "$scratch/init.muster.$n")"); fi
  echo "$row $share |"
  aim "rendezvous of $n clients: TCPStore's time / muster's" "$share" 2 at-least
done
n=$(cat "$scratch/waiters")
echo
echo "| $n connections | muster | PyTorch |"
echo "|---|---|---|"
for what in idle release; do
  row="| $([[ $what == idle ]] && echo "memory of an idle one, bytes" || echo "all released by one set, ms") |"
  for name in muster torch; do
    if [[ -s $scratch/$what.$name ]]; then row+=" $(spread "$scratch/$what.$name") |"; else row+=" - |"; fi
  done
  echo "$row"
done
aim "store: bytes of memory for an idle connection" "$(median "$scratch/idle.muster")" 1024
aim "store: ms until $n waiters are released by one set" "$(median "$scratch/release.muster")" 20

#!/usr/bin/env bash
# The store beside PyTorch's libuv server, redis and a server that only takes and sends as many bytes (the floor: the same loop and
# sockets), under the same client. Servers in turn, forwards and backwards; medians. Prints tables in Markdown.
#
#   store.sh [-s SECONDS] [-r ROUNDS] [-t SECONDS] [-b BIN] [-c CONNECTIONS,...] [-B BYTES,...] [-k CLIENTS,...]
#     a point's time, 0.05; ROUNDS = 8, of which none begins after SECONDS = 600; BIN = build/release/bin; of the load
#     1,8,64,1000,10000 connections, values of 64,1048576 bytes; of the rendezvous 64,1024,8192 clients (0 = none)
#
# All of it is in the first two rounds; the others are short: the store and the floor, up to 1000 connections. Each start of a server is
# a draw of its own, and those two are near each other.
#
#   TORCH_PYTHON    an interpreter with PyTorch; else the one beside TORCHRUN, or of the environment made by
#                   tests/interop/setup_torch.sh
# PyTorch looks up the name of each client, which may wait for DNS: it runs with "hosts: files" in a private
# /etc/nsswitch.conf where unshare may make one, else with at most 64 connections.
set -euo pipefail

seconds=0.05 rounds=8 cap=600 bin='' conns=1,8,64,1000,10000 bytes=64,1048576 clients=64,1024,8192
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/bench
while getopts s:r:t:b:c:B:k: option; do
  case $option in
  s) seconds=$OPTARG ;;
  r) rounds=$OPTARG ;;
  t) cap=$OPTARG ;;
  b) bin=$OPTARG ;;
  c) conns=$OPTARG ;;
  B) bytes=$OPTARG ;;
  k) clients=$OPTARG ;;
  *) sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
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
# Server and client on a core each: left to the scheduler they are now on one, now on two, and to wake the other core costs several
# times as much as a switch.
pin_server=() pin_client=()
mapfile -t cores < <(taskset -cp $$ | sed 's/.*: //; y/,/\n/' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done)
if ((${#cores[@]} > 1)); then pin_server=(taskset -c "${cores[0]}") pin_client=(taskset -c "${cores[1]}"); fi
python=$(find_python)
names=(floor muster)
if [[ -n $python ]]; then names+=(torch); else echo "store.sh: no PyTorch: tests/interop/setup_torch.sh installs one" >&2; fi
if command -v redis-server >/dev/null; then names+=(redis); else echo "store.sh: no redis-server" >&2; fi

without_dns() { # COMMAND...
  # The inner shell expands these.
  # shellcheck disable=SC2016
  exec unshare -m sh -c 'mount --bind "$0" /etc/nsswitch.conf && exec "$@"' "$scratch/nsswitch" "$@"
}
echo "hosts: files" >"$scratch/nsswitch"
has_private_names=
if (without_dns true) 2>/dev/null; then has_private_names=yes; fi

# redis cannot ask the kernel for a free port: another one until it listens. Nothing is kept on disk, and it ends with this script.
serve_redis() {
  local tries port
  for ((tries = 0; tries < 20; tries++)); do
    port=$((20000 + RANDOM % 12000))
    : >"$scratch/said"
    "${pin_server[@]}" setpriv --pdeathsig TERM redis-server --port "$port" --bind 127.0.0.1 --dir "$scratch" --save '' --appendonly no --daemonize no --maxclients 10100 \
      --tcp-backlog 65535 >"$scratch/said" 2>&1 9>&- &
    SERVER_PID=$! SERVER_AT=127.0.0.1:$port
    until grep -q "Ready to accept" "$scratch/said"; do
      kill -0 "$SERVER_PID" 2>/dev/null || continue 2
      read -r -t 0.05 <> <(:) || :
    done
    return
  done
  echo "store.sh: redis finds no port" >&2
  return 1
}

start() { # NAME: a fresh server; SERVER_TASK is who serves
  local comm
  if [[ $1 == floor ]]; then
    serve "${pin_server[@]}" "$bin/store_floor"
  elif [[ $1 == redis ]]; then
    serve_redis
  elif [[ $1 == muster ]]; then
    serve "${pin_server[@]}" "$bin/store_serve"
  elif [[ -n $has_private_names ]]; then
    serve without_dns "${pin_server[@]}" "$python" "$here/store_peer.py"
  else
    serve "${pin_server[@]}" "$python" "$here/store_peer.py"
  fi
  SERVER_TASK=$SERVER_PID
  # PyTorch serves in a thread of its own
  comm=$(grep -l pt_tcpstore "/proc/$SERVER_PID"/task/*/comm 2>/dev/null | head -n 1 || :)
  if [[ -n $comm ]]; then SERVER_TASK=$SERVER_PID/task/$(basename "$(dirname "$comm")"); fi
}

end() { # NAME
  if [[ $1 == redis ]]; then kill "$SERVER_PID"; fi
  end_server
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
  local flags=() now=$conns
  if ((round > 1)); then now=$(tr , '\n' <<<"$conns" | awk '$1 <= 1000' | paste -sd ,); fi
  [[ -n $now ]] || return 0
  start "$1"
  case $1 in
  floor) flags=(-f) ;;
  redis) flags=(-r) ;;
  esac
  "${pin_client[@]}" "$bin/store_load" "${flags[@]}" -s "$seconds" -p "$SERVER_TASK" -c "$(fitting "$now" "$1")" -b "$bytes" "$SERVER_AT" >>"$scratch/load.$1"
  end "$1"
}

crowd() { # NAME
  local n i flags=()
  if [[ $1 == redis || $clients == 0 ]]; then return; fi
  if [[ $1 == floor ]]; then flags=(-f); fi
  start "$1"
  if [[ $1 != torch || -n $has_private_names ]]; then
    n=$(fitting 10000)
    n=${n:-1000}
    echo "$n" >"$scratch/waiters"
    if [[ $1 != floor ]]; then "${pin_client[@]}" "$bin/store_crowd" idle "$SERVER_AT" "$n" "$SERVER_PID" >>"$scratch/idle.$1"; fi
    "${pin_client[@]}" "$bin/store_crowd" "${flags[@]}" release "$SERVER_AT" "$n" "$SERVER_TASK" >>"$scratch/release.$1"
  fi
  n=$(fitting "$clients" "$1")
  for n in ${n//,/ }; do
    for ((i = 0; i < (n > 2000 ? 1 : 5); i++)); do
      "${pin_client[@]}" "$bin/store_crowd" "${flags[@]}" init "$SERVER_AT" "$n" "$SERVER_TASK" >>"$scratch/init.$1.$n"
    done
  done
  end "$1"
}

begin=$SECONDS all=("${names[@]}")
for ((round = 0; round < rounds; round++)); do
  if ((round && SECONDS - begin > cap)); then rounds=$round; break; fi
  if ((round > 1)); then names=(floor muster); fi
  order=("${names[@]}")
  if ((round % 2)); then order=(); for name in "${names[@]}"; do order=("$name" "${order[@]}"); done; fi
  for name in "${order[@]}"; do
    load "$name"
    if ((round < 2)); then crowd "$name"; fi
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
echo "$rounds rounds (of more than 1000 connections, and of the peers, 2), $seconds s a point, server and client on a core each of"
echo "$(nproc), $(uname -sr)."
echo "\"floor\": the same bytes through the same loop."
echo
echo "| query | bytes | connections | in flight | muster /s | / floor | / PyTorch | muster us | floor us | PyTorch us | muster CPU | PyTorch CPU |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
for name in "${all[@]}"; do medians "$scratch/load.$name" >"$scratch/m.$name"; done
[[ -n $python ]] || : >"$scratch/m.torch"
awk -v summary="$scratch/worst" '
  function med(list,  n, a, i, j, t) {
    n = split(list, a, " ")
    for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] + 0 < a[j-1] + 0; j--) { t = a[j]; a[j] = a[j-1]; a[j-1] = t }
    return a[int((n + 1) / 2)]
  }
  FILENAME ~ /m.floor$/ { floor[$1] = $2; ftime[$1] = sprintf("%.0f / %.0f", $3, $4); next }
  FILENAME ~ /m.torch$/ { torch[$1] = $2; ttime[$1] = sprintf("%.0f / %.0f", $3, $4); tcpu[$1] = $5; next }
  { split($1, p, "/")
    over = $2 / floor[$1]; peer = torch[$1] ? sprintf("%.2f", $2 / torch[$1]) : "-"
    if (!(p[4] in least) || over < least[p[4]]) { least[p[4]] = over; where[p[4]] = $1 }
    overs[p[4]] = overs[p[4]] " " over
    if ((p[3] == 64 || p[3] == 1000) && p[2] == 64 && p[1] != "set" && torch[$1] && (!(p[4] > 1) in lp || $2 / torch[$1] < lp[!(p[4] > 1)]))
      lp[!(p[4] > 1)] = $2 / torch[$1]
    printf "| %s | %d | %d | %d | %.0f | %.2f | %s | %.0f / %.0f | %s | %s | %.2f | %s |\n", p[1], p[2], p[3], p[4], $2, over, peer, $3, $4,
      ftime[$1], ($1 in ttime) ? ttime[$1] : "-", $5, ($1 in tcpu) ? sprintf("%.2f", tcpu[$1]) : "-" }
  END {
    for (d in least) printf "floor %d %.2f %s\nfloor-median %d %.2f\n", d, least[d], where[d], d, med(overs[d]) >summary
    for (d in lp) printf "peer %d %.2f\n", d == "0", lp[d] >summary
  }' "$scratch/m.floor" "$scratch/m.torch" "$scratch/m.muster"

while read -r what depth least where; do
  case $what in
  floor) aim "store: least share of the echo's requests/s, $depth in flight ($where)" "$least" 0.8 at-least ;;
  floor-median) aim "store: median share of the echo's requests/s, $depth in flight" "$least" 0.8 at-least ;;
  peer) aim "store: least multiple of TCPStore's, 64 and 1000 connections, $( ((depth)) && echo pipelined || echo "one in flight"), with an answer" \
    "$least" 3 at-least ;;
  esac
done < <(sort "$scratch/worst")

if [[ -s $scratch/m.redis ]]; then
  echo
  echo "$(redis-server --version | sed 's/ sha.*//'), one thread, nothing kept on disk; INCR for add. Its SET has an answer, the store's"
  echo "has none and ends in a PING."
  echo
  echo "| query | bytes | connections | in flight | muster /s | redis /s | muster / redis | muster CPU us | redis CPU us |"
  echo "|---|---|---|---|---|---|---|---|---|"
  awk 'FILENAME ~ /m.redis$/ { rate[$1] = $2; cpu[$1] = $5; next }
    $1 in rate { split($1, p, "/"); printf "| %s | %d | %d | %d | %.0f | %.0f | %.2f | %.2f | %.2f |\n", p[1], p[2], p[3], p[4], $2, rate[$1],
      $2 / rate[$1], $5, cpu[$1] }' "$scratch/m.redis" "$scratch/m.muster"
fi

[[ $clients != 0 ]] || exit 0

# column FILE N: one of its columns as a file
column() { awk -v n="$2" '{ print $n }' "$1" >"$1.$2"; echo "$1.$2"; }

# "A / B / C": medians of the columns
columns() { # FILE N...
  local out='' n
  for n in "${@:2}"; do out+="${out:+ / }$(printf '%.1f' "$(median "$(column "$1" "$n")")")"; done
  echo "$out"
}

# A peer's median of a column as a multiple of muster's
share() { # PEER CLIENTS COLUMN
  if [[ -s $scratch/init.$1.$2 ]]; then
    ratio "$(median "$(column "$scratch/init.$1.$2" "$3")")" "$(median "$(column "$scratch/init.muster.$2" "$3")")"
  else
    echo -
  fi
}

echo
echo "A rendezvous as torch's init_process_group makes it (connection, init/, the store's barrier, one id for all; the clients are in one"
echo "process): ms / of CPU time of the server / of CPU time of the clients. Floor: the same round trips without a store."
echo
echo "| clients | floor | muster | PyTorch | floor / muster | PyTorch / muster | PyTorch / muster, server's CPU |"
echo "|---|---|---|---|---|---|---|"
for n in ${clients//,/ }; do
  row="| $n |"
  for name in floor muster torch; do
    if [[ -s $scratch/init.$name.$n ]]; then row+=" $(columns "$scratch/init.$name.$n" 1 2 3) |"; else row+=" - |"; fi
  done
  echo "$row $(share floor "$n" 1) | $(share torch "$n" 1) | $(share torch "$n" 2) |"
  aim "rendezvous of $n clients: the echo's time / muster's" "$(share floor "$n" 1)" 0.8 at-least
  aim "rendezvous of $n clients: TCPStore's time / muster's" "$(share torch "$n" 1)" 2 at-least
done
n=$(cat "$scratch/waiters")
echo
echo "| $n connections | floor | muster | PyTorch |"
echo "|---|---|---|---|"
rows=(idle:1:"memory of an idle one, bytes" release:1:"one set, until the one that came last hears of it, ms" release:2:"until the client has read all, ms"
  release:3:"the server's CPU time of it, ms")
for what in "${rows[@]}"; do
  IFS=: read -r file number text <<<"$what"
  row="| $text |"
  for name in floor muster torch; do
    if [[ -s $scratch/$file.$name ]]; then row+=" $(spread "$(column "$scratch/$file.$name" "$number")") |"; else row+=" - |"; fi
  done
  echo "$row"
done
released=$(median "$(column "$scratch/release.muster" 1)")
aim "store: bytes of memory for an idle connection" "$(median "$scratch/idle.muster")" 1024
aim "store: ms until $n waiters are released by one set" "$released" 20
aim "the same: the echo's time / muster's" "$(ratio "$(median "$(column "$scratch/release.floor" 1)")" "$released")" 0.8 at-least

#!/bin/bash
# Runs a script against a store of its own: with_store.sh STORE_SERVE PYTHON SCRIPT [ARGUMENTS AFTER HOST:PORT]
set -u
serve=$1 python=$2 script=$3
shift 3
coproc STORE { exec "$serve"; }
pid=$STORE_PID
read -r -t 20 word at <&"${STORE[0]}" && [ "$word" = listening ] || exit 1
"$python" "$script" "$at" "$@"
status=$?
input=${STORE[1]}
exec {input}>&-
wait "$pid" || { echo "store_serve ended with $?" >&2; exit 1; }
exit $status

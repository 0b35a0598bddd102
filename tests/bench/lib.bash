# What the scripts of this folder share: medians with their spread, a server that tells its address, and whether a
# figure is where it should be. Sourced.

# median FILE: of a column of numbers
median() { sort -n "$1" | awk '{v[NR] = $1} END {if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

# spread FILE [DIGITS [DIVISOR]]: "median [least-most]"
spread() {
  sort -n "$1" | awk -v d="${2:-1}" -v by="${3:-1}" '{v[NR] = $1 / by} END {
    m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
    if (NR) printf "%.*f [%.*f-%.*f]", d, m, d, v[1], d, v[NR]; else printf "-"}'
}

# aim FIGURE VALUE LIMIT [at-least]: a row for the summary that run.sh asks for; at most LIMIT, or at least. With a
# dash as the value it was not measured.
aim() {
  [[ -n ${BENCH_SUMMARY:-} ]] || return 0
  awk -v f="$1" -v v="$2" -v limit="$3" -v way="${4:-}" 'BEGIN {
    ok = way == "at-least" ? v >= limit : v <= limit
    printf "| %s | %s %s | %s | %s |\n", f, way == "at-least" ? "at least" : "at most", limit, v, v == "-" ? "not measured" : ok ? "yes" : "**no**"
  }' >>"$BENCH_SUMMARY"
}

# find_torchrun: $TORCHRUN, else that of an environment made by tests/interop/setup_torch.sh; else nothing.
find_torchrun() {
  local found=${TORCHRUN:-} one
  if [[ -z $found ]]; then
    for one in "${XDG_CACHE_HOME:-$HOME/.cache}"/muster/torch/*/bin/torchrun; do
      [[ -x $one ]] && found=$one
    done
  fi
  echo "$found"
}

# find_mpirun: that of Open MPI, or nothing
find_mpirun() {
  local one
  for one in mpirun.openmpi mpirun; do
    if one=$(command -v "$one") && grep -qE 'Open MPI|OpenRTE' <<<"$("$one" --version 2>&1)"; then
      echo "$one"
      return
    fi
  done
}

# ratio A B [DIGITS]
ratio() { awk -v a="$1" -v b="$2" -v d="${3:-2}" 'BEGIN {if (b > 0) printf "%.*f", d, a / b; else printf "-"}'; }

# serve COMMAND...: starts a server that prints "listening HOST:PORT" and ends with its input: SERVER_PID, SERVER_AT.
# Its pipes are in $scratch, the caller's folder.
# shellcheck disable=SC2034,SC2154
serve() {
  rm -f "$scratch/in"
  mkfifo "$scratch/in"
  : >"$scratch/said"
  "$@" <"$scratch/in" >"$scratch/said" 2>"$scratch/stderr" &
  SERVER_PID=$!
  exec 9>"$scratch/in"
  until grep -q listening "$scratch/said"; do
    if ! kill -0 "$SERVER_PID" 2>/dev/null; then
      cat "$scratch/stderr" >&2
      return 1
    fi
    read -r -t 0.05 <> <(:) || :
  done
  SERVER_AT=$(sed -n 's/^listening //p' "$scratch/said")
}

end_server() {
  exec 9>&-
  wait "$SERVER_PID" || :
}

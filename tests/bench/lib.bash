# What the benchmarks share; to be sourced.

# The torchrun to compare with: $TORCHRUN, else that of an environment made by tests/interop/setup_torch.sh; else nothing.
find_torchrun() {
  local found=${TORCHRUN:-} one
  if [[ -z $found ]]; then
    for one in "${XDG_CACHE_HOME:-$HOME/.cache}"/muster/torch/*/bin/torchrun; do
      [[ -x $one ]] && found=$one
    done
  fi
  echo "$found"
}

# Of numbers, one a line: their median; the same with "[least-most]". The divisor turns units, the format is printf's.
median() { # file [divisor [format]]
  sort -n "$1" | awk -v d="${2:-1}" -v f="${3:-%g}" '{v[NR] = $1}
    END {m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; printf f, m / d}'
}
median_and_spread() { # file [divisor [format]]
  sort -n "$1" | awk -v d="${2:-1}" -v f="${3:-%g}" '{v[NR] = $1}
    END {m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; printf f " [" f "-" f "]", m / d, v[1] / d, v[NR] / d}'
}

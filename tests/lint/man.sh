#!/usr/bin/env bash
# man.sh MANDOC: mandoc has nothing to say about any page of share/man, and the pages they refer to exist.
set -euo pipefail
mandoc=$1
failures=0

# mandoc looks for other pages among those that are installed; these are looked for beside each other.
examine() { # page
  local line name
  while IFS= read -r line; do
    name=$(sed -n 's/.*referenced manual not found: Xr \([a-z-]*\) 1.*/\1/p' <<<"$line")
    [[ $name && -s share/man/$name.1 ]] || { echo "$line"; return 1; }
  done < <("$mandoc" -T lint "$1" || true)
}

# The check itself can fail.
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT
printf '.Dd November 30, 2026\n.Dt BAD 1\n.Os\n.Sh NAME\n.Nm bad\n.Nd bad\n.Sh SEE ALSO\n.Xr muster-none 1\n' >"$bad"
if examine "$bad" >/dev/null; then echo "a page that refers to nothing was let through"; exit 1; fi

for page in share/man/*.1; do
  if examine "$page"; then echo "$page: right"; else failures=$((failures + 1)); fi
done
((failures == 0))

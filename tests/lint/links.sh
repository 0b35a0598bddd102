#!/usr/bin/env bash
# links.sh PROGRAM PATTERN: the dynamic section of the program names no library that matches.
set -euo pipefail
needed=$(readelf -d "$1" | grep NEEDED)
if grep -E "$2" <<<"$needed"; then
  echo "${1##*/} must not link these"
  exit 1
fi
echo "$needed"

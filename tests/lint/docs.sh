#!/usr/bin/env bash
# docs.sh FILE PROGRAM [ARGUMENT]: FILE of the tree is what the program prints.
set -euo pipefail
file=$1
shift
if "$@" | diff -u "$file" -; then
  echo "$file is up to date"
else
  echo "rewrite it: cmake --build build/dev --target docs"
  exit 1
fi

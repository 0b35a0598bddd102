#!/usr/bin/env bash
# docs.sh GEN_DOCS PAGE: docs/PAGE.md is what the program prints.
set -euo pipefail
if "$1" "$2" | diff -u "docs/$2.md" -; then
  echo "docs/$2.md is up to date"
else
  echo "rewrite it: cmake --build build/dev --target docs"
  exit 1
fi

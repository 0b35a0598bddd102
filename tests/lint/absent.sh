#!/usr/bin/env bash
# absent.sh TOOL: stands for a check whose tool is not installed; ctest shows it as skipped.
echo "$1 is not installed"
exit 77

#!/usr/bin/env bats
# The commands in examples/ci are commands that muster takes, and leave the files that the steps pick up.

load helpers

# The line of a file that runs a check, without what leads to it.
check_line() { # file
  grep -o 'muster check [^`]*$' "$SOURCE/examples/ci/$1" | head -n 1
}

@test "the line of each example runs, and leaves what is kept" {
  local file line
  for file in github-actions.yml gitlab-ci.yml README.md; do
    rm -f check.*
    line=$(check_line "$file")
    echo "$file: $line"
    read -r -a words <<<"$line"
    # the last two would judge the machine of the tests
    run_muster "${words[@]:1}" -n 2 --sizes 8 --iters 1 --skip shm.size --skip net.name
    expect_status 0
    python3 -c 'import json, xml.dom.minidom; json.load(open("check.json")); xml.dom.minidom.parse("check.xml")'
    [[ -s check.html ]]
  done
}

@test "both files are YAML" {
  python3 -c 'import yaml' 2>/dev/null || skip "no PyYAML"
  python3 -c 'import sys, yaml; [yaml.safe_load(open(f)) for f in sys.argv[1:]]' "$SOURCE"/examples/ci/*.yml
}

#!/usr/bin/env bats
# What the documents show is what the programs do: every page below docs/ with blocks that can be run, README.zh.md, and
# every tutorial, which has to have one. A new page is found by itself.
load helpers

blocks() { python3 "$1/tests/tools/readme_blocks.py" "${@:2}"; } # tree arguments...

pages() {
  find "$SOURCE/docs/tutorials" -name '*.md' ! -name README.md
  grep -rlE --include='*.md' '^```(console|sh test)' "$SOURCE/docs" --exclude-dir=tutorials
  echo "$SOURCE/README.zh.md"
}

# A test of which a block was left out is shown as skipped: all else in it has passed.
nothing_left_out() {
  [[ $output != *"left out, since"* ]] || skip "no PyTorch here; all else is right"
}

@test "each page does what it says" {
  local page bad=0 all=""
  while read -r page; do
    run blocks "$SOURCE" "$BIN" "$page"
    echo "$output"
    ((status == 0)) || bad=$((bad + 1))
    all+=$output
  done < <(pages)
  ((bad == 0)) || { echo "$bad pages differ"; return 1; }
  output=$all
  nothing_left_out
  no_leftovers
}

@test "a newcomer's walk: the pages of a fresh clone, one machine and then CI, in an empty folder" {
  git -C "$SOURCE" rev-parse HEAD >/dev/null 2>&1 || skip "git finds no repository in the source"
  git clone -q --shared "$SOURCE" tree
  run blocks tree --empty "$BIN" tree/docs/tutorials/one-node.md tree/docs/tutorials/ci.md
  echo "$output"
  [[ $status -eq 0 ]]
  nothing_left_out
  no_leftovers
}

@test "the tutorials are all in their list" {
  local page
  for page in "$SOURCE"/docs/tutorials/*.md; do
    [[ $page == */README.md ]] || grep -q "(${page##*/})" "$SOURCE/docs/tutorials/README.md" || { echo "$page"; return 1; }
  done
}

@test "README.zh.md has the commands of README.md" {
  local line
  commands() { sed -n '/^```\(console\|sh\)/,/^```$/{/^\$ \|^muster \|^scripts\//{s/ *#.*//;p}}' "$1"; }
  while read -r line; do
    commands "$SOURCE/README.md" | grep -qFx -- "$line" || { echo "not in README.md: $line"; return 1; }
  done < <(commands "$SOURCE/README.zh.md")
  [[ $(commands "$SOURCE/README.zh.md" | wc -l) -eq $(commands "$SOURCE/README.md" | wc -l) ]]
}

@test "every rule that a page asks for by name exists" {
  local rule
  for rule in $(grep -rhoE -- '--(only|skip) [a-z]+[.][a-z]+' "$SOURCE"/*.md "$SOURCE/docs" | cut -d' ' -f2 | sort -u); do
    run_muster explain "$rule"
    expect_status 0
  done
}

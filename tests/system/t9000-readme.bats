#!/usr/bin/env bats
# What README.md shows is what the programs do.
load helpers

blocks() { python3 "$SOURCE/tests/tools/readme_blocks.py" "$BIN" "$@"; }

@test "README.md: the console blocks print what it says, each line of 'sh test' runs" {
  run blocks "$SOURCE/README.md"
  echo "$output"
  [[ $status -eq 0 ]]
}

@test "the comparison can fail: at a word, at a number, at a status" {
  local change
  for change in 's/^0$/1/' 's/of 3/of 2/' 's/one/two/'; do
    printf '%s\n' '```console' "\$ echo one; echo rank 0 of 3" one 'rank 0 of 3' "\$ echo \$?" 0 '```' >page.md
    run blocks page.md
    [[ $status -eq 0 ]]
    sed -i "/^[^\$]/$change" page.md
    run blocks page.md
    expect_in "$output" "it printed"
    [[ $status -eq 1 ]]
  done
}

@test "a line of 'sh test' that fails or says nothing is an error, and so is a page without a block" {
  printf '%s\n' '```sh test' 'echo fine' '```' >page.md
  run blocks page.md
  [[ $status -eq 0 ]]
  printf '%s\n' '```sh test' 'true' 'echo words; exit 3' '```' >page.md
  run blocks page.md
  [[ $status -eq 1 ]]
  expect_in "$output" "'true' ended with 0"
  expect_in "$output" "'echo words; exit 3' ended with 3"
  printf '%s\n' '```sh' 'true' '```' >page.md
  run blocks page.md
  [[ $status -eq 1 ]]
  expect_in "$output" "page.md has no block that can be run"
}

@test "what a busy machine says on top is no difference" {
  cat >says <<'EOF'
echo "muster-worker: warning: waiting since 10 s for init_enter: 1 of 4 ranks are not there, among them rank 2" >&2
echo "muster: waiting for 1 of 3 nodes: node3 (ssh up, no link)" >&2
echo "after 17.250 s"
EOF
  printf '%s\n' '```console' "\$ sh $PWD/says" 'after 0.002 s' '```' >page.md
  run blocks page.md
  echo "$output"
  [[ $status -eq 0 ]]
  blocks --update page.md
  [[ $(grep -c waiting page.md) -eq 0 ]]
  grep -qx 'after 17.250 s' page.md
}

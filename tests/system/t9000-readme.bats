# What README.md shows is what the programs do.
load helpers

@test "the console blocks print what the README says" {
  run python3 "$SOURCE/tests/tools/readme_blocks.py" "$SOURCE/README.md" "$BIN" console
  echo "$output"
  [[ $status -eq 0 ]]
}

@test "each line of the blocks marked 'sh test' runs" {
  run python3 "$SOURCE/tests/tools/readme_blocks.py" "$SOURCE/README.md" "$BIN" sh
  echo "$output"
  [[ $status -eq 0 ]]
}

@test "the comparison can fail" {
  sed 's/wrong of/right of/' "$SOURCE/README.md" >README.md
  run python3 "$SOURCE/tests/tools/readme_blocks.py" README.md "$BIN" console
  [[ $status -eq 1 ]]
}

#!/usr/bin/env bats
# The page of muster check in a real browser: it loads without a complaint, asks for nothing, fits and can be read, on a
# telephone and on a desk, light and dark. tests/tools/page_check.py says what is looked at.

load helpers

setup_file() {
  local name
  for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
      export CHROMIUM=$name
      return 0
    fi
  done
  export SKIP_FILE="no Chromium"
}

looked_at() { # page...
  run timeout --signal=KILL 120 python3 "$SOURCE/tests/tools/page_check.py" "$CHROMIUM" "$@"
}

@test "pages of GPUs with a slow link, of a hang, and of a hostile result" {
  run_muster check --skip shm.size --skip net.name -n 3 --sizes 8 --inject hang:rank=1,phase=cuda_ok --deadline cuda_ok=1 --html hang.html
  expect_status 12
  LIAR_RESULT=$(<"$SOURCE/tests/vectors/check/slow.json") run_muster check --skip shm.size --skip net.name -n 4 --worker liar --html slow.html
  LIAR_RESULT=$(<"$SOURCE/tests/vectors/check/hostile.json") run_muster check --skip shm.size --skip net.name -n 2 --worker liar --html hostile.html
  expect_status 10
  looked_at hang.html slow.html hostile.html
  echo "$output"
  [[ $status -eq 0 ]]
  [[ $(grep -c ", 0 wrong" <<<"$output") -eq 12 ]]
}

@test "the look can fail" {
  cat >bad.html <<'END'
<!DOCTYPE html><style>body{color:#999}</style><div style="width:2000px">wide and grey, and long enough</div>
<img src="nothing.png"><script>nosuchcall()</script>
<svg viewBox="0 0 4000 100" width="400"><text y="20" style="font:12px sans-serif">small</text></svg>
END
  looked_at bad.html
  echo "$output"
  [[ $status -eq 1 ]]
  expect_in "$output" "it asks for"
  expect_in "$output" "a script failed"
  expect_in "$output" "pixels wide"
  expect_in "$output" "too little contrast: wide"
  expect_in "$output" "too small: small"
  expect_in "$output" "does not follow the scheme"
}

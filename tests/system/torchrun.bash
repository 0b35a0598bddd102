# For the suites of torchrun's command line: `load helpers`, `load launcher`, then `load torchrun`.

# No run may depend on what the caller's shell holds.
unset ${!PET_@} PYTHON_EXEC TORCH_ELASTIC_SHUTDOWN_TIMEOUT TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE

# muster under the name torchrun, with a deadline, streams apart.
run_torchrun() { # arguments of torchrun
  [[ -e torchrun ]] || ln -s "$MUSTER" torchrun
  bats_require_minimum_version 1.5.0
  run --separate-stderr bounded ./torchrun "$@"
}

# The same in the background, as begin of launcher.bash.
begin_torchrun() {
  begin torchrun "$@"
}

# Bad input: status 2, one line with these words, nothing started, nothing on standard output.
refused() { # options... -- words
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  run_torchrun "${options[@]}" --no-python sh -c ': >started'
  expect_status 2
  expect_in "$stderr" "$2"
  [[ -z $output && ${#stderr_lines[@]} -eq 1 && ! -e started ]] || { echo "more than a line: $output $stderr"; return 1; }
}

# The only folder of a job below a log folder.
job_of() { # folder
  local found
  found=$(compgen -G "$1/*_*")
  echo "$found"
}

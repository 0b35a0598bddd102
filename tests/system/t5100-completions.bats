#!/usr/bin/env bats
# Completions as each shell makes them, from the files that are installed; bash and zsh on a terminal, where keys are typed.

bats_require_minimum_version 1.5.0
load helpers

setup() {
  begin_test
  export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config XDG_DATA_HOME=$BATS_TEST_TMPDIR/data
  mkdir folder-of-logs programs
  printf '#!/bin/sh\n' >programs/quite-unlike-any-other
  chmod +x programs/quite-unlike-any-other
  PATH=$BATS_TEST_TMPDIR/programs:$PATH
  : >train-of-thought.py
  : >lines
}

need() {
  command -v "$1" >/dev/null || skip "no $1 here"
}

# What was typed, and the line that the Tab key made of it. A trailing blank says that the word is complete.
cases='
muster expl|muster explain
muster completion fi|muster completion fish
muster -n 2 --bindi|muster -n 2 --binding
muster run --binding rot|muster run --binding rotated
muster run --engine=slu|muster run --engine=slurm
muster plan --max-restarts 2 --mpi no|muster plan --max-restarts 2 --mpi none
muster --log-dir folder|muster --log-dir folder-of-logs
muster --hostfile train|muster --hostfile train-of-thought.py
muster -n 2 quite-un|muster -n 2 quite-unlike-any-other
muster -n 2 train|muster -n 2 train-of-thought.py
muster -n 2 -- quite-un|muster -n 2 -- quite-unlike-any-other
muster run -n2 quite-unlike-any-other train|muster run -n2 quite-unlike-any-other train-of-thought.py
muster store --print|muster store --print-port
muster explain NODE|muster explain NODE_LOST
muster torchrun --start-method sp|muster torchrun --start-method spawn
muster-torchrun --rdzv-back|muster-torchrun --rdzv-backend
muster-torchrun --rdzv-backend c10|muster-torchrun --rdzv-backend c10d
muster-torchrun --nnodes 2 train|muster-torchrun --nnodes 2 train-of-thought.py
'

# Types each line and Tab, then Ctrl-T, which the shell's own rc writes to the file `lines`.
type_cases() { # command...
  local typed made
  echo 'expect READY' >script
  while IFS='|' read -r typed made; do
    [[ ! $typed ]] || printf 'type %s\\t\\x14\n' "$typed" >>script
  done <<<"$cases"
  printf 'type exit\\n\n' >>script
  run on_terminal script "$@"
}

# A shell may put "=", "/" or a blank behind what it completed.
compare_lines() {
  local typed made got failures=0
  exec 4<lines
  while IFS='|' read -r typed made; do
    [[ $typed ]] || continue
    IFS= read -r got <&4 || got='(nothing)'
    case $got in "$made" | "$made " | "$made=" | "$made/") continue ;; esac
    echo "'$typed' became '$got', not '$made'"
    failures=$((failures + 1))
  done <<<"$cases"
  exec 4<&-
  ((failures == 0))
}

@test "bash completes commands, options, values, files and the program" {
  cat >rc <<'EOF2'
PS1='READY '
bind 'set enable-bracketed-paste off'
bind 'set bell-style none'
write_line() { printf '%s\n' "$READLINE_LINE" >>lines; READLINE_LINE=; READLINE_POINT=0; }
bind -x '"\C-t": write_line'
EOF2
  echo "source '$SOURCE/share/completions/muster.bash'" >>rc
  type_cases bash --noprofile --rcfile rc -i
  compare_lines
}

@test "bash with bash-completion completes the program's own arguments" {
  local library=/usr/share/bash-completion/bash_completion
  [[ -e $library ]] || skip "no bash-completion here"
  run bash --norc -c "
    source $library; source '$SOURCE/share/completions/muster.bash'
    _own() { COMPREPLY=(own-word); }
    complete -F _own quite-unlike-any-other
    COMP_WORDS=(muster -n 2 quite-unlike-any-other o) COMP_CWORD=4
    COMP_LINE=\${COMP_WORDS[*]} COMP_POINT=\${#COMP_LINE}
    _muster 2>/dev/null; echo \"\${COMPREPLY[@]}\""
  expect_in "$output" own-word
}

@test "zsh completes commands, options, values, files and the program" {
  need zsh
  mkdir functions
  cp "$SOURCE/share/completions/_muster" functions
  cat >.zshrc <<'EOF2'
fpath=($PWD/functions $fpath)
autoload -Uz compinit && compinit -u -D
unsetopt beep
PROMPT='READY '
write_line() { print -r -- "$BUFFER" >>lines; BUFFER=; zle reset-prompt }
zle -N write_line
bindkey '^T' write_line
EOF2
  ZDOTDIR=$PWD type_cases zsh -d -i
  compare_lines
}

@test "fish completes commands, options, values, files and the program" {
  need fish
  local typed made
  while IFS='|' read -r typed made; do
    [[ ! $typed ]] || printf 'complete -C %q | string match -q -r -- %q; or echo %q\n' \
      "$typed" "^${made##*[ ]}[/]?(\\t|\$)" "$typed" >>script.fish
  done <<<"$cases"
  run fish -N -c "source '$SOURCE/share/completions/muster.fish'; source script.fish"
  echo "$output"
  [[ -z $output ]]
}

@test "muster completion SHELL prints the installed files; another shell is status 2" {
  local pair
  for pair in bash=muster.bash zsh=_muster fish=muster.fish; do
    run_muster completion "${pair%=*}"
    expect_status 0
    [[ $output == "$(<"$SOURCE/share/completions/${pair#*=}")" ]]
  done
  run_muster completion tcsh
  expect_status 2
  expect_in "$stderr" "there is for bash, zsh and fish"
  run_muster completion
  expect_status 2
  expect_in "$stderr" "muster completion bash"
}

@test "sourced, they work as well, and torchrun's name is completed for who asked under it" {
  run bash --norc -c 'source <("$MUSTER" completion bash); complete -p muster; complete -p torchrun'
  expect_in "$output" "-F _muster muster"
  expect_in "$output" "torchrun: no completion"
  run bash --norc -c 'source <("$MUSTER" torchrun --print-completion bash); complete -p torchrun'
  expect_in "$output" "-F _muster torchrun"
  if command -v zsh >/dev/null; then
    run zsh -f -c 'autoload -U compinit; compinit -u -D; source <("$MUSTER" completion zsh); echo $_comps[muster]'
    expect_in "$output" _muster
  fi
}

#!/usr/bin/env bats
# A worker's process runs on muster's memory until it has executed: only async-signal-safe calls may come before.

load helpers
load launcher

PERMITTED=" setsid setpgid prctl dup2 dup3 prlimit64 setrlimit getppid getpid ioctl rt_sigaction rt_sigprocmask sched_setaffinity set_mempolicy execve write exit_group exit "

setup_file() {
  if ! command -v strace >/dev/null; then
    export SKIP_FILE="strace is not installed"
  elif ! strace -f -o "$BATS_FILE_TMPDIR/probe" true 2>/dev/null; then
    export SKIP_FILE="strace may not trace here"
  fi
}

# Calls of each process that came of a vfork, up to its execve or its end: "CALL", one a line.
calls() { # trace
  awk '
    $2 ~ /^vfork\(/ && $NF ~ /^[0-9]+$/ { child[$NF] = 1 }
    /<\.\.\. vfork resumed>/ { child[$NF] = 1 }
    { line[NR] = $0; pid[NR] = $1 }
    END {
      for (i = 1; i <= NR; i++) {
        p = pid[i]
        if (!(p in child) || p in over) continue
        split(line[i], words, " ")
        if (words[2] !~ /^[a-z0-9_]+\(/) continue
        name = words[2]
        sub(/\(.*/, "", name)
        print name
        if (name == "execve" && (line[i] ~ /= 0$/ || line[i] ~ /unfinished/)) over[p] = 1
      }
    }' "$1"
}

only_permitted() { # trace
  local call
  for call in $(calls "$1" | sort -u); do
    [[ $PERMITTED == *" $call "* ]] || { echo "not permitted between vfork and exec: $call"; return 1; }
  done
}

traced() { # arguments of muster
  run --separate-stderr bounded strace -f -o trace "$MUSTER" "$@" </dev/null
}

@test "the check sees a call that is not permitted" {
  printf '%s\n' '7 vfork( <unfinished ...>' '8 setsid() = 8' '8 mmap(NULL) = 0x1' '8 execve("x") = 0' '7 <... vfork resumed>) = 8' >made
  [[ $(calls made) == $'setsid\nmmap\nexecve' ]]
  run only_permitted made
  [[ $status -eq 1 ]]
  expect_in "$output" "mmap"
}

@test "two workers: permitted calls only, and each executes" {
  [[ -z $SANITIZED ]] || skip "the sanitizer makes calls of its own"
  bats_require_minimum_version 1.5.0
  traced -n 2 --gpus none --log-dir logs --wrap 'env A=%r' true
  expect_status 0
  only_permitted trace
  [[ $(calls trace | grep -cx execve) -eq 2 && $(calls trace | grep -cx setsid) -eq 2 ]]
}

@test "bound to CPUs and reading standard input: permitted calls only" {
  [[ -z $SANITIZED ]] || skip "the sanitizer makes calls of its own"
  bats_require_minimum_version 1.5.0
  traced -n 2 --gpus none --cpu-bind list:0 --stdin all true
  expect_status 0
  only_permitted trace
  [[ $(calls trace | grep -cx execve) -eq 2 ]]
}

@test "a program that the kernel refuses: permitted calls only" {
  [[ -z $SANITIZED ]] || skip "the sanitizer makes calls of its own"
  bats_require_minimum_version 1.5.0
  echo 'no program' >bad
  chmod +x bad
  traced -n 2 --gpus none ./bad
  expect_status 126
  only_permitted trace
  [[ $(calls trace | grep -cx write) -ge 1 ]]
}

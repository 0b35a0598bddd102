# For the suites of several machines: `load helpers`, `load launcher`, `load lab`. The hosts are made by
# tests/lab/netlab.sh, one lab a file:
#
#   setup_file() { lab_up 3; }
#   teardown_file() { lab_down; }
#
# Folders are shared by all nodes and the test, so a worker on node 2 tells what it has done by a file as
# one on node 1 does. $BIN is in the PATH of what lab_exec starts; a command that comes by ssh has sshd's PATH.

netlab() { "$SOURCE/tests/lab/netlab.sh" "$LAB" "$@"; }

# For setup_file. Where there can be no lab the file is skipped, with the reason.
lab_up() { # nodes [options of netlab.sh]
  local status=0
  [[ -z ${SKIP_FILE-} ]] || return 0
  export LAB=$BATS_FILE_TMPDIR/lab
  netlab up "$@" --owner $$ 2>"$BATS_FILE_TMPDIR/lab.err" 3>&- || status=$?
  ((status == 77)) && { skip_file "$(<"$BATS_FILE_TMPDIR/lab.err")"; return 0; }
  ((status == 0)) || { cat "$BATS_FILE_TMPDIR/lab.err"; return 1; }
}
lab_down() { [[ -z ${LAB-} ]] || netlab down; }

slurm() { "$SOURCE/tests/lab/slurmlab.sh" "$SLURM" "$@"; }

# The same for a Slurm, by options on the nodes of $LAB; see tests/lab/slurmlab.sh.
slurm_up() { # options
  local status=0
  [[ -z ${SKIP_FILE-} ]] || return 0
  export SLURM=$BATS_FILE_TMPDIR/slurm
  slurm up --owner $$ "$@" 2>"$BATS_FILE_TMPDIR/slurm.err" 3>&- || status=$?
  ((status == 77)) && { skip_file "$(<"$BATS_FILE_TMPDIR/slurm.err")"; return 0; }
  ((status == 0)) || { cat "$BATS_FILE_TMPDIR/slurm.err"; return 1; }
}
slurm_down() { [[ -z ${SLURM-} ]] || slurm down; }
# A command of Slurm's with a deadline, as bats' run.
run_slurm() { # command...
  run --separate-stderr bounded "$SOURCE/tests/lab/slurmlab.sh" "$SLURM" exec "$@"
}

# For setup_file, which bats 1.8 cannot leave by `skip`: every test of the file is skipped, and what setup_file
# still does of this does nothing. ctest knows the words and shows the file as skipped.
skip_file() { # reason
  export SKIP_FILE="whole file: $1"
}

lab_exec() { netlab exec "$@"; } # node command...

# The same in the background: STARTED is the process that the command's end and life depend on.
lab_start() { # node command...
  "$SOURCE/tests/lab/netlab.sh" "$LAB" exec "$@" 3>&- &
  STARTED=$!
}

# muster on a node, with a deadline, as run_muster: status, output, stderr.
lab_muster() { # node arguments...
  local node=$1
  shift
  run --separate-stderr bounded "$SOURCE/tests/lab/netlab.sh" "$LAB" exec "$node" "$MUSTER" "$@"
}

# The same on a terminal of that node, typing as SCRIPT says; see terminal.py.
lab_terminal() { # node script arguments...
  local node=$1 script=$2
  shift 2
  lab_exec "$node" python3 "$SOURCE/tests/system/terminal.py" "$script" "$MUSTER" "$@"
}

# muster in the background on a node, or on this host with node 0: files NAME.out and NAME.err. PIDS[NAME]
# is muster itself, to be sent signals; ended NAME waits for it.
bats_require_minimum_version 1.5.0
declare -gA PIDS WAITED
launch() { # name node arguments...
  local name=$1 node=$2
  shift 2
  if ((node)); then
    env --default-signal "$SOURCE/tests/lab/netlab.sh" "$LAB" exec "$node" "$MUSTER" "$@" \
      </dev/null >"$name.out" 2>"$name.err" 3>&- &
  else
    env --default-signal "$MUSTER" "$@" </dev/null >"$name.out" 2>"$name.err" 3>&- &
  fi
  WAITED[$name]=$!
  eventually 20 find_launched "$name"
}
find_launched() { # name -> PIDS
  local pid=${WAITED[$1]}
  is_muster "$pid" && PIDS[$1]=$pid && return 0
  [[ $(cat "/proc/$pid/comm" 2>/dev/null) == nsenter ]] || return 1
  pid=$(tr -d ' ' 2>/dev/null <"/proc/$pid/task/$pid/children")
  [[ -n $pid && $(cat "/proc/$pid/comm" 2>/dev/null) == muster ]] && PIDS[$1]=$pid
}

# Waits for its end: status, output and stderr as bats' run would set them.
ended() { # name [seconds]
  eventually "${2:-60}" has_ended "${WAITED[$1]}" || { cat "$1.err"; return 1; }
  status=0
  wait "${WAITED[$1]}" || status=$?
  output=$(<"$1.out") stderr=$(<"$1.err")
}

# No process is left on any node, or on this one; gives the kernel a moment for deaths already caused.
lab_ps_empty() { # [node]
  eventually 20 lab_is_empty "$@" || { lab_ps "$@"; return 1; }
}
lab_is_empty() { [[ -z $(lab_ps "$@") ]]; }
lab_ps() { # [node]: without Slurm's daemons, but with the ones of its steps
  netlab ps "$@" | grep -v -E '^node[0-9]+ [0-9]+ (munged |slurmctld |slurmd |: slurmscriptd)' || true
}
# For teardown. Ends what a test left there, so that the next one finds a lab as new; fails if there was anything.
lab_end_test() {
  local bad=0
  [[ -z ${SKIP_FILE-} ]] || return 0
  lab_sweep || bad=1
  end_test || bad=1
  return $bad
}
lab_sweep() {
  local node left=''
  for node in $(seq "$(wc -l <"$LAB/hostfile")"); do
    netlab thaw "$node" 2>/dev/null || netlab on "$node"
    netlab heal "$node"
    netlab unblock "$node"
    rm -f "$LAB/node$node/home/.bashrc"
    if ! lab_ps_empty "$node"; then
      echo "node$node had something left"
      left=1
      netlab kill "$node"
      netlab on "$node"
    fi
  done
  [[ -z $left ]]
}

# muster as people start it by hand on each of several nodes; ENDPOINT is where they meet.
member() { # name node rank nnodes arguments...
  launch "$1" "$2" run --nnodes "$4" --node-rank "$3" --rdzv-endpoint "$ENDPOINT" "${@:5}"
}

lab_hostfile() { # slots node...: ./hostfile
  local slots=$1 node
  shift
  for node in "$@"; do echo "node$node slots=$slots"; done >hostfile
}

# A TCP port of 127.0.0.1 that nobody has, from below the range that the kernel gives out by itself, so that only a
# test that draws the same number at the same moment could take it.
free_port() {
  local port
  while port=$((12000 + RANDOM % 20000)); (exec 9<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo "$port"
}

# For the suites of `muster run`: `load helpers`, then `load launcher`. A worker tells what it has done by a
# file in the test's folder; `eventually` waits for files and states, never for time.

# Sizes mean nothing in a build with sanitizers.
SANITIZED=
grep -q __asan_init "$MUSTER" 2>/dev/null && SANITIZED=1

# Starts muster in the background with every signal as a terminal would leave it: PID, files out and err.
begin() { # arguments of muster
  env --default-signal "$MUSTER" "$@" </dev/null >out 2>err 3>&- &
  PID=$!
  eventually 20 is_muster "$PID"
}
# The process is muster by now, no longer the shell that starts it; or it has ended.
is_muster() { # pid
  has_ended "$1" || [[ $(cat "/proc/$1/comm" 2>/dev/null) == muster ]]
}

# Waits for its end: status as bats' run would set it, output and stderr from the files.
end_within() { # seconds
  eventually "$1" has_ended "$PID"
  status=0
  wait "$PID" || status=$?
  output=$(<out) stderr=$(<err)
}
has_ended() { # pid: gone, or a zombie that only we have to collect
  [[ ! -d /proc/$1 || $(state_of "$1") == Z ]]
}
state_of() { # pid: the letter of its state
  local text
  text=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  text=${text##*) }
  echo "${text%% *}"
}

# Files that match a pattern.
have() { # number pattern
  local files
  files=$(compgen -G "$2" | wc -l)
  [[ $files -eq $1 ]]
}

# Lines of a file that match.
has_lines() { # N TEXT FILE
  [[ $(grep -c "$2" "$3") -ge $1 ]]
}

# A worker that leaves a file, to see that none ran.
MARK=(sh -c ': >"started.$RANK"')
nothing_started() { have 0 'started*'; }

# An executable shell script from standard input.
script() { # name
  { echo '#!/bin/sh'; cat; } >"$1"
  chmod +x "$1"
}

# The script `waiting`: each rank waits until all are up, then does what stands for it, or waits to be told to end.
waiting_worker() { # case branches by rank
  script waiting <<W
: >"up.\$RANK"
until [ "\$(ls up.* | wc -l)" = "\$WORLD_SIZE" ]; do sleep 0.05; done
case \$RANK in
$1
esac
exec toy polite
W
}

# The workers' processes are counted by what they run.
running() { # command name: how many processes of this test have it
  local pid n=0
  for pid in $(leftovers); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$1" ]] && n=$((n + 1))
  done
  echo "$n"
}

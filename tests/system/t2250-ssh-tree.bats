#!/usr/bin/env bats
# Agents that start agents, with a stand-in for ssh: any number of hosts on this machine. What each host does when
# somebody logs in is in files of the test's folder; every login is a line "FROM TO" of ./calls.
#
#   on.TO        is run first, with FROM in $FROM, as sshd or ssh would fail: its status, if not 0, is ssh's

load helpers
load launcher

setup() {
  begin_test
  script myssh <<'W'
here=${0%/*}
echo "$*" >>"$here/words"
while [ "$1" != -- ]; do shift; done
FROM=${STAND_IN_HOST-head} TO=$2
echo "$FROM $TO" >>"$here/calls"
! tr '\0' '\n' </proc/self/environ | grep -E '[0-9a-f]{64}' >>"$here/secrets"
echo "$3" >>"$here/commands"
! [ -e "$here/on.$TO" ] || FROM=$FROM sh "$here/on.$TO" "$3" || exit
STAND_IN_HOST=$TO exec sh -c "$3"
W
  SSH=$PWD/myssh
}

on() { cat >"on.$1"; } # host, from standard input

# Who has been called by how many: "head 3", one a line.
callers() { cut -d ' ' -f 1 calls | sort -V | uniq -c | awk '{ print $2, $1 }'; }
called_by() { awk -v to="$1" '$2 == to { print $1 }' calls; } # host
# What is said, but for notices on a busy machine.
quiet() { grep -v 'waiting for' <<<"$stderr" || true; }

@test "100 hosts: the head logs in on 32, and those on the others" {
  run_muster run --ssh "$SSH" --hosts 'h[1-100]' -n 1 sh -c 'echo "$RANK"'
  expect_status 0
  [[ $(sort -n <<<"$output") == "$(seq 0 99)" ]]
  [[ -z $(quiet) ]]
  [[ $(wc -l <calls) -eq 100 && $(cut -d ' ' -f 2 calls | sort -V) == "$(seq -f h%.0f 100)" ]]
  [[ $(callers | grep head) == 'head 32' ]]
  # in the order of the list, the longer runs first: h1 (h2 h3 h4), h5 (...), ... h17 (h18 h19), ...
  [[ $(called_by h4) == h1 && $(called_by h17) == head && $(called_by h100) == h98 ]]
}

@test "64 hosts, or --ssh-flat: the head logs in everywhere" {
  run_muster run --ssh "$SSH" --hosts 'h[1-64]' -n 1 true
  expect_status 0
  [[ $(callers) == 'head 64' ]]
  rm calls
  run_muster run --ssh "$SSH" --ssh-flat --hosts 'h[1-70]' -n 1 true
  expect_status 0
  [[ $(callers) == 'head 70' ]]
}

@test "--ssh-tree lowers both: three levels" {
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-8],h[9-14]' -n 1 sh -c 'echo "$RANK"'
  expect_status 0
  [[ $(sort -n <<<"$output") == "$(seq 0 13)" ]]
  [[ $(callers) == $'h1 2\nh2 2\nh5 2\nh8 2\nh9 2\nh12 2\nhead 2' ]]
}

@test "a --ssh with a relative path is found from other hosts, too" {
  mkdir there
  run_muster run --ssh ./myssh --chdir there --ssh-tree 2 --hosts 'h[1-6]' -n 1 true
  expect_status 0
  [[ $(wc -l <calls) -eq 6 ]]
}

@test "user, port, address and --ssh-arg of a host go along, whoever starts it" {
  echo 'h[1-4] user=ml port=2222' >hostfile
  echo 'fd00::5 user=ml port=2222' >>hostfile
  run_muster run --ssh "$SSH" --ssh-arg -F --ssh-arg 'my config' --ssh-tree 2 --hostfile hostfile -n 1 true
  expect_status 0
  [[ $(callers) == $'h1 2\nh4 1\nhead 2' ]]
  [[ $(grep -c -- '^-F my config -T .* -p 2222 -l ml -- \(h[1-4]\|fd00::5\) ' words) -eq 5 ]]
}

@test "the secret is on no command line and in no environment, of no level" {
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-14]' -n 1 true
  expect_status 0
  [[ ! -s secrets ]]
  [[ $(grep -c -x -E "exec '$MUSTER' agent --boot=[0-9a-f]{16}" commands) -eq 14 ]]
}

@test "a program missing on an inner host's child: named as that host's" {
  on h3 <<<'echo "sh: 1: exec: /opt/muster: not found" >&2; exit 127'
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-6]' -n 1 "${MARK[@]}"
  expect_status 69
  expect_in "$stderr" "h3: muster is not there, or not under this path (--remote-muster): sh: 1: exec: /opt/muster: not found"
  [[ $(called_by h3) == h1 ]]
  nothing_started
}

@test "an agent of another version below an inner host is named" {
  on h3 <<'W'
token=${1##*=}
printf '\nmuster-agent 99 %s 99.9.9\n' "$token"
cat >/dev/null
exit 1
W
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-6]' -n 1 "${MARK[@]}"
  expect_status 69
  expect_in "$stderr" "h3: its muster has version 99.9.9 (protocol 99)"
  nothing_started
}

@test "equal failures of all levels are said once" {
  local host
  for host in h1 h3 h6; do on $host <<<'echo "sh: 1: exec: not found" >&2; exit 127'; done
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-6]' -n 1 "${MARK[@]}"
  expect_status 69
  expect_in "$stderr" "h1, h3, h6: muster is not there"
  nothing_started
}

@test "whom an inner host cannot log in on, the head does" {
  local host
  for host in h2 h3 h5 h6; do
    on $host <<'W'
[ "$FROM" = head ] || { echo "root@host: Permission denied (publickey)." >&2; exit 255; }
W
  done
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-6]' -n 1 sh -c 'echo "$RANK"'
  expect_status 0
  [[ $(sort -n <<<"$output") == "$(seq 0 5)" && -z $(quiet) ]]
  [[ $(called_by h3) == $'h1\nhead' && $(called_by h1) == head ]]
}

@test "a host on which nobody can log in is named, with the head's own reason" {
  on h3 <<<'echo "$FROM@h3: Permission denied (publickey)." >&2; exit 255'
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-6]' -n 1 "${MARK[@]}"
  expect_status 69
  expect_in "$stderr" "h3: head@h3: Permission denied (publickey)."
  expect_not_in "$stderr" "h1@"
  nothing_started
}

@test "an inner host on which nobody can log in is named, and its children are not" {
  on h1 <<<'echo "root@h1: Permission denied (publickey)." >&2; exit 255'
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-6]' -n 1 "${MARK[@]}"
  expect_status 69
  expect_in "$stderr" "h1: root@h1: Permission denied (publickey)."
  expect_not_in "$stderr" "h2"
  [[ $(called_by h2) == head && $(called_by h3) == head ]]
  nothing_started
}

@test "an inner host that hangs: after 10 s the head starts its children, and it alone is missing" {
  on h1 <<<'exec cat >/dev/null'
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-6]' --join-timeout 16s -n 1 "${MARK[@]}"
  expect_status 69
  expect_in "$stderr" "waiting for 3 of 6 nodes: h1 (not logged in yet), h2, h3 (h1 has not started it yet)"
  expect_in "$stderr" "1 of 6 nodes are missing: h1 (not logged in yet)"
  [[ $(called_by h2) == head && $(called_by h3) == head ]]
  nothing_started
}

@test "an inner host whose login to a child hangs: after 10 s the head does it; who then comes twice is sent home" {
  script w <<'W'
: >"up.$RANK"
until [ "$(wc -l <came)" = 2 ]; do sleep 0.05; done
[ "$RANK" = 2 ] || exit 0
until ! tail -n 1 pids | xargs kill -0 2>/dev/null; do sleep 0.05; done
W
  # The agent that comes second is the one of h1; the job waits for its end.
  on h3 <<'W'
if [ "$FROM" != head ]; then
  until [ -e up.2 ]; do sleep 0.05; done
  echo $PPID >pids
fi
echo "$FROM" >>came
W
  run_muster run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-6]' -n 1 ./w
  expect_status 0
  [[ $(called_by h3) == $'h1\nhead' && $(<came) == $'head\nh1' ]]
  [[ -z $(quiet) ]]
}

@test "kill -9 of the head: nothing is left on any host" {
  script w <<'W'
: >"up.$RANK"
exec toy polite
W
  begin run --ssh "$SSH" --ssh-tree 2 --hosts 'h[1-14]' --grace 1s -n 1 ./w
  eventually 60 have 14 'up.*'
  kill -KILL "$PID"
  end_within 20
  expect_status 137
  no_leftovers
}

@test "a path that cannot stand in a boot record is refused before anything starts" {
  run_muster run --ssh "$SSH" --ssh-tree 2 --remote-muster "/$(printf 'x%.0s' {1..1100})" --hosts 'h[1-6]' -n 1 true
  expect_status 2
  expect_in "$stderr" "--ssh-flat"
  expect_in "$stderr" "path of muster"
  [[ ! -e calls ]]
}

run_limited() { # -n|-Sn|-Hn limit arguments of muster...
  bats_require_minimum_version 1.5.0
  run --separate-stderr bounded bash -c 'ulimit "$1" "$2" && exec "${@:3}"' _ "$1" "$2" "$MUSTER" "${@:3}"
}

@test "a hard limit of open files below what the job needs is refused before anything starts" {
  run_limited -n 300 run --ssh "$SSH" --ssh-flat --hosts 'h[1-100]' -n 1 "${MARK[@]}"
  expect_status 2
  expect_in "$stderr" "100 nodes with 100 ranks and 100 commands that start them need 648 open files here, and the hard limit is 300"
  [[ $(wc -l <<<"$stderr") -eq 1 && ! -e calls ]]
  # of a tree the head runs 32 commands
  run_limited -n 300 run --ssh "$SSH" --hosts 'h[1-100]:2' "${MARK[@]}"
  expect_status 2
  expect_in "$stderr" "100 nodes with 200 ranks and 32 commands that start them need 476 open files"
  [[ ! -e calls ]]
  nothing_started
}

@test "and so is one below what the ranks of a host need, by that host" {
  cat >w <<W
#!/bin/sh
[ "\$STAND_IN_HOST" != h2 ] || ulimit -n 100
exec "$MUSTER" "\$@"
W
  chmod +x w
  run_muster run --ssh "$SSH" --remote-muster "$PWD/w" --hosts 'h[1-2]:40' "${MARK[@]}"
  expect_status 2
  expect_in "$stderr" "h2: 40 ranks on one node need 136 open files there, and the hard limit is 100 (ulimit -Hn)"
  nothing_started
  run_limited -n 100 run -n 40 "${MARK[@]}"
  expect_status 2
  expect_in "$stderr" "muster: 40 ranks on one node need 136 open files there"
  nothing_started
}

@test "the soft limit of open files is raised, and workers get back what it was" {
  run_limited -Sn 30 run --ssh "$SSH" --hosts 'h[1-12]' -n 1 sh -c 'ulimit -Sn'
  expect_status 0
  [[ $(sort -u <<<"$output") == 30 && $(wc -l <<<"$output") -eq 12 ]]
}

need_own_pids() {
  ((EUID == 0)) || skip "it takes root to have process ids of one's own"
  unshare --pid --fork --mount-proc sh -c 'echo 9 >/proc/sys/kernel/ns_last_pid' 2>err \
    || skip "no process ids can be chosen here: $(<err)"
}

# An agent leaves the ssh that it has started alone when it cleans up after its workers; but that process only, and
# not another one that gets its number later.
@test "what a worker left behind is ended although an ssh had its process id before" {
  need_own_pids
  script w <<'W'
trap : TERM # the stop that follows
[ "$RANK" != 2 ] || echo "$PPID" >ssh.pid # the stand-in has become the agent of h3
: >"up.$RANK"
[ "$RANK" = 0 ] || exec toy polite >/dev/null
until [ "$(ls up.* | wc -l)" = 6 ]; do sleep 0.05; done
pid=$(cat ssh.pid)
kill -KILL "$pid"
while [ -e "/proc/$pid" ]; do sleep 0.05; done
until [ "${left-}" = "$pid" ]; do
  [ -z "${left-}" ] || kill -KILL "$left"
  echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
  sleep 600 &
  left=$!
done
echo "$left" >left
W
  script all <<'W'
"$MUSTER" run --ssh "$1" --ssh-tree 2 --hosts 'h[1-6]' --grace 30s -n 1 ./w
status=$?
[ ! -e "/proc/$(cat left)" ] || echo "left behind"
exit $status
W
  export MUSTER
  bats_require_minimum_version 1.5.0
  run --separate-stderr bounded unshare --pid --fork --mount-proc ./all "$SSH"
  expect_status 75
  [[ -e left && -z $output ]]
  expect_in "$stderr" "h3"
}

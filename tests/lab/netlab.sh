#!/usr/bin/env bash
# Hosts out of namespaces: node1 ... nodeN on one switch, each with its own network, mounts, host name, IPC,
# process ids, boot id, /dev/shm, home and sshd. One lab is one directory.
#
#   netlab.sh DIR up N [--owner PID] [--no-sshd] [--sshd LINE]...
#                       makes the lab and waits until each node answers. With --owner it goes down by itself
#                       when that process is gone; LINE comes first in every sshd_config
#   netlab.sh DIR down  ends every process of the lab and removes DIR; a lab that is not there is no error
#   netlab.sh DIR exec I COMMAND...
#                       runs it on node I in the present directory; its status is the result. The command dies
#                       with the caller
#   netlab.sh DIR ps [I]     what runs there beside process 1 and sshd's listener: "nodeI PID COMMAND"
#   netlab.sh DIR status     one line a node: name, address, "on" or "off"
#   netlab.sh DIR pid I      process 1 of node I as the host numbers it
#
#   cut I, heal I       pulls the node's cable, plugs it in again
#   drop I              the carrier stays, but nothing passes; heal I ends it
#   block I J [PORT]    what node I sends to node J is lost in silence, but for answers of I's sshd: J can log in
#                       on I and I opens nothing to J. With PORT only what goes to that TCP port. unblock I ends it
#   off I, on I         power failure: silence, then no processes; boots it again, with another boot id
#   kill I              every process dies at once, the kernel lives on and closes their connections; on I ends it
#   freeze I, thaw I    SIGSTOP, SIGCONT to all processes, sshd's too
#
# All processes of a lab are in one process-id namespace whose first process is the switch: with that one gone
# the kernel ends the others, and no namespace has a name that could stay. Files outside DIR are shared by all nodes and
# the host, but for /run, /dev/shm and a few of /etc. DIR/hostfile names the nodes, DIR/nodeI/home is root's
# home there, DIR/nodeI/hosts its /etc/hosts (to be written in place), DIR/nodeI/log what its boot and sshd said.
# Node I has the address 10.77.0.I.
#
# Status: 0; 2 usage; 77 not possible here, with the reason; 1 anything else.
set -euo pipefail
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
self=$(readlink -f "${BASH_SOURCE[0]}")
net=10.77.0
most=200
dead_mac=02:77:00:00:de:ad dead_address=$net.250
pause_s=0.02

say() { echo "netlab: $*" >&2; }
die() { say "$2"; exit "$1"; }

address_of() { echo "$net.$1"; }
alive() { [[ -s $1 && -e /proc/$(<"$1")/ns/pid ]] && [[ $(readlink "/proc/$(<"$1")/ns/pid") == "$(<"$1.ns")" ]]; }

# Notes who we are as the host sees it, which works while /proc is the host's; FILE appears whole.
note_self() { # file
  local pid
  read -r pid _ </proc/self/stat
  readlink /proc/self/ns/pid >"$1.ns"
  echo "$pid" >"$1.new"
  mv "$1.new" "$1"
}

# Repeats a command for some seconds at most. The pauses are not what makes it right.
until_true() { # seconds command...
  local end=$((SECONDS + $1))
  shift
  until "$@" 2>/dev/null; do
    ((SECONDS < end)) || return 1
    read -r -t $pause_s <> <(:) || true
  done
}

# ---- the processes of a lab: keeper (on the host) -> switch -> nodes

# Lives as long as the lab and cleans up after it. A keeper that is killed takes the lab along.
keep() { # owner
  local owner=$1 lab watch=
  echo $$ >"$dir/keeper"
  setpriv --pdeathsig KILL unshare --mount --net --pid --fork --kill-child=KILL -- "$self" "$dir" _switch &
  lab=$!
  if [[ $owner != 0 ]]; then
    tail --pid="$owner" -f /dev/null &
    watch=$!
  fi
  wait -n || true
  # shellcheck disable=SC2086 # none or one
  kill -KILL "$lab" $watch 2>/dev/null || true
  wait
  rm -rf "$dir"
}

switch() {
  local verb i
  mount --make-rprivate /
  ip link set lo up
  ip link add br0 type bridge
  ip link set br0 up
  note_self "$dir/switch"
  while read -r verb i; do
    [[ $verb != boot ]] || boot "$i"
  done <>"$dir/door"
}

boot() { # node
  ip link del "p$1" 2>/dev/null || true
  unshare --mount --uts --ipc --net --pid --fork --kill-child=KILL -- "$self" "$dir" _node "$1" \
    <>"$dir/node$1/door" >>"$dir/node$1/log" 2>&1 &
}

# Process 1 of a node.
node() { # node
  local i=$1 d=$dir/node$1 verb
  cable "$i"
  hostname "node$i"
  read -r pid _ </proc/self/stat
  readlink /proc/self/ns/pid >"$d/init.ns"
  disguise "$d"
  mkdir -p /run/sshd
  ! grep -q sshd "$dir/options" || listen "$d"
  echo "$pid" >"$d/init.new"
  mv "$d/init.new" "$d/init"
  while read -r verb; do
    [[ $verb != sshd ]] || listen "$d"
  done
}
listen() { "$(command -v sshd)" -D -e -f "$1/sshd_config" </dev/null & }

# Process 1 names itself here as the node's network: it is the one that moves the cable's end to itself.
cable() { # node
  local switch
  switch=/proc/$(<"$dir/switch")/ns/net
  nsenter --net="$switch" -- ip link add "p$1" type veth peer name eth0 netns 1
  ip link set lo up
  # After a power failure the neighbours still know it.
  ip link set eth0 address "$(printf 02:77:00:00:00:%02x "$1")"
  sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=1 2>/dev/null || true
  ip addr add "$(address_of "$1")/24" dev eth0
  ip link set eth0 up
  nsenter --net="$switch" -- ip link set "p$1" master br0 up
}

disguise() { # node's folder
  local name
  mount --make-rprivate /
  mount -t proc proc /proc
  cat /proc/sys/kernel/random/uuid >"$1/boot_id"
  mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id
  for name in hosts passwd shadow resolv.conf; do
    [[ ! -e /etc/$name ]] || mount --bind "$1/$name" "/etc/$name"
  done
  mount -t tmpfs -o mode=755 tmpfs /run
  mount -t tmpfs -o mode=1777,size=1g tmpfs /dev/shm
  # A /sys of this network, with the control groups of before.
  if mkdir /run/groups && mount --rbind /sys/fs/cgroup /run/groups 2>/dev/null; then
    mount -t sysfs sysfs /sys && mount --rbind /run/groups /sys/fs/cgroup
  fi
}

# ---- up and down

possible() {
  local program
  [[ $EUID -eq 0 ]] || die 77 "not possible here: it takes root"
  for program in ip nsenter unshare setpriv setsid tail sysctl; do
    command -v "$program" >/dev/null || die 77 "not possible here: no $program (packages iproute2, util-linux, procps)"
  done
  if ((with_sshd)); then
    for program in sshd ssh ssh-keygen; do
      command -v "$program" >/dev/null || die 77 "not possible here: no $program (packages openssh-server, openssh-client)"
    done
  fi
  unshare --mount --uts --ipc --net --pid --fork -- ip link add br0 type bridge 2>/dev/null \
    || die 77 "not possible here: the system refuses namespaces or bridges"
}

up() {
  local count='' owner=0 i
  with_sshd=1 sshd_lines=''
  while (($#)); do
    case $1 in
    --owner) owner=${2:?--owner takes a process id}; shift ;;
    --no-sshd) with_sshd=0 ;;
    --sshd) sshd_lines+=${2:?--sshd takes a line}$'\n'; shift ;;
    *) [[ $1 =~ ^[1-9][0-9]*$ && -z $count ]] || die 2 "up: '$1' is neither an option nor a number of nodes"; count=$1 ;;
    esac
    shift
  done
  [[ -n $count ]] && ((count <= most)) || die 2 "up: how many nodes? 1 to $most"
  possible
  if [[ -e $dir ]]; then rmdir "$dir" 2>/dev/null || die 1 "$dir is there already and not empty; 'down' ends a lab"; fi
  mkdir -p "$dir"
  trap 'status=$?; ((status == 0)) || down; exit $status' EXIT
  furnish "$count"
  # A double fork: whoever ends our caller's children does not meet the keeper.
  (setsid "$self" "$dir" _keep "$owner" </dev/null >"$dir/log" 2>&1 &)
  until_true 60 alive "$dir/switch" || { cat "$dir/log" >&2; die 1 "no switch after 60 s"; }
  for ((i = 1; i <= count; i++)); do echo "boot $i"; done >"$dir/door"
  for ((i = 1; i <= count; i++)); do await "$i"; done
}

await() { # node
  until_true 60 answers "$1" || { cat "$dir/node$1/log" >&2; die 1 "node$1 does not answer after 60 s"; }
}
answers() { # node
  alive "$dir/node$1/init" || return 1
  ! grep -q sshd "$dir/options" || nsenter --target "$(<"$dir/node$1/init")" --net -- bash -c 'exec 9<>/dev/tcp/127.0.0.1/22'
}

furnish() { # number of nodes
  local i d
  mkfifo "$dir/door"
  : >"$dir/options"
  if ((with_sshd)); then echo sshd >"$dir/options"; fi
  if ((with_sshd)); then ssh-keygen -q -t ed25519 -N '' -C lab -f "$dir/id"; fi
  : >"$dir/known_hosts"
  for ((i = 1; i <= $1; i++)); do
    d=$dir/node$i
    mkdir -p "$d/home/.ssh"
    mkfifo "$d/door"
    echo "node$i" >>"$dir/hostfile"
    echo "$(address_of "$i") node$i" >>"$dir/names"
    : >"$d/resolv.conf"
    sed "s,^root:[^:]*:\(.*\):[^:]*:[^:]*\$,root:x:\1:$d/home:/bin/bash," /etc/passwd >"$d/passwd"
    echo 'root:*:19000:0:99999:7:::' >"$d/shadow"
    if ((with_sshd)); then door_key "$i"; fi
  done
  for ((i = 1; i <= $1; i++)); do
    d=$dir/node$i
    { echo '127.0.0.1 localhost'; cat "$dir/names"; } >"$d/hosts"
    if ((with_sshd)); then cp "$dir/id" "$d/home/.ssh/id_ed25519"; fi
    cp "$dir/known_hosts" "$d/home/.ssh/"
    # The key exchange is a cheap one: a lab logs in often.
    printf '%s\n' 'StrictHostKeyChecking yes' 'GlobalKnownHostsFile none' 'IdentitiesOnly yes' \
      'KexAlgorithms curve25519-sha256' >"$d/home/.ssh/config"
    chmod -R go= "$d/home"
  done
}

door_key() { # node
  local d=$dir/node$1
  ssh-keygen -q -t ed25519 -N '' -C "node$1" -f "$d/host_key"
  echo "node$1,$(address_of "$1") $(cut -d ' ' -f 1,2 "$d/host_key.pub")" >>"$dir/known_hosts"
  {
    printf %s "$sshd_lines"
    printf '%s\n' "HostKey $d/host_key" "AuthorizedKeysFile $dir/id.pub" 'StrictModes no' 'UsePAM no' 'UseDNS no' \
      'PermitRootLogin yes' 'PasswordAuthentication no' 'KbdInteractiveAuthentication no' 'PidFile none' \
      'PrintMotd no' 'PrintLastLog no' 'MaxStartups 300' 'LogLevel VERBOSE'
  } >"$d/sshd_config"
}

down() {
  local keeper
  [[ -e $dir ]] || return 0
  [[ -p $dir/door || -z $(ls -A "$dir") ]] || die 1 "$dir is not a lab"
  ! alive "$dir/switch" || kill -KILL "$(<"$dir/switch")" 2>/dev/null || true
  # The keeper removes the folder last. Where there is none any more, or none yet, we do.
  keeper=$(keeper_of)
  if [[ -n $keeper ]]; then until_true 60 test ! -e "/proc/$keeper" || kill -KILL "$keeper" 2>/dev/null || true; fi
  rm -rf "$dir"
}
# Its process id, if it lives: a number may be somebody else's by now.
keeper_of() {
  local words
  [[ -s $dir/keeper ]] && mapfile -d '' words 2>/dev/null <"/proc/$(<"$dir/keeper")/cmdline" || return 0
  [[ " ${words[*]} " != *" $dir _keep "* ]] || cat "$dir/keeper" 2>/dev/null || true
}

# ---- a lab in use

init_of() { # node -> $init
  [[ -p $dir/door ]] || die 2 "no lab in $dir; 'up' makes one"
  [[ ${1-} =~ ^[1-9][0-9]*$ && -d $dir/node$1 ]] || die 2 "'${1-}' is no node of $dir"
  alive "$dir/node$1/init" || die 1 "node$1 is off"
  init=$(<"$dir/node$1/init")
}
inside() { # node command...: all but its mounts, which have no need to be seen
  init_of "$1"
  nsenter --target "$init" --net --pid -- "${@:2}"
}
at_switch() { nsenter --target "$(<"$dir/switch")" --net -- "$@"; }
known() { [[ ${1-} =~ ^[1-9][0-9]*$ && -d $dir/node$1 ]] || die 2 "'${1-}' is no node of $dir"; }

run() { # node command...
  init_of "$1"
  [[ $# -gt 1 ]] || die 2 "exec: which command?"
  exec nsenter --target "$init" --mount --uts --ipc --net --pid -- \
    setpriv --pdeathsig KILL env -C "$PWD" HOME="$dir/node$1/home" HOSTNAME="node$1" "${@:2}"
}

list() { # node
  local proc pid line state words
  alive "$dir/node$1/init" || return 0
  for proc in "/proc/$(<"$dir/node$1/init")/root/proc"/[0-9]*; do
    pid=${proc##*/}
    line=$(cat "$proc/stat" 2>/dev/null) || continue
    state=${line##*) }
    mapfile -d '' words 2>/dev/null <"$proc/cmdline" || continue
    [[ $pid == 1 || $state == Z* || ${words[*]} == 'sshd: '*'[listener]'* ]] || echo "node$1 $pid ${words[*]}"
  done
}

each() { # command: with the number of each node
  local d
  for d in "$dir"/node[0-9]*; do "$1" "${d##*/node}"; done | sort -V
}
state() { # node
  echo "node$1 $(address_of "$1") $(alive "$dir/node$1/init" && echo on || echo off)"
}

silence() { at_switch ip link set "p$1" nomaster; }
plug() { at_switch ip link set "p$1" master br0 up; }

# What is to be lost goes to a neighbour that does not exist.
block() { # from to [port]
  local what=()
  known "${1-}"
  known "${2-}"
  [[ -z ${3-} ]] || what=(ipproto tcp dport "$3")
  inside "$1" ip neigh replace "$dead_address" lladdr $dead_mac dev eth0 nud permanent
  inside "$1" ip route replace default via "$dead_address" dev eth0 onlink table 77
  inside "$1" ip rule add priority 70 to "$(address_of "$2")" ipproto tcp sport 22 lookup main
  inside "$1" ip rule add priority 71 to "$(address_of "$2")" "${what[@]}" lookup 77
}
unblock() { # node
  local priority
  for priority in 70 71; do
    while inside "$1" ip rule del priority $priority 2>/dev/null; do :; done
  done
}

switch_off() { # node
  local init
  init_of "$1"
  silence "$1"
  kill -KILL "$init"
  until_true 60 test ! -e "/proc/$init/ns/pid" || die 1 "node$1 does not go off"
  rm -f "$dir/node$1/init"
}
# They have died when it returns: the old sshd would keep the port from the one that `on` starts, and answer for it.
kill_all() { # node
  inside "$1" sh -c 'kill -KILL -1'
  until_true 60 is_alone "$1" || die 1 "processes of node$1 do not die"
}
is_alone() { # node: process 1 is
  [[ $(cd "/proc/$init/root/proc" && echo [0-9]*) == 1 ]]
}
switch_on() { # node
  known "${1-}"
  if alive "$dir/node$1/init"; then
    plug "$1"
    echo sshd >"$dir/node$1/door"
  else
    echo "boot $1" >"$dir/door"
  fi
  await "$1"
}

main() {
  [[ $# -ge 2 ]] || { sed -n '2,/^set -/s/^# \{0,1\}//p' "$self" >&2; exit 2; }
  dir=$(readlink -m "$1")
  [[ $dir =~ ^[A-Za-z0-9/._+-]+$ ]] || die 2 "the folder's name may hold letters, digits and / . _ + - only"
  local verb=$2
  shift 2
  case $verb in
  up | _keep) for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd <= 2 || fd >= 200)) || eval "exec $fd>&-" 2>/dev/null || true; done ;;
  _* | down) ;;
  *) [[ -p $dir/door ]] || die 2 "no lab in $dir; 'up' makes one" ;;
  esac
  case $verb in
  up) up "$@" ;;
  down) down ;;
  exec) run "$@" ;;
  ps) if (($#)); then known "$1"; list "$1"; else each list; fi ;;
  status) each state ;;
  pid) init_of "${1-}"; echo "$init" ;;
  cut) known "${1-}"; at_switch ip link set "p$1" down ;;
  drop) known "${1-}"; silence "$1" ;;
  heal) known "${1-}"; plug "$1" ;;
  block) block "$@" ;;
  unblock) unblock "${1-}" ;;
  off) switch_off "${1-}" ;;
  on) switch_on "${1-}" ;;
  kill) kill_all "${1-}" ;;
  freeze) inside "${1-}" sh -c 'kill -STOP -1' ;;
  thaw) inside "${1-}" sh -c 'kill -CONT -1' ;;
  _keep) keep "$@" ;;
  _switch) switch ;;
  _node) node "$@" ;;
  *) die 2 "unknown command '$verb'; called without any, netlab.sh shows them" ;;
  esac
}
main "$@"

#!/usr/bin/env bash
# A Slurm of its own on a lab of netlab.sh: munged, slurmctld and slurmds with all their files in one directory.
#
#   slurmlab.sh DIR up [--nodes N] [--lab LAB] [--gpus G] [--owner PID] [--conf LINE]...
#                     starts it and waits until all nodes are idle. Without --lab: N slurmds (4) named n1 ... beside
#                     each other on the one node of a lab in DIR/lab. With --lab: one on each node of LAB, named
#                     node1 ...; the controller is on node1. G fake GPUs a node (4): device files without a driver.
#                     LINE goes into slurm.conf
#   slurmlab.sh DIR down        ends all of it, jobs too, and removes DIR
#   slurmlab.sh DIR exec COMMAND...  srun, sbatch, scancel, squeue: on node1, in the present directory. What cannot
#                     be scheduled waits for ever: put `timeout` in front
#   slurmlab.sh DIR idle        succeeds once no job is left and all nodes are idle; bounded
#
# Ports are Slurm's own: the lab's network is its own. Status as netlab.sh.
set -euo pipefail
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
netlab=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/netlab.sh
most=64 ready_s=60

say() { echo "slurmlab: $*" >&2; }
die() { say "$2"; exit "$1"; }

until_true() { # seconds command...
  local end=$((SECONDS + $1))
  shift
  until "$@" 2>/dev/null; do
    ((SECONDS < end)) || return 1
    read -r -t 0.05 <> <(:) || true
  done
}

on() { "$netlab" "$(<"$dir/where")" exec "$1" env SLURM_CONF="$dir/slurm.conf" "${@:2}"; } # node command...
count() { grep -c . "$dir/nodes"; }
all_idle() { [[ $(on 1 timeout 10 sinfo -h -N -o %T | grep -c -x idle) == "$(count)" ]]; }
no_jobs() { [[ -z $(on 1 timeout 10 squeue -h) ]]; }

possible() {
  local program
  [[ $EUID -eq 0 ]] || die 77 "not possible here: it takes root"
  for program in munged slurmctld slurmd srun sbatch; do
    command -v "$program" >/dev/null || die 77 "not possible here: no $program (packages munge, slurmctld, slurmd, slurm-client)"
  done
}

up() {
  local nodes=4 lab='' gpus=4 owner=0 lines='' status=0
  while (($#)); do
    [[ $# -ge 2 ]] || die 2 "up: $1 needs a value"
    case $1 in
    --nodes) nodes=$2 ;;
    --lab) lab=$(readlink -m "$2") ;;
    --gpus) gpus=$2 ;;
    --owner) owner=$2 ;;
    --conf) lines+=$2$'\n' ;;
    *) die 2 "up: unknown option '$1'" ;;
    esac
    shift 2
  done
  [[ $nodes =~ ^[1-9][0-9]*$ && $gpus =~ ^[0-9]+$ ]] && ((nodes <= most && gpus <= most)) \
    || die 2 "up: --nodes takes 1 to $most, --gpus 0 to $most"
  possible
  [[ ! -e $dir ]] || rmdir "$dir" 2>/dev/null || die 1 "$dir is there already; 'down' ends a Slurm"
  mkdir -p "$dir"/{log,run,state,munge,dev}
  trap 'status=$?; ((status == 0)) || { tail -n 5 "$dir"/log/* >&2 || true; down; }; exit $status' EXIT
  echo "${lab:-$dir/lab}" >"$dir/where"
  if [[ -n $lab ]]; then
    cp "$lab/hostfile" "$dir/nodes"
  else
    seq -f 'n%.0f' "$nodes" >"$dir/nodes"
    "$netlab" "$dir/lab" up 1 --no-sshd --owner "$owner" || status=$?
    ((status == 0)) || exit "$status"
  fi
  gpus=$(make_gpus "$gpus")
  configure "$lab" "$gpus" "$lines" >"$dir/slurm.conf"
  start "$lab"
  until_true $ready_s all_idle || die 1 "not all nodes are idle after $ready_s s"
}

# Character devices, as slurmd wants them, of a number that nobody has a driver for; prints how many there are.
make_gpus() { # number
  local i
  for ((i = 0; i < $1; i++)); do
    mknod "$dir/dev/nvidia$i" c 195 "$i" 2>/dev/null || { say "no device files here, so no GPUs"; echo 0; return 0; }
    echo "Name=gpu File=$dir/dev/nvidia$i" >>"$dir/gres.conf"
  done
  echo "$1"
}

configure() { # lab gpus lines
  local name i=0 gres='' place
  (($2 == 0)) || gres="Gres=gpu:$2"
  printf '%s\n' ClusterName=muster SlurmUser=root SlurmdUser=root AuthType=auth/munge "AuthInfo=socket=$dir/munge/socket" \
    "SlurmctldHost=$([[ -n $1 ]] && echo 'node1(10.77.0.1)' || echo 'localhost(127.0.0.1)')" \
    "StateSaveLocation=$dir/state" "SlurmdSpoolDir=$dir/run/spool-%n" \
    "SlurmctldPidFile=$dir/run/slurmctld.pid" "SlurmdPidFile=$dir/run/slurmd-%n.pid" \
    "SlurmctldLogFile=$dir/log/slurmctld" "SlurmdLogFile=$dir/log/slurmd-%n" \
    ProctrackType=proctrack/linuxproc TaskPlugin=task/none MpiDefault=none SlurmdParameters=config_overrides \
    SelectType=select/cons_tres SelectTypeParameters=CR_Core SchedulerParameters=sched_min_interval=0 \
    ReturnToService=2 KillWait=20 SlurmdTimeout=60
  [[ -z $gres ]] || echo GresTypes=gpu
  while read -r name; do
    i=$((i + 1))
    place="NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((17000 + i))"
    [[ -z $1 ]] || place="NodeAddr=10.77.0.$i"
    echo "NodeName=$name $place CPUs=8 RealMemory=1000 $gres State=UNKNOWN"
  done <"$dir/nodes"
  echo "PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES State=UP"
  printf %s "$3"
}

# The daemons go to the background by themselves, as children of their node's first process.
start() { # lab
  local name i=0
  head -c 128 /dev/urandom >"$dir/munge/key"
  chmod 700 "$dir/munge"
  chmod 400 "$dir/munge/key"
  on 1 munged --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
    --log-file="$dir/log/munged" --seed-file="$dir/munge/seed" >>"$dir/log/start" 2>&1
  on 1 slurmctld -f "$dir/slurm.conf" >>"$dir/log/start" 2>&1
  while read -r name; do
    i=$((i + 1))
    mkdir -p "$dir/run/spool-$name"
    on "$([[ -n $1 ]] && echo $i || echo 1)" slurmd -f "$dir/slurm.conf" -N "$name" >>"$dir/log/start" 2>&1 </dev/null
  done <"$dir/nodes"
}

# Of somebody else's lab only our processes are ended: those that have our directory in their environment or command.
down() {
  local node
  [[ -e $dir ]] || return 0
  [[ -s $dir/where ]] || die 1 "$dir is no Slurm of ours"
  if [[ -e $dir/lab ]]; then
    "$netlab" "$dir/lab" down
  elif [[ -e $(<"$dir/where") ]]; then
    for node in $(seq "$(count)"); do until_true 60 sweep "$node" || say "node$node still has processes of Slurm"; done
  fi
  rm -rf "$dir"
}
sweep() { # node: kills, and succeeds when there was nothing to kill
  "$netlab" "$(<"$dir/where")" exec "$1" bash -c '
    left=0
    for p in /proc/[0-9]*; do
      if [[ ${p#/proc/} != 1 && ${p#/proc/} != $$ ]] && grep -q -s -a -F "$0" "$p/environ" "$p/cmdline"; then
        kill -KILL "${p#/proc/}" 2>/dev/null && left=1
      fi
    done
    exit $left' "$dir/"
}

main() {
  [[ $# -ge 2 ]] || { sed -n '2,/^set -/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
  dir=$(readlink -m "$1")
  local verb=$2
  shift 2
  case $verb in
  up) up "$@" ;;
  down) down ;;
  exec | idle)
    [[ -s $dir/where ]] || die 2 "no Slurm in $dir; 'up' makes one"
    if [[ $verb == exec ]]; then
      exec "$netlab" "$(<"$dir/where")" exec 1 env SLURM_CONF="$dir/slurm.conf" "$@"
    fi
    until_true $ready_s no_jobs && until_true $ready_s all_idle || die 1 "jobs or nodes are still busy after $ready_s s"
    ;;
  *) die 2 "unknown command '$verb'; called without any, slurmlab.sh shows them" ;;
  esac
}
main "$@"

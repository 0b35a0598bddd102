# Completion of muster for bash, as `muster completion bash` prints it.

# _muster_options COMMAND: its options, in REPLY.
_muster_options() {
  REPLY=
  case $1 in
    run) REPLY='-n --nproc-per-node --gpus --binding --procs-per-gpu --gpus-per-proc --gpu-dist --gpu-format --gpu-require --ignore-visible --strict-env --skip-unhealthy --cpu-bind --mpi --max-restarts --restart-delay --restart-delay-max --min-uptime --no-restart-codes --grace --timeout --heartbeat-timeout --silence-timeout --stack-tool --preempt-signal --prefix --log-dir --log-size -t --tee -r --redirects --only-ranks --show --dedupe --stdin --wrap --wrap-ranks --terminal --report --events --junit --metrics --nnodes --node-rank --rdzv-endpoint --hostfile --hosts --include --exclude --engine --ssh --ssh-arg --ssh-tree --ssh-flat --remote-muster -x --forward --env-file --chdir --interface --rdzv-id --secret-file --require-secret --store-open --join-timeout --role --scheduler-env --compat --master-port -m --module --preflight --only --skip --strict --expect-gpus -v --verbose -h --help ' ;;
    check) REPLY='--test --sizes --min --max --factor --step --full --iters --warmup --check --type --op --root --min-busbw --warn-below --fail-below --json --csv --html --junit --format --deadline --bisect --inject --nccl --backend --worker --strict --skip --only -h --help -n --nproc-per-node --gpus --binding --procs-per-gpu --gpus-per-proc --gpu-dist --gpu-format --gpu-require --ignore-visible --strict-env --skip-unhealthy --cpu-bind --mpi --max-restarts --restart-delay --restart-delay-max --min-uptime --no-restart-codes --grace --timeout --heartbeat-timeout --silence-timeout --stack-tool --preempt-signal --prefix --log-dir --log-size -t --tee -r --redirects --only-ranks --show --dedupe --stdin --wrap --wrap-ranks --terminal --report --events --metrics --nnodes --node-rank --rdzv-endpoint --hostfile --hosts --include --exclude --engine --ssh --ssh-arg --ssh-tree --ssh-flat --remote-muster -x --forward --env-file --chdir --interface --rdzv-id --secret-file --require-secret --store-open --join-timeout --role --scheduler-env --compat --master-port -m --module --preflight --expect-gpus -v --verbose ' ;;
    gpus) REPLY='-n --nproc-per-node --gpus --binding --procs-per-gpu --gpus-per-proc --gpu-dist --gpu-format --gpu-require --ignore-visible --strict-env --skip-unhealthy --hostfile --hosts --include --exclude --ssh --ssh-arg --remote-muster --join-timeout --json -h --help ' ;;
    plan) REPLY='-n --nproc-per-node --gpus --binding --procs-per-gpu --gpus-per-proc --gpu-dist --gpu-format --gpu-require --ignore-visible --strict-env --skip-unhealthy --cpu-bind --mpi --max-restarts --restart-delay --restart-delay-max --min-uptime --no-restart-codes --grace --timeout --heartbeat-timeout --silence-timeout --stack-tool --preempt-signal --prefix --log-dir --log-size -t --tee -r --redirects --only-ranks --show --dedupe --stdin --wrap --wrap-ranks --terminal --report --events --junit --metrics --nnodes --node-rank --rdzv-endpoint --hostfile --hosts --include --exclude --engine --ssh --ssh-arg --ssh-tree --ssh-flat --remote-muster -x --forward --env-file --chdir --interface --rdzv-id --secret-file --require-secret --store-open --join-timeout --role --scheduler-env --compat --master-port -m --module -v --verbose --json -h --help ' ;;
    doctor) REPLY='-n --nproc-per-node --gpus --binding --procs-per-gpu --gpus-per-proc --gpu-dist --gpu-format --gpu-require --ignore-visible --strict-env --skip-unhealthy --nnodes --hostfile --hosts --include --exclude --ssh --ssh-arg --ssh-tree --ssh-flat --remote-muster --join-timeout --only --skip --strict --expect-gpus --lookup --evidence -v --verbose --json -h --help ' ;;
    ps) REPLY='--json -h --help ' ;;
    top) REPLY='--json --once -h --help ' ;;
    logs) REPLY='-f --follow --rank -h --help ' ;;
    stack) REPLY='-h --help ' ;;
    stop) REPLY='--kill -h --help ' ;;
    torchrun) REPLY='--nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf --standalone --max-restarts --monitor-interval --start-method --event-log-handler --role -m --module --no-python --run-path --log-dir -r --redirects -t --tee --log-line-prefix-template --local-ranks-filter --duplicate-stdout-filters --duplicate-stderr-filters --node-rank --master-addr --master-port --local-addr --logs-specs --numa-binding --signals-to-handle --shutdown-timeout --virtual-local-rank --print-completion --exit-barrier-timeout -h --help ' ;;
    store) REPLY='--host --port --ready-fd --print-port --store-open -v --verbose -h --help ' ;;
  esac
}

# _muster_value COMMAND OPTION: what stands behind it, in REPLY: words, @files and the like, nothing behind a flag.
_muster_value() {
  REPLY=
  case $1:$2 in
    run:--nproc-per-node | run:-n) REPLY='gpu cpu auto' ;;
    run:--gpus) REPLY='@any' ;;
    run:--binding) REPLY='shared isolated isolated-virtual rotated none' ;;
    run:--procs-per-gpu) REPLY='@any' ;;
    run:--gpus-per-proc) REPLY='@any' ;;
    run:--gpu-dist) REPLY='block cyclic' ;;
    run:--gpu-format) REPLY='auto index uuid' ;;
    run:--gpu-require) REPLY='@any' ;;
    run:--cpu-bind) REPLY='none node socket exclusive llc' ;;
    run:--mpi) REPLY='none auto pmix pmi' ;;
    run:--max-restarts) REPLY='@any' ;;
    run:--restart-delay) REPLY='@any' ;;
    run:--restart-delay-max) REPLY='@any' ;;
    run:--min-uptime) REPLY='@any' ;;
    run:--no-restart-codes) REPLY='@any' ;;
    run:--grace) REPLY='@any' ;;
    run:--timeout) REPLY='@any' ;;
    run:--heartbeat-timeout) REPLY='@any' ;;
    run:--silence-timeout) REPLY='@any' ;;
    run:--stack-tool) REPLY='auto py-spy eu-stack gdb none' ;;
    run:--preempt-signal) REPLY='@any' ;;
    run:--prefix) REPLY='auto none' ;;
    run:--log-dir) REPLY='@folders' ;;
    run:--log-size) REPLY='@any' ;;
    run:--tee | run:-t) REPLY='0 1 2 3' ;;
    run:--redirects | run:-r) REPLY='0 1 2 3' ;;
    run:--only-ranks) REPLY='@any' ;;
    run:--show) REPLY='0 1 2 3' ;;
    run:--stdin) REPLY='all none' ;;
    run:--wrap) REPLY='@any' ;;
    run:--wrap-ranks) REPLY='@any' ;;
    run:--terminal) REPLY='none' ;;
    run:--report) REPLY='@files' ;;
    run:--events) REPLY='@files' ;;
    run:--junit) REPLY='@files' ;;
    run:--metrics) REPLY='@any' ;;
    run:--nnodes) REPLY='@any' ;;
    run:--node-rank) REPLY='auto' ;;
    run:--rdzv-endpoint) REPLY='@any' ;;
    run:--hostfile) REPLY='@files' ;;
    run:--hosts) REPLY='@any' ;;
    run:--include) REPLY='@any' ;;
    run:--exclude) REPLY='@any' ;;
    run:--engine) REPLY='auto ssh slurm mpi manual' ;;
    run:--ssh) REPLY='@programs' ;;
    run:--ssh-arg) REPLY='@any' ;;
    run:--ssh-tree) REPLY='@any' ;;
    run:--remote-muster) REPLY='@files' ;;
    run:--forward | run:-x) REPLY='@any' ;;
    run:--env-file) REPLY='@files' ;;
    run:--chdir) REPLY='@folders' ;;
    run:--interface) REPLY='@any' ;;
    run:--rdzv-id) REPLY='@any' ;;
    run:--secret-file) REPLY='@files' ;;
    run:--join-timeout) REPLY='@any' ;;
    run:--role) REPLY='@any' ;;
    run:--scheduler-env) REPLY='auto keep hide' ;;
    run:--compat) REPLY='jax accelerate-cpu tf paddle' ;;
    run:--master-port) REPLY='@any' ;;
    run:--only) REPLY='@any' ;;
    run:--skip) REPLY='@any' ;;
    run:--expect-gpus) REPLY='@any' ;;
    check:--test) REPLY='@any' ;;
    check:--sizes) REPLY='@any' ;;
    check:--min) REPLY='@any' ;;
    check:--max) REPLY='@any' ;;
    check:--factor) REPLY='@any' ;;
    check:--step) REPLY='@any' ;;
    check:--iters) REPLY='@any' ;;
    check:--warmup) REPLY='@any' ;;
    check:--check) REPLY='@any' ;;
    check:--type) REPLY='@any' ;;
    check:--op) REPLY='@any' ;;
    check:--root) REPLY='@any' ;;
    check:--min-busbw) REPLY='@any' ;;
    check:--warn-below) REPLY='@any' ;;
    check:--fail-below) REPLY='@any' ;;
    check:--json) REPLY='@files' ;;
    check:--csv) REPLY='@files' ;;
    check:--html) REPLY='@files' ;;
    check:--junit) REPLY='@files' ;;
    check:--format) REPLY='@any' ;;
    check:--deadline) REPLY='@any' ;;
    check:--inject) REPLY='@any' ;;
    check:--nccl) REPLY='@files' ;;
    check:--backend) REPLY='@any' ;;
    check:--worker) REPLY='@programs' ;;
    check:--skip) REPLY='@any' ;;
    check:--only) REPLY='@any' ;;
    check:--nproc-per-node | check:-n) REPLY='gpu cpu auto' ;;
    check:--gpus) REPLY='@any' ;;
    check:--binding) REPLY='shared isolated isolated-virtual rotated none' ;;
    check:--procs-per-gpu) REPLY='@any' ;;
    check:--gpus-per-proc) REPLY='@any' ;;
    check:--gpu-dist) REPLY='block cyclic' ;;
    check:--gpu-format) REPLY='auto index uuid' ;;
    check:--gpu-require) REPLY='@any' ;;
    check:--cpu-bind) REPLY='none node socket exclusive llc' ;;
    check:--mpi) REPLY='none auto pmix pmi' ;;
    check:--max-restarts) REPLY='@any' ;;
    check:--restart-delay) REPLY='@any' ;;
    check:--restart-delay-max) REPLY='@any' ;;
    check:--min-uptime) REPLY='@any' ;;
    check:--no-restart-codes) REPLY='@any' ;;
    check:--grace) REPLY='@any' ;;
    check:--timeout) REPLY='@any' ;;
    check:--heartbeat-timeout) REPLY='@any' ;;
    check:--silence-timeout) REPLY='@any' ;;
    check:--stack-tool) REPLY='auto py-spy eu-stack gdb none' ;;
    check:--preempt-signal) REPLY='@any' ;;
    check:--prefix) REPLY='auto none' ;;
    check:--log-dir) REPLY='@folders' ;;
    check:--log-size) REPLY='@any' ;;
    check:--tee | check:-t) REPLY='0 1 2 3' ;;
    check:--redirects | check:-r) REPLY='0 1 2 3' ;;
    check:--only-ranks) REPLY='@any' ;;
    check:--show) REPLY='0 1 2 3' ;;
    check:--stdin) REPLY='all none' ;;
    check:--wrap) REPLY='@any' ;;
    check:--wrap-ranks) REPLY='@any' ;;
    check:--terminal) REPLY='none' ;;
    check:--report) REPLY='@files' ;;
    check:--events) REPLY='@files' ;;
    check:--metrics) REPLY='@any' ;;
    check:--nnodes) REPLY='@any' ;;
    check:--node-rank) REPLY='auto' ;;
    check:--rdzv-endpoint) REPLY='@any' ;;
    check:--hostfile) REPLY='@files' ;;
    check:--hosts) REPLY='@any' ;;
    check:--include) REPLY='@any' ;;
    check:--exclude) REPLY='@any' ;;
    check:--engine) REPLY='auto ssh slurm mpi manual' ;;
    check:--ssh) REPLY='@programs' ;;
    check:--ssh-arg) REPLY='@any' ;;
    check:--ssh-tree) REPLY='@any' ;;
    check:--remote-muster) REPLY='@files' ;;
    check:--forward | check:-x) REPLY='@any' ;;
    check:--env-file) REPLY='@files' ;;
    check:--chdir) REPLY='@folders' ;;
    check:--interface) REPLY='@any' ;;
    check:--rdzv-id) REPLY='@any' ;;
    check:--secret-file) REPLY='@files' ;;
    check:--join-timeout) REPLY='@any' ;;
    check:--role) REPLY='@any' ;;
    check:--scheduler-env) REPLY='auto keep hide' ;;
    check:--compat) REPLY='jax accelerate-cpu tf paddle' ;;
    check:--master-port) REPLY='@any' ;;
    check:--expect-gpus) REPLY='@any' ;;
    gpus:--nproc-per-node | gpus:-n) REPLY='gpu cpu auto' ;;
    gpus:--gpus) REPLY='@any' ;;
    gpus:--binding) REPLY='shared isolated isolated-virtual rotated none' ;;
    gpus:--procs-per-gpu) REPLY='@any' ;;
    gpus:--gpus-per-proc) REPLY='@any' ;;
    gpus:--gpu-dist) REPLY='block cyclic' ;;
    gpus:--gpu-format) REPLY='auto index uuid' ;;
    gpus:--gpu-require) REPLY='@any' ;;
    gpus:--hostfile) REPLY='@files' ;;
    gpus:--hosts) REPLY='@any' ;;
    gpus:--include) REPLY='@any' ;;
    gpus:--exclude) REPLY='@any' ;;
    gpus:--ssh) REPLY='@programs' ;;
    gpus:--ssh-arg) REPLY='@any' ;;
    gpus:--remote-muster) REPLY='@files' ;;
    gpus:--join-timeout) REPLY='@any' ;;
    plan:--nproc-per-node | plan:-n) REPLY='gpu cpu auto' ;;
    plan:--gpus) REPLY='@any' ;;
    plan:--binding) REPLY='shared isolated isolated-virtual rotated none' ;;
    plan:--procs-per-gpu) REPLY='@any' ;;
    plan:--gpus-per-proc) REPLY='@any' ;;
    plan:--gpu-dist) REPLY='block cyclic' ;;
    plan:--gpu-format) REPLY='auto index uuid' ;;
    plan:--gpu-require) REPLY='@any' ;;
    plan:--cpu-bind) REPLY='none node socket exclusive llc' ;;
    plan:--mpi) REPLY='none auto pmix pmi' ;;
    plan:--max-restarts) REPLY='@any' ;;
    plan:--restart-delay) REPLY='@any' ;;
    plan:--restart-delay-max) REPLY='@any' ;;
    plan:--min-uptime) REPLY='@any' ;;
    plan:--no-restart-codes) REPLY='@any' ;;
    plan:--grace) REPLY='@any' ;;
    plan:--timeout) REPLY='@any' ;;
    plan:--heartbeat-timeout) REPLY='@any' ;;
    plan:--silence-timeout) REPLY='@any' ;;
    plan:--stack-tool) REPLY='auto py-spy eu-stack gdb none' ;;
    plan:--preempt-signal) REPLY='@any' ;;
    plan:--prefix) REPLY='auto none' ;;
    plan:--log-dir) REPLY='@folders' ;;
    plan:--log-size) REPLY='@any' ;;
    plan:--tee | plan:-t) REPLY='0 1 2 3' ;;
    plan:--redirects | plan:-r) REPLY='0 1 2 3' ;;
    plan:--only-ranks) REPLY='@any' ;;
    plan:--show) REPLY='0 1 2 3' ;;
    plan:--stdin) REPLY='all none' ;;
    plan:--wrap) REPLY='@any' ;;
    plan:--wrap-ranks) REPLY='@any' ;;
    plan:--terminal) REPLY='none' ;;
    plan:--report) REPLY='@files' ;;
    plan:--events) REPLY='@files' ;;
    plan:--junit) REPLY='@files' ;;
    plan:--metrics) REPLY='@any' ;;
    plan:--nnodes) REPLY='@any' ;;
    plan:--node-rank) REPLY='auto' ;;
    plan:--rdzv-endpoint) REPLY='@any' ;;
    plan:--hostfile) REPLY='@files' ;;
    plan:--hosts) REPLY='@any' ;;
    plan:--include) REPLY='@any' ;;
    plan:--exclude) REPLY='@any' ;;
    plan:--engine) REPLY='auto ssh slurm mpi manual' ;;
    plan:--ssh) REPLY='@programs' ;;
    plan:--ssh-arg) REPLY='@any' ;;
    plan:--ssh-tree) REPLY='@any' ;;
    plan:--remote-muster) REPLY='@files' ;;
    plan:--forward | plan:-x) REPLY='@any' ;;
    plan:--env-file) REPLY='@files' ;;
    plan:--chdir) REPLY='@folders' ;;
    plan:--interface) REPLY='@any' ;;
    plan:--rdzv-id) REPLY='@any' ;;
    plan:--secret-file) REPLY='@files' ;;
    plan:--join-timeout) REPLY='@any' ;;
    plan:--role) REPLY='@any' ;;
    plan:--scheduler-env) REPLY='auto keep hide' ;;
    plan:--compat) REPLY='jax accelerate-cpu tf paddle' ;;
    plan:--master-port) REPLY='@any' ;;
    doctor:--nproc-per-node | doctor:-n) REPLY='gpu cpu auto' ;;
    doctor:--gpus) REPLY='@any' ;;
    doctor:--binding) REPLY='shared isolated isolated-virtual rotated none' ;;
    doctor:--procs-per-gpu) REPLY='@any' ;;
    doctor:--gpus-per-proc) REPLY='@any' ;;
    doctor:--gpu-dist) REPLY='block cyclic' ;;
    doctor:--gpu-format) REPLY='auto index uuid' ;;
    doctor:--gpu-require) REPLY='@any' ;;
    doctor:--nnodes) REPLY='@any' ;;
    doctor:--hostfile) REPLY='@files' ;;
    doctor:--hosts) REPLY='@any' ;;
    doctor:--include) REPLY='@any' ;;
    doctor:--exclude) REPLY='@any' ;;
    doctor:--ssh) REPLY='@programs' ;;
    doctor:--ssh-arg) REPLY='@any' ;;
    doctor:--ssh-tree) REPLY='@any' ;;
    doctor:--remote-muster) REPLY='@files' ;;
    doctor:--join-timeout) REPLY='@any' ;;
    doctor:--only) REPLY='@any' ;;
    doctor:--skip) REPLY='@any' ;;
    doctor:--expect-gpus) REPLY='@any' ;;
    doctor:--lookup) REPLY='@any' ;;
    doctor:--evidence) REPLY='@any' ;;
    logs:--rank) REPLY='@any' ;;
    torchrun:--nnodes) REPLY='@any' ;;
    torchrun:--nproc-per-node) REPLY='gpu cpu auto' ;;
    torchrun:--rdzv-backend) REPLY='static c10d' ;;
    torchrun:--rdzv-endpoint) REPLY='@any' ;;
    torchrun:--rdzv-id) REPLY='@any' ;;
    torchrun:--rdzv-conf) REPLY='@any' ;;
    torchrun:--max-restarts) REPLY='@any' ;;
    torchrun:--monitor-interval) REPLY='@any' ;;
    torchrun:--start-method) REPLY='spawn fork forkserver' ;;
    torchrun:--event-log-handler) REPLY='null console' ;;
    torchrun:--role) REPLY='@any' ;;
    torchrun:--log-dir) REPLY='@folders' ;;
    torchrun:--redirects | torchrun:-r) REPLY='@any' ;;
    torchrun:--tee | torchrun:-t) REPLY='@any' ;;
    torchrun:--log-line-prefix-template) REPLY='@any' ;;
    torchrun:--local-ranks-filter) REPLY='@any' ;;
    torchrun:--duplicate-stdout-filters) REPLY='@any' ;;
    torchrun:--duplicate-stderr-filters) REPLY='@any' ;;
    torchrun:--node-rank) REPLY='@any' ;;
    torchrun:--master-addr) REPLY='@any' ;;
    torchrun:--master-port) REPLY='@any' ;;
    torchrun:--local-addr) REPLY='@any' ;;
    torchrun:--logs-specs) REPLY='@any' ;;
    torchrun:--numa-binding) REPLY='node socket exclusive core-complex' ;;
    torchrun:--signals-to-handle) REPLY='@any' ;;
    torchrun:--shutdown-timeout) REPLY='@any' ;;
    torchrun:--print-completion) REPLY='bash zsh fish' ;;
    torchrun:--exit-barrier-timeout) REPLY='@any' ;;
    store:--host) REPLY='@any' ;;
    store:--port) REPLY='@any' ;;
    store:--ready-fd) REPLY='@any' ;;
  esac
}

# _muster_words COMMAND: what it takes besides options, in REPLY.
_muster_words() {
  REPLY=
  case $1 in
    run) REPLY='@program' ;;
    plan) REPLY='@program' ;;
    torchrun) REPLY='@program' ;;
    notify) REPLY='HEARTBEAT=1 STEP= STATUS=' ;;
    explain) REPLY='USAGE HOSTFILE GPU_REQUEST UNAVAILABLE NODE_LOST AUTH PREFLIGHT TIME_LIMIT SYSTEM INTERNAL NO_MEMORY PROTOCOL LIMIT TIMEOUT CLOSED NOT_EXECUTABLE NOT_FOUND ' ;;
    completion) REPLY='bash zsh fish' ;;
  esac
}

_muster_commands='run check gpus plan doctor ps top logs stack stop torchrun store notify explain completion version'

# Completes the value of option $2 of command $1, of which $cur is there.
_muster_complete_value() {
  _muster_value "$1" "${2//_/-}"
  case $REPLY in
    @files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    @folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    @programs) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
    @*) ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$REPLY" -- "$cur") ;;
  esac
}

# The program and its arguments, which begin at word $1.
_muster_complete_program() {
  if (($1 < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
    _command_offset "$1"
    return
  fi
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  (($1 < COMP_CWORD)) || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$cur")
}

_muster() {
  local cur=${COMP_WORDS[COMP_CWORD]} command=run i=1 option='' is_program='' REPLY=''
  COMPREPLY=()
  if [[ ${COMP_WORDS[0]##*/} == *torchrun ]]; then
    command=torchrun
  elif ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$_muster_commands" -- "$cur")
    return
  elif [[ ${COMP_WORDS[1]} != -* ]]; then
    command=${COMP_WORDS[1]} i=2
  fi
  while ((i < COMP_CWORD)) && [[ ${COMP_WORDS[i]} == -?* ]]; do
    option=${COMP_WORDS[i]}
    ((i += 1))
    [[ $option != -- ]] || { is_program=1; break; }
    _muster_value "$command" "${option//_/-}"
    [[ ! $REPLY ]] || { [[ ${COMP_WORDS[i]} != = ]] || ((i += 1)); ((i += 1)); }
  done
  if ((i > COMP_CWORD)); then # a value
    [[ $cur != = ]] || cur=
    _muster_complete_value "$command" "$option"
  elif [[ ! $is_program && $i -eq $COMP_CWORD && $cur == --*=* ]]; then
    option=${cur%%=*} cur=${cur#*=}
    _muster_complete_value "$command" "$option"
    COMPREPLY=("${COMPREPLY[@]/#/$option=}")
  elif [[ ! $is_program && $i -eq $COMP_CWORD && $cur == -* ]]; then
    _muster_options "$command"
    mapfile -t COMPREPLY < <(compgen -W "$REPLY" -- "$cur")
  else
    _muster_words "$command"
    if [[ $REPLY == @program ]]; then
      _muster_complete_program "$i"
    else
      mapfile -t COMPREPLY < <(compgen -W "$REPLY" -- "$cur")
    fi
  fi
}
complete -F _muster muster muster-torchrun

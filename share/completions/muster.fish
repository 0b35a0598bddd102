# Completion of muster for fish, as `muster completion fish` prints it.

# __muster_takes COMMAND: its options that have a value behind them.
function __muster_takes
    switch $argv[1]
        case run
            string split ' ' -- '-n --nproc-per-node --gpus --binding --procs-per-gpu --gpus-per-proc --gpu-dist --gpu-format --gpu-require --cpu-bind --mpi --max-restarts --restart-delay --restart-delay-max --min-uptime --no-restart-codes --grace --timeout --heartbeat-timeout --silence-timeout --stack-tool --preempt-signal --prefix --log-dir --log-size -t --tee -r --redirects --only-ranks --stdin --wrap --wrap-ranks --terminal --report --events --junit --nnodes --node-rank --rdzv-endpoint --hostfile --hosts --include --exclude --engine --ssh --ssh-arg --remote-muster -x --forward --env-file --chdir --interface --rdzv-id --secret-file --join-timeout --role --scheduler-env --compat --master-port '
        case gpus
            string split ' ' -- '-n --nproc-per-node --gpus --binding --procs-per-gpu --gpus-per-proc --gpu-dist --gpu-format --gpu-require '
        case plan
            string split ' ' -- '-n --nproc-per-node --gpus --binding --procs-per-gpu --gpus-per-proc --gpu-dist --gpu-format --gpu-require --cpu-bind --mpi --max-restarts --restart-delay --restart-delay-max --min-uptime --no-restart-codes --grace --timeout --heartbeat-timeout --silence-timeout --stack-tool --preempt-signal --prefix --log-dir --log-size -t --tee -r --redirects --only-ranks --stdin --wrap --wrap-ranks --terminal --report --events --junit --nnodes --node-rank --rdzv-endpoint --hostfile --hosts --include --exclude --engine --ssh --ssh-arg --remote-muster -x --forward --env-file --chdir --interface --rdzv-id --secret-file --join-timeout --role --scheduler-env --compat --master-port '
        case torchrun
            string split ' ' -- '--nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf --max-restarts --monitor-interval --start-method --event-log-handler --role --log-dir -r --redirects -t --tee --log-line-prefix-template --local-ranks-filter --duplicate-stdout-filters --duplicate-stderr-filters --node-rank --master-addr --master-port --local-addr --logs-specs --numa-binding --signals-to-handle --shutdown-timeout --print-completion --exit-barrier-timeout '
        case store
            string split ' ' -- '--host --port --ready-fd '
    end
end

# The command of the line, then what follows its options: a program and its arguments.
function __muster_line
    set -l words (commandline -opc)
    set -l command run
    if string match -q -- '*torchrun' $words[1]
        set command torchrun
    else if set -q words[2]; and not string match -q -- '-*' $words[2]
        set command $words[2]
        set -e words[1]
    end
    set -e words[1]
    set -l takes (__muster_takes $command)
    while set -q words[1]; and string match -q -- '-?*' $words[1]
        set -l option (string replace -a _ - -- $words[1])
        set -e words[1]
        if test "$option" = --
            break
        else if contains -- $option $takes; and set -q words[1]
            set -e words[1]
        end
    end
    printf '%s\n' $command $words
end

# No word yet.
function __muster_begins
    set -l words (commandline -opc)
    not set -q words[2]; and not string match -q -- '*torchrun' $words[1]
end

# The line is of one of these commands, and its program has not been named.
function __muster_is
    set -l line (__muster_line)
    contains -- $line[1] $argv; and not set -q line[2]
end

# There is a program; what it completes itself.
function __muster_has_program
    set -l line (__muster_line)
    contains -- $line[1] $__muster_programs; and set -q line[2]
end
function __muster_of_program
    set -l line (__muster_line)
    complete -C (string join ' ' -- (string escape -- $line[2..-1]) (commandline -ct))
end

complete -c muster -c muster-torchrun -n __muster_has_program -a '(__muster_of_program)'
complete -c muster -c muster-torchrun -n '__muster_is $__muster_programs' -a '(__fish_complete_command)'
set -g __muster_programs run plan torchrun
complete -c muster -c muster-torchrun -n '__muster_begins' -a run -d 'start a group of workers (the default when the first word is an option)'
complete -c muster -c muster-torchrun -n '__muster_begins' -a gpus -d 'which GPUs there are, what CUDA calls them, which rank would get each'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -f
complete -c muster -c muster-torchrun -n '__muster_begins' -a plan -d 'what run would do with the same words: nothing is started'
complete -c muster -c muster-torchrun -n '__muster_begins' -a torchrun -d 'the same as run, with torchrun\'s command line'
complete -c muster -c muster-torchrun -n '__muster_begins' -a store -d 'a store of its own, for TCPStore clients and torchrun\'s agents'
complete -c muster -c muster-torchrun -n '__muster_is store' -f
complete -c muster -c muster-torchrun -n '__muster_begins' -a notify -d 'from a worker\'s script: I am alive, as in muster notify STEP=17'
complete -c muster -c muster-torchrun -n '__muster_is notify' -f -a 'HEARTBEAT=1 STEP= STATUS='
complete -c muster -c muster-torchrun -n '__muster_begins' -a explain -d 'say what an error code means'
complete -c muster -c muster-torchrun -n '__muster_is explain' -f -a 'USAGE HOSTFILE GPU_REQUEST UNAVAILABLE NODE_LOST AUTH PREFLIGHT TIME_LIMIT SYSTEM INTERNAL NO_MEMORY PROTOCOL TIMEOUT CLOSED NOT_EXECUTABLE NOT_FOUND '
complete -c muster -c muster-torchrun -n '__muster_begins' -a completion -d 'print completions for bash, zsh or fish'
complete -c muster -c muster-torchrun -n '__muster_is completion' -f -a 'bash zsh fish'
complete -c muster -c muster-torchrun -n '__muster_begins' -a version -d 'print the version'
complete -c muster -c muster-torchrun -n '__muster_is version' -f
complete -c muster -c muster-torchrun -n '__muster_is run' -s n -l nproc-per-node -x -a 'gpu cpu auto' -d 'workers on each node'
complete -c muster -c muster-torchrun -n '__muster_is run' -l gpus -x -d 'which GPUs'
complete -c muster -c muster-torchrun -n '__muster_is run' -l binding -x -a 'shared isolated isolated-virtual rotated none' -d 'what a worker sees'
complete -c muster -c muster-torchrun -n '__muster_is run' -l procs-per-gpu -x -d 'workers that share one GPU'
complete -c muster -c muster-torchrun -n '__muster_is run' -l gpus-per-proc -x -d 'GPUs of each worker'
complete -c muster -c muster-torchrun -n '__muster_is run' -l gpu-dist -x -a 'block cyclic' -d 'which worker shares or gets which GPUs'
complete -c muster -c muster-torchrun -n '__muster_is run' -l gpu-format -x -a 'auto index uuid' -d 'how CUDA_VISIBLE_DEVICES is written'
complete -c muster -c muster-torchrun -n '__muster_is run' -l gpu-require -x -d 'what --gpus auto asks of a GPU'
complete -c muster -c muster-torchrun -n '__muster_is run' -l ignore-visible -d 'let --gpus name GPUs that CUDA_VISIBLE_DEVICES hides'
complete -c muster -c muster-torchrun -n '__muster_is run' -l strict-env -d 'refuse a CUDA_VISIBLE_DEVICES of which CUDA would drop a part'
complete -c muster -c muster-torchrun -n '__muster_is run' -l skip-unhealthy -d 'leave GPUs that have failed out of the selection instead of refusing'
complete -c muster -c muster-torchrun -n '__muster_is run' -l cpu-bind -x -a 'none node socket exclusive llc' -d 'which CPUs a worker runs on'
complete -c muster -c muster-torchrun -n '__muster_is run' -l mpi -x -a 'auto pmix pmi none' -d 'process manager for MPI programs'
complete -c muster -c muster-torchrun -n '__muster_is run' -l max-restarts -x -d 'start the whole group again after a failure, at most N times'
complete -c muster -c muster-torchrun -n '__muster_is run' -l restart-delay -x -d 'wait before a restart, twice as long after each that fails soon'
complete -c muster -c muster-torchrun -n '__muster_is run' -l restart-delay-max -x -d 'the longest such wait'
complete -c muster -c muster-torchrun -n '__muster_is run' -l min-uptime -x -d 'a failure sooner than this after the start is a crash at start'
complete -c muster -c muster-torchrun -n '__muster_is run' -l no-restart-codes -x -d 'exit codes of a worker that are not restarted, as in 2,64-78'
complete -c muster -c muster-torchrun -n '__muster_is run' -l grace -x -d 'between the stop signal and SIGKILL'
complete -c muster -c muster-torchrun -n '__muster_is run' -l timeout -x -d 'end the job after this time with status 124'
complete -c muster -c muster-torchrun -n '__muster_is run' -l heartbeat-timeout -x -d 'end the job with status 124 when a rank that has sent a heartbeat sends none for this long'
complete -c muster -c muster-torchrun -n '__muster_is run' -l silence-timeout -x -d 'the same when no rank writes any output for this long'
complete -c muster -c muster-torchrun -n '__muster_is run' -l stack-tool -x -a 'auto py-spy eu-stack gdb none' -d 'what shows the stacks of a hung job, and of any at SIGQUIT'
complete -c muster -c muster-torchrun -n '__muster_is run' -l preempt-signal -x -d 'when muster gets SIGTERM, workers first get SIG and TIME'
complete -c muster -c muster-torchrun -n '__muster_is run' -l prefix -x -a 'auto none' -d 'before each line'
complete -c muster -c muster-torchrun -n '__muster_is run' -l log-dir -x -a '(__fish_complete_directories)' -d 'also write each worker\'s output to DIR/<job>/<attempt>/rank-<R>.out and .err'
complete -c muster -c muster-torchrun -n '__muster_is run' -l log-size -x -d 'limit of each file of --log-dir, as in 64K, 100M, 2G'
complete -c muster -c muster-torchrun -n '__muster_is run' -s t -l tee -x -a '0 1 2 3' -d 'with --log-dir, write only these to files'
complete -c muster -c muster-torchrun -n '__muster_is run' -s r -l redirects -x -a '0 1 2 3' -d 'the same, and do not show them'
complete -c muster -c muster-torchrun -n '__muster_is run' -l only-ranks -x -d 'show the output of these ranks only, as in 0,2-5'
complete -c muster -c muster-torchrun -n '__muster_is run' -l dedupe -d 'show a line that several ranks print within 200 ms once, as in \'x7'
complete -c muster -c muster-torchrun -n '__muster_is run' -l stdin -x -a 'all none' -d 'which rank reads standard input'
complete -c muster -c muster-torchrun -n '__muster_is run' -l wrap -x -d 'put these words before the program, as in \'nsys profile -o out.%r\''
complete -c muster -c muster-torchrun -n '__muster_is run' -l wrap-ranks -x -d 'which ranks --wrap is for'
complete -c muster -c muster-torchrun -n '__muster_is run' -l terminal -x -a 'none' -d 'this rank owns the terminal'
complete -c muster -c muster-torchrun -n '__muster_is run' -l report -r -F -d 'write how the job ended to FILE, as one JSON object'
complete -c muster -c muster-torchrun -n '__muster_is run' -l events -r -F -d 'write what happens to FILE, one JSON object a line'
complete -c muster -c muster-torchrun -n '__muster_is run' -l junit -r -F -d 'write how each rank ended to FILE, as JUnit XML'
complete -c muster -c muster-torchrun -n '__muster_is run' -l nnodes -x -d 'how many nodes take part, or MIN'
complete -c muster -c muster-torchrun -n '__muster_is run' -l node-rank -x -a 'auto' -d 'place of this node among them'
complete -c muster -c muster-torchrun -n '__muster_is run' -l rdzv-endpoint -x -d 'where the nodes meet'
complete -c muster -c muster-torchrun -n '__muster_is run' -l hostfile -r -F -d 'start on the hosts of FILE'
complete -c muster -c muster-torchrun -n '__muster_is run' -l hosts -x -d 'the same from the command line'
complete -c muster -c muster-torchrun -n '__muster_is run' -l include -x -d 'of these hosts only those, or only some of their slots'
complete -c muster -c muster-torchrun -n '__muster_is run' -l exclude -x -d 'all but those'
complete -c muster -c muster-torchrun -n '__muster_is run' -l engine -x -a 'auto ssh slurm mpi manual' -d 'what starts muster on other nodes'
complete -c muster -c muster-torchrun -n '__muster_is run' -l ssh -x -a '(__fish_complete_command)' -d 'what starts muster on another host, called as ssh is'
complete -c muster -c muster-torchrun -n '__muster_is run' -l ssh-arg -x -d 'one more word for it, before muster\'s own'
complete -c muster -c muster-torchrun -n '__muster_is run' -l remote-muster -r -F -d 'where muster is on the other hosts'
complete -c muster -c muster-torchrun -n '__muster_is run' -s x -l forward -x -d 'a variable for the workers of all hosts, also a pattern as in \'MY_*\''
complete -c muster -c muster-torchrun -n '__muster_is run' -l env-file -r -F -d 'the same from a file of NAME=VALUE lines'
complete -c muster -c muster-torchrun -n '__muster_is run' -l chdir -x -a '(__fish_complete_directories)' -d 'working directory on all hosts'
complete -c muster -c muster-torchrun -n '__muster_is run' -l interface -x -d 'where other hosts reach this one'
complete -c muster -c muster-torchrun -n '__muster_is run' -l rdzv-id -x -d 'name of the job, the same on each node'
complete -c muster -c muster-torchrun -n '__muster_is run' -l secret-file -r -F -d 'the nodes prove to each other that they know what is in FILE'
complete -c muster -c muster-torchrun -n '__muster_is run' -l require-secret -d 'refuse to meet other nodes without --secret-file'
complete -c muster -c muster-torchrun -n '__muster_is run' -l store-open -d 'let every process that reaches the rendezvous store use it'
complete -c muster -c muster-torchrun -n '__muster_is run' -l join-timeout -x -d 'from the first node that comes to the last, on hosts of a list from the start'
complete -c muster -c muster-torchrun -n '__muster_is run' -l role -x -d 'label of the workers, their ROLE_NAME'
complete -c muster -c muster-torchrun -n '__muster_is run' -l scheduler-env -x -a 'auto keep hide' -d 'variables by which Slurm, MPI and others number their tasks'
complete -c muster -c muster-torchrun -n '__muster_is run' -l compat -x -a 'jax accelerate-cpu tf paddle' -d 'variables of frameworks that read others than PyTorch\'s'
complete -c muster -c muster-torchrun -n '__muster_is run' -l master-port -x -d 'port of the rendezvous store'
complete -c muster -c muster-torchrun -n '__muster_is run' -s m -l module -d 'the program is a Python module, as in python3 -m'
complete -c muster -c muster-torchrun -n '__muster_is run' -s v -l verbose -d 'say what muster does'
complete -c muster -c muster-torchrun -n '__muster_is run' -s h -l help -d 'this text'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -s n -l nproc-per-node -x -a 'gpu cpu auto' -d 'workers on each node'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l gpus -x -d 'which GPUs'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l binding -x -a 'shared isolated isolated-virtual rotated none' -d 'what a worker sees'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l procs-per-gpu -x -d 'workers that share one GPU'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l gpus-per-proc -x -d 'GPUs of each worker'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l gpu-dist -x -a 'block cyclic' -d 'which worker shares or gets which GPUs'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l gpu-format -x -a 'auto index uuid' -d 'how CUDA_VISIBLE_DEVICES is written'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l gpu-require -x -d 'what --gpus auto asks of a GPU'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l ignore-visible -d 'let --gpus name GPUs that CUDA_VISIBLE_DEVICES hides'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l strict-env -d 'refuse a CUDA_VISIBLE_DEVICES of which CUDA would drop a part'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l skip-unhealthy -d 'leave GPUs that have failed out of the selection instead of refusing'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -l json -d 'of muster plan and muster gpus'
complete -c muster -c muster-torchrun -n '__muster_is gpus' -s h -l help -d 'this text'
complete -c muster -c muster-torchrun -n '__muster_is plan' -s n -l nproc-per-node -x -a 'gpu cpu auto' -d 'workers on each node'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l gpus -x -d 'which GPUs'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l binding -x -a 'shared isolated isolated-virtual rotated none' -d 'what a worker sees'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l procs-per-gpu -x -d 'workers that share one GPU'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l gpus-per-proc -x -d 'GPUs of each worker'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l gpu-dist -x -a 'block cyclic' -d 'which worker shares or gets which GPUs'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l gpu-format -x -a 'auto index uuid' -d 'how CUDA_VISIBLE_DEVICES is written'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l gpu-require -x -d 'what --gpus auto asks of a GPU'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l ignore-visible -d 'let --gpus name GPUs that CUDA_VISIBLE_DEVICES hides'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l strict-env -d 'refuse a CUDA_VISIBLE_DEVICES of which CUDA would drop a part'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l skip-unhealthy -d 'leave GPUs that have failed out of the selection instead of refusing'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l cpu-bind -x -a 'none node socket exclusive llc' -d 'which CPUs a worker runs on'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l mpi -x -a 'auto pmix pmi none' -d 'process manager for MPI programs'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l max-restarts -x -d 'start the whole group again after a failure, at most N times'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l restart-delay -x -d 'wait before a restart, twice as long after each that fails soon'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l restart-delay-max -x -d 'the longest such wait'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l min-uptime -x -d 'a failure sooner than this after the start is a crash at start'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l no-restart-codes -x -d 'exit codes of a worker that are not restarted, as in 2,64-78'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l grace -x -d 'between the stop signal and SIGKILL'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l timeout -x -d 'end the job after this time with status 124'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l heartbeat-timeout -x -d 'end the job with status 124 when a rank that has sent a heartbeat sends none for this long'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l silence-timeout -x -d 'the same when no rank writes any output for this long'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l stack-tool -x -a 'auto py-spy eu-stack gdb none' -d 'what shows the stacks of a hung job, and of any at SIGQUIT'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l preempt-signal -x -d 'when muster gets SIGTERM, workers first get SIG and TIME'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l prefix -x -a 'auto none' -d 'before each line'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l log-dir -x -a '(__fish_complete_directories)' -d 'also write each worker\'s output to DIR/<job>/<attempt>/rank-<R>.out and .err'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l log-size -x -d 'limit of each file of --log-dir, as in 64K, 100M, 2G'
complete -c muster -c muster-torchrun -n '__muster_is plan' -s t -l tee -x -a '0 1 2 3' -d 'with --log-dir, write only these to files'
complete -c muster -c muster-torchrun -n '__muster_is plan' -s r -l redirects -x -a '0 1 2 3' -d 'the same, and do not show them'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l only-ranks -x -d 'show the output of these ranks only, as in 0,2-5'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l dedupe -d 'show a line that several ranks print within 200 ms once, as in \'x7'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l stdin -x -a 'all none' -d 'which rank reads standard input'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l wrap -x -d 'put these words before the program, as in \'nsys profile -o out.%r\''
complete -c muster -c muster-torchrun -n '__muster_is plan' -l wrap-ranks -x -d 'which ranks --wrap is for'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l terminal -x -a 'none' -d 'this rank owns the terminal'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l report -r -F -d 'write how the job ended to FILE, as one JSON object'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l events -r -F -d 'write what happens to FILE, one JSON object a line'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l junit -r -F -d 'write how each rank ended to FILE, as JUnit XML'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l nnodes -x -d 'how many nodes take part, or MIN'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l node-rank -x -a 'auto' -d 'place of this node among them'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l rdzv-endpoint -x -d 'where the nodes meet'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l hostfile -r -F -d 'start on the hosts of FILE'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l hosts -x -d 'the same from the command line'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l include -x -d 'of these hosts only those, or only some of their slots'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l exclude -x -d 'all but those'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l engine -x -a 'auto ssh slurm mpi manual' -d 'what starts muster on other nodes'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l ssh -x -a '(__fish_complete_command)' -d 'what starts muster on another host, called as ssh is'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l ssh-arg -x -d 'one more word for it, before muster\'s own'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l remote-muster -r -F -d 'where muster is on the other hosts'
complete -c muster -c muster-torchrun -n '__muster_is plan' -s x -l forward -x -d 'a variable for the workers of all hosts, also a pattern as in \'MY_*\''
complete -c muster -c muster-torchrun -n '__muster_is plan' -l env-file -r -F -d 'the same from a file of NAME=VALUE lines'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l chdir -x -a '(__fish_complete_directories)' -d 'working directory on all hosts'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l interface -x -d 'where other hosts reach this one'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l rdzv-id -x -d 'name of the job, the same on each node'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l secret-file -r -F -d 'the nodes prove to each other that they know what is in FILE'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l require-secret -d 'refuse to meet other nodes without --secret-file'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l store-open -d 'let every process that reaches the rendezvous store use it'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l join-timeout -x -d 'from the first node that comes to the last, on hosts of a list from the start'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l role -x -d 'label of the workers, their ROLE_NAME'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l scheduler-env -x -a 'auto keep hide' -d 'variables by which Slurm, MPI and others number their tasks'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l compat -x -a 'jax accelerate-cpu tf paddle' -d 'variables of frameworks that read others than PyTorch\'s'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l master-port -x -d 'port of the rendezvous store'
complete -c muster -c muster-torchrun -n '__muster_is plan' -s m -l module -d 'the program is a Python module, as in python3 -m'
complete -c muster -c muster-torchrun -n '__muster_is plan' -s v -l verbose -d 'say what muster does'
complete -c muster -c muster-torchrun -n '__muster_is plan' -l json -d 'of muster plan and muster gpus'
complete -c muster -c muster-torchrun -n '__muster_is plan' -s h -l help -d 'this text'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l nnodes -x -d 'nodes of the job'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l nproc-per-node -x -a 'gpu cpu auto' -d 'workers on each node'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l rdzv-backend -x -a 'static c10d' -d 'static'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l rdzv-endpoint -x -d 'where they meet'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l rdzv-id -x -d 'name of the job'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l rdzv-conf -x -d 'join_timeout, last_call_timeout, keep_alive_interval, is_host, ...'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l standalone -d 'one node, a free port'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l max-restarts -x -d 'start all workers again after a failure, at most N times'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l monitor-interval -x -d 'no effect'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l start-method -x -a 'spawn fork forkserver' -d 'spawn, fork or forkserver'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l event-log-handler -x -a 'null console' -d 'null'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l role -x -d 'label of the workers'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -s m -l module -d 'the script is a Python module'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l no-python -d 'execute the script directly'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l run-path -d 'run the script with Python, whatever --no-python and --module say'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l log-dir -x -a '(__fish_complete_directories)' -d 'files go to DIR/<rdzv id>_<random>/attempt_<N>/<local rank>/'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -s r -l redirects -x -d 'to files only'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -s t -l tee -x -d 'to files, and shown with a prefix'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l log-line-prefix-template -x -d 'that prefix'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l local-ranks-filter -x -d 'show the output of these local ranks only'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l duplicate-stdout-filters -x -d 'lines of --tee with one of these words go to filtered_stdout.log too'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l duplicate-stderr-filters -x -d 'the same for standard error'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l node-rank -x -d 'number of this node'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l master-addr -x -d 'where node 0 is, with the static backend'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l master-port -x -d 'port there'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l local-addr -x -d 'address of this node for others'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l logs-specs -x -d 'refused'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l numa-binding -x -a 'node socket exclusive core-complex' -d 'node, socket, exclusive or core-complex'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l signals-to-handle -x -d 'signals that end the job, besides SIGTERM, SIGINT, SIGHUP and SIGQUIT'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l shutdown-timeout -x -d 'between the stop signal and SIGKILL'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l virtual-local-rank -d 'each worker sees its own GPU alone, LOCAL_RANK is 0'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l print-completion -x -a 'bash zsh fish' -d 'print completions for bash, zsh or fish'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -l exit-barrier-timeout -x -d 'no effect'
complete -c muster -c muster-torchrun -n '__muster_is torchrun' -s h -l help -d 'this text'
complete -c muster -c muster-torchrun -n '__muster_is store' -l host -x -d 'where to listen'
complete -c muster -c muster-torchrun -n '__muster_is store' -l port -x -d 'which port'
complete -c muster -c muster-torchrun -n '__muster_is store' -l ready-fd -x -d 'write the address to descriptor N, which is then closed, not to standard output'
complete -c muster -c muster-torchrun -n '__muster_is store' -l print-port -d 'write the port alone'
complete -c muster -c muster-torchrun -n '__muster_is store' -l store-open -d 'serve other users of this machine too'
complete -c muster -c muster-torchrun -n '__muster_is store' -s v -l verbose -d 'say more'
complete -c muster -c muster-torchrun -n '__muster_is store' -s h -l help -d 'this text'

#!/usr/bin/env bats
# muster under the name torchrun: which name, which options, what a worker gets.

load helpers
load launcher
load torchrun
load lab

@test "a link, an alias and muster torchrun are the same" {
  run_torchrun --nproc-per-node 2 --no-python sh -c 'echo "size $WORLD_SIZE"'
  expect_status 0
  [[ $output == $'size 2\nsize 2' ]]
  run_muster torchrun --nproc-per-node 2 --no-python sh -c 'echo "size $WORLD_SIZE"'
  expect_status 0
  [[ $output == $'size 2\nsize 2' ]]
  run bash -c 'exec -a torchrun "$MUSTER" --nproc-per-node 1 --no-python echo here'
  [[ $output == here ]]
  run bash -c 'exec -a /usr/bin/torchrun "$MUSTER" --no-python echo here'
  [[ $output == here ]]
  run bash -c 'exec -a torchrunner "$MUSTER" --no-python echo here'
  expect_status 2
}

@test "one worker unless told otherwise, and names as argparse takes them" {
  local words
  run_torchrun --no-python sh -c 'echo "size $WORLD_SIZE"'
  [[ $output == "size 1" ]]
  for words in "--nproc-per-node 3" "--nproc_per_node=3" "--nproc 3" "--nnodes=1 --nproc-per=3"; do
    # shellcheck disable=SC2086 # words of options
    run_torchrun $words --no-python sh -c 'echo "size $WORLD_SIZE"'
    expect_status 0
    [[ $(uniq <<<"$output") == "size 3" ]]
  done
}

@test "what follows the script is the script's" {
  run_torchrun --nproc=1 --no-python echo --nproc-per-node=9 -r=16 --help -- x
  expect_status 0
  [[ $output == "--nproc-per-node=9 -r=16 --help -- x" ]]
}

@test "bad input is status 2 and one line" {
  refused --nproc-per-node unknown -- "a number from 1 to 4096, gpu, cpu or auto"
  refused --nproc-per-node xpu -- "'xpu'"
  refused --rdzv x -- "ambiguous: it may be --rdzv-backend"
  refused --nproc-per-nodes 2 -- "the nearest is --nproc-per-node"
  refused --logs-specs x -- "plug-in"
  refused --rdzv-backend etcd -- "static or c10d"
  refused --rdzv-conf join_timeot=3 -- "the nearest is join_timeout"
  refused --rdzv-endpoint host -- "needs a port"
  refused --module -- "exclude each other"
  refused --signals-to-handle SIGTREM -- "is no signal"
  refused --shutdown-timeout -1 -- "whole seconds"
  refused --nnodes 2:1 -- "MIN <= MAX"
  refused --event-log-handler dynamic_rendezvous -- "null or console"
  refused --start-method thread -- "spawn, fork or forkserver"
  refused -r 0:x -- "--redirects"
  PET_STANDALONE=maybe refused --nnodes 1 -- "PET_STANDALONE: 'maybe'"
}

@test "PET_ variables stand in, and the command line and MUSTER_ ones win" {
  PET_NPROC_PER_NODE=2 PET_NO_PYTHON=1 run_torchrun sh -c 'echo "size $WORLD_SIZE, ${PET_NO_PYTHON-unset}"'
  expect_status 0
  [[ $(uniq <<<"$output") == "size 2, unset" ]]
  PET_NPROC_PER_NODE=3 PET_NO_PYTHON=yes run_torchrun --nproc 2 sh -c 'echo "size $WORLD_SIZE"'
  [[ $(uniq <<<"$output") == "size 2" ]]
  PET_NPROC_PER_NODE=3 MUSTER_NPROC_PER_NODE=2 PET_NO_PYTHON=true run_torchrun sh -c 'echo "size $WORLD_SIZE"'
  [[ $(uniq <<<"$output") == "size 2" ]]
  PET_NO_PYTHON=1 PET_MODULE=1 run_torchrun true
  expect_status 2
  PET_NO_PYTHON=1 PET_MODULE=0 PET_NNODES="" run_torchrun true
  expect_status 0
}

@test "the script runs under Python, with the interpreter that is named" {
  echo 'import sys; print(sys.argv[1:], sys.stdout.write_through, __name__)' >noext
  run_torchrun noext a b
  expect_status 0
  [[ $output == "['a', 'b'] True __main__" ]]
  run_torchrun --run-path --no-python noext a
  expect_status 0
  mkdir pkg
  cp noext pkg/mod.py
  run_torchrun -m pkg.mod x
  expect_status 0
  [[ $output == "['x'] True __main__" ]]
  script ./py <<<'echo "py $@"'
  PYTHON=./py run_torchrun noext a
  [[ $output == "py -u noext a" ]]
  script ./exec <<<'echo "exec $@"'
  PYTHON=./py PYTHON_EXEC=./exec run_torchrun -m pkg.mod a
  [[ $output == "exec -u -m pkg.mod a" ]]
  run_torchrun no-such-script.py
  expect_status 127
}

@test "the local rank in arguments, here and not in muster run" {
  run_torchrun --nproc 2 --no-python echo 'd${local_rank}/${local_rank}' '$local_rank' '$$'
  expect_status 0
  [[ $(sort <<<"$output") == $'d0/0 $local_rank $$\nd1/1 $local_rank $$' ]]
  run_muster -n 1 echo 'd${local_rank}'
  [[ $output == 'd${local_rank}' ]]
}

@test "a worker's environment: role, id, restarts" {
  run_torchrun --nproc 2 --role trainer --rdzv-id job7 --max-restarts 3 --no-python sh -c \
    'echo $ROLE_NAME $ROLE_RANK $ROLE_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE $TORCHELASTIC_RUN_ID $TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS'
  expect_status 0
  [[ $(sort <<<"$output") == $'trainer 0 2 0 1 job7 0 3\ntrainer 1 2 0 1 job7 0 3' ]]
  run_torchrun --no-python sh -c 'echo $ROLE_NAME $TORCHELASTIC_RUN_ID'
  [[ $output == "default none" ]]
  run_torchrun --standalone --rdzv-id x --no-python sh -c 'echo $TORCHELASTIC_RUN_ID'
  [[ -n $output && $output != x && $output != none ]]
}

@test "the port that is asked for, and one store at a time on it" {
  local port
  port=$(free_port)
  run_torchrun --nproc 2 --master-addr localhost --master-port "$port" --node-rank 0 --no-python sh -c 'counter wait 2 here; echo $MASTER_PORT'
  expect_status 0
  [[ $(grep -c "^$port\$" <<<"$output") -eq 2 ]]
  run_torchrun --rdzv-endpoint "localhost:$port" --no-python sh -c 'echo $MASTER_PORT'
  [[ $output == "$port" ]]
  run_torchrun --rdzv-backend c10d --rdzv-endpoint localhost:0 --nproc 2 --no-python sh -c 'counter wait 2 here'
  expect_status 0
}

@test "auto and cpu count the CPUs that muster may use" {
  run bash -c 'taskset -c "$(taskset -cp $$ | sed "s/.*: //; s/[,-].*//")" "$MUSTER" torchrun --nproc-per-node auto --no-python sh -c "echo size \$WORLD_SIZE"'
  expect_status 0
  [[ $output == "size 1" ]]
  run_muster -n cpu sh -c 'echo "$WORLD_SIZE"'
  expect_status 0
  [[ ${lines[0]} -ge 1 && ${lines[0]} -le $(nproc) && ${#lines[@]} -eq ${lines[0]} ]]
  PET_NPROC_PER_NODE=auto run_muster run sh -c 'echo "$WORLD_SIZE"'
  expect_status 0
  [[ ${#lines[@]} -eq ${lines[0]} ]]
}

@test "help and completions go to stdout" {
  run_torchrun --help
  expect_status 0
  expect_in "$output" "--nproc-per-node"
  expect_in "$output" "--duplicate-stderr-filters"
  [[ -z $stderr ]]
  run_torchrun --print-completion bash
  expect_status 0
  run bash -c 'complete -r torchrun 2>/dev/null; eval "$1"; complete -p torchrun
    COMP_WORDS=(torchrun --stand) COMP_CWORD=1; _muster; echo "${COMPREPLY[@]}"' - "$output"
  expect_status 0
  expect_in "$output" "-F _muster torchrun"
  expect_in "$output" "--standalone"
}

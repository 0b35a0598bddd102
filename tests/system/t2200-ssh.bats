#!/usr/bin/env bats
# One command, several hosts over ssh: hosts from a lab, so with names, addresses and files of /dev/shm of their own.

load helpers
load launcher
load lab

setup_file() {
  lab_up 3
}
teardown_file() { lab_down; }
setup() {
  begin_test
  lab_hostfile 4 1 2 3
}
teardown() { lab_end_test; }

@test "3 hosts with 4 slots each: 12 ranks, each on its host, all output in one place" {
  script facts <<'W'
echo "rank $RANK is $LOCAL_RANK on $(hostname), node $NODE_RANK of $GROUP_WORLD_SIZE"
echo "words of $RANK" >&2
W
  lab_muster 1 run --hostfile hostfile ./facts
  expect_status 0
  local rank
  for rank in {0..11}; do
    expect_in "$output" "rank $rank is $((rank % 4)) on node$((rank / 4 + 1)), node $((rank / 4)) of 3"
    expect_in "$stderr" "words of $rank"
  done
  [[ ${#lines[@]} -eq 12 ]]
}

@test "a C program over 3 hosts" {
  lab_muster 1 run --hostfile hostfile example-worker
  expect_status 0
  local rank
  for rank in {0..11}; do
    expect_in "$output" "rank $rank of 12: sum of ranks 66, hello from rank 0"
  done
}

@test "PyTorch DDP over 3 hosts, gloo" {
  /usr/bin/python3 -c 'import torch.distributed as d; raise SystemExit(not d.is_gloo_available())' 2>/dev/null \
    || skip "python3-torch is not installed"
  export PYTHON=/usr/bin/python3 OMP_NUM_THREADS=1 MUSTER_DEADLINE=240
  lab_muster 1 run --hostfile hostfile "$SOURCE/examples/pytorch-ddp/train.py"
  expect_status 0
  local rank
  for rank in {0..11}; do expect_in "$output" "rank $rank of 12: sum 78"; done
  lab_ps_empty
}

@test "arguments arrive as they were given" {
  script args <<'W'
printf '%s\0' "$@" >"args.$RANK"
W
  local args=('' ' ' 'two  words' "it's" '"quoted"' $'line\nline' $'tab\there' 'é 漢字' $'\xff\xfe' '$HOME' '`id`' '$(id)' '*' '?' '~'
    '\' '\\n' 'a;b' 'a|b&c' '>x' '#no' '!1' '--' '-n' '--help' '{a,b}' '%s' '=')
  printf '%s\0' "${args[@]}" >expected
  lab_muster 1 run --hostfile hostfile ./args "${args[@]}"
  expect_status 0
  local rank
  for rank in {0..11}; do cmp expected "args.$rank"; done
  [[ ! -e x ]]
}

@test "a path of the program with blanks, quotes and a dollar" {
  mkdir $'a b\'$"c\né'
  script $'a b\'$"c\né/prog $x' <<<'echo "$RANK" >>ran'
  lab_muster 1 run --hostfile hostfile $'./a b\'$"c\né/prog $x'
  expect_status 0
  [[ $(wc -l <ran) -eq 12 ]]
}

@test "variables are forwarded by name, value and pattern, as they were" {
  script vars <<'W'
printf '%s\0' "$ONE" "$TWO" "$PAT_A" "$PAT_B" "${UNASKED-unset}" "$NCCL_DEBUG" >"vars.$RANK"
W
  # Not by way of the lab: what is outside of ssh's own words has to be muster's doing.
  export ONE=$'a \'b\' "c"\nd $HOME é `id`' PAT_A='*' PAT_B=' ' UNASKED=no NCCL_DEBUG=INFO
  printf '%s\0' "$ONE" $'2 "\n2' '*' ' ' unset INFO >remote
  lab_muster 1 run --hostfile hostfile -x ONE -x $'TWO=2 "\n2' -x 'PAT_*' ./vars
  expect_status 0
  local rank
  for rank in 4 5 6 7 8 9 10 11; do cmp remote "vars.$rank"; done
}

@test "a file of variables" {
  cat >vars.env <<'E'
# words
FIRST=a b  c

SECOND='$HOME' "q" `id` \n é
EMPTY=
E
  script vars <<'W'
printf '%s\0' "$FIRST" "$SECOND" "${EMPTY-unset}" >"vars.$RANK"
W
  printf '%s\0' 'a b  c' $'\'$HOME\' "q" `id` \\n é' '' >expected
  lab_muster 1 run --hostfile hostfile --env-file vars.env ./vars
  expect_status 0
  local rank
  for rank in {0..11}; do cmp expected "vars.$rank"; done
}

@test "a device list of one host does not travel" {
  export CUDA_VISIBLE_DEVICES='' SSH_SECRET=x
  script vars <<'W'
echo "${CUDA_VISIBLE_DEVICES-unset}|${SSH_SECRET-unset}" >"vars.$RANK"
W
  lab_muster 1 run --hostfile hostfile ./vars
  expect_status 0
  [[ $(<vars.4) != *x* ]]
}

@test "start-up files that talk and read do no harm" {
  echo 'echo "welcome to $(hostname)"; read -r -t 0.1 line; echo "more" >&2' >"$LAB/node2/home/.bashrc"
  lab_muster 1 run --hostfile hostfile sh -c 'echo "$RANK"'
  expect_status 0
  [[ $(sort -n <<<"$output") == "$(seq 0 11)" ]]
}

@test "hosts on the command line, the own one without ssh" {
  local before after
  before=$(grep -c Accepted "$LAB/node1/log" || true)
  lab_muster 1 run --hosts node1,node3:2 -n 1 sh -c 'hostname'
  expect_status 0
  [[ $(sort <<<"$output") == $'node1\nnode3' ]]
  after=$(grep -c Accepted "$LAB/node1/log" || true)
  [[ $before == "$after" ]]
}

@test "the head may be outside of the list" {
  lab_muster 1 run --hosts node2,node3 -n 2 sh -c 'hostname'
  expect_status 0
  [[ $(sort <<<"$output") == $'node2\nnode2\nnode3\nnode3' ]]
}

@test "another remote shell, and arguments for it" {
  script myssh <<'W'
printf '%s\n' "$*" >>ssh-calls
exec ssh "$@"
W
  lab_muster 1 run --ssh "$PWD/myssh" --ssh-arg -oLogLevel=ERROR --hosts node2,node3 -n 1 hostname
  expect_status 0
  [[ $(wc -l <ssh-calls) -eq 2 ]]
  expect_in "$(<ssh-calls)" -oLogLevel=ERROR
}

@test "neither secret nor a user's words are on ssh's command line" {
  script myssh <<'W'
printf '%s\n' "$*" >>ssh-calls
exec ssh "$@"
W
  export TOKEN_X=hidden-word
  lab_muster 1 run --ssh "$PWD/myssh" --hosts node2,node3 -x TOKEN_X -n 1 sh -c 'echo user-word; env'
  expect_status 0
  expect_in "$output" "TOKEN_X=hidden-word"
  expect_not_in "$(<ssh-calls)" "word"
}

@test "standard input goes to rank 0, wherever it is" {
  echo 'some words' >in
  run --separate-stderr bounded "$SOURCE/tests/lab/netlab.sh" "$LAB" exec 1 "$MUSTER" run --hosts node2,node3 -n 1 \
    sh -c 'while read -r line; do echo "$RANK $line"; done' <in
  expect_status 0
  [[ $output == '0 some words' ]]
}

@test "much standard input arrives whole, with its end" {
  head -c 3000000 /dev/urandom >in
  run --separate-stderr bounded "$SOURCE/tests/lab/netlab.sh" "$LAB" exec 1 "$MUSTER" run --hosts node2,node3 -n 2 --stdin 3 \
    sh -c 'cat >"got.$RANK"' <in
  expect_status 0
  cmp in got.3
  [[ ! -s got.0 && ! -s got.1 && ! -s got.2 ]]
}

@test "standard input for every rank of every host" {
  head -c 300000 /dev/urandom >in
  run --separate-stderr bounded "$SOURCE/tests/lab/netlab.sh" "$LAB" exec 1 "$MUSTER" run --hosts node1,node3 -n 2 --stdin all \
    sh -c 'cat >"got.$RANK"' <in
  expect_status 0
  local rank
  for rank in {0..3}; do cmp in "got.$rank"; done
}

@test "an input that nobody reads holds up nothing" {
  run --separate-stderr bounded "$SOURCE/tests/lab/netlab.sh" "$LAB" exec 1 "$MUSTER" run --hosts node2,node3 -n 1 \
    sh -c 'exit 0' < <(sleep 1000 & echo "$!" >sleeper; wait)
  expect_status 0
  kill "$(<sleeper)"
}

@test "slots that were chosen keep their GPUs" {
  export MUSTER_FAKE_GPUS=$SOURCE/tests/vectors/devices/inventories.json:N4
  echo "export MUSTER_FAKE_GPUS=$MUSTER_FAKE_GPUS" >"$LAB/node2/home/.bashrc"
  script gpus <<'W'
echo "$RANK $LOCAL_RANK $(hostname) $MUSTER_GPU_INDEX of $CUDA_VISIBLE_DEVICES"
W
  lab_muster 1 run --hosts node1:4,node2:4 --include node1:1@node2:0,2 ./gpus
  expect_status 0
  [[ $(sort <<<"$output") == $'0 0 node1 1 of 1\n1 0 node2 0 of 0,2\n2 1 node2 2 of 0,2' ]]
}

@test "the status is that of the first rank that failed, and nothing is left on any host" {
  waiting_worker '7) exit 9 ;;'
  lab_muster 1 run --hostfile hostfile ./waiting
  expect_status 9
  expect_in "$stderr" "rank 7"
  expect_in "$stderr" "node2"
  lab_ps_empty
}

@test "SIGTERM to muster reaches the workers of all hosts" {
  waiting_worker '99) ;;'
  launch a 1 run --hostfile hostfile ./waiting
  eventually 60 has_lines 12 ready a.out # their handlers are in place
  kill -TERM "${PIDS[a]}"
  ended a
  expect_status 143
  [[ $(grep -c 'got TERM' a.out) -eq 12 ]]
  lab_ps_empty
}

@test "Ctrl-C reaches the workers of all hosts" {
  waiting_worker '99) ;;'
  { for _ in {1..12}; do echo 'expect ready'; done; echo 'type \x03'; } >keys
  run lab_terminal 1 keys run --hostfile hostfile ./waiting
  expect_status 130
  [[ $(grep -c 'got INT' <<<"$output") -eq 12 ]]
  lab_ps_empty
}

@test "workers deaf to SIGTERM on every host are killed after the grace" {
  launch a 1 run --hostfile hostfile --grace 300ms toy deaf
  eventually 60 eval '[[ $(grep -c ready a.out) -eq 12 ]]'
  kill -TERM "${PIDS[a]}"
  ended a
  expect_status 143
  lab_ps_empty
}

@test "restarts go over all hosts" {
  script w <<'W'
echo "$TORCHELASTIC_RESTART_COUNT" >>"count.$RANK"
counter wait "$WORLD_SIZE" here >"sum.$TORCHELASTIC_RESTART_COUNT.$RANK" || exit 9
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] && exit 0
[ "$RANK" = 5 ] && exit 6
exec toy polite
W
  lab_hostfile 2 1 2 3
  lab_muster 1 run --hostfile hostfile --max-restarts 2 ./w
  expect_status 0
  local rank
  for rank in {0..5}; do [[ $(<count.$rank) == $'0\n1' ]]; done
  [[ $(sort sum.1.*) == "$(seq -f 'here %.0f' 6)" ]]
  lab_ps_empty
}

@test "much output of all hosts arrives whole" {
  lab_muster 1 run --hostfile hostfile toy flood 500 100
  expect_status 0
  [[ $(grep -c '^o [0-9]* [0-9]* x\{100\}$' <<<"$output") -eq 6000 ]]
  [[ $(grep -c '^e [0-9]* [0-9]* x\{100\}$' <<<"$stderr") -eq 6000 ]]
}

@test "muster started on each node by hand meets over the network" {
  ENDPOINT=node1:29400
  member a 1 0 3 -n 2 sh -c 'echo "$RANK $(hostname)"; counter wait 6 here'
  member b 2 1 3 -n 2 sh -c 'echo "$RANK $(hostname)"; counter wait 6 here'
  member c 3 2 3 -n 2 sh -c 'echo "$RANK $(hostname)"; counter wait 6 here'
  local name
  for name in a b c; do
    ended $name
    expect_status 0
  done
  [[ $(cat a.out b.out c.out | grep node | sort) == $'0 node1\n1 node1\n2 node2\n3 node2\n4 node3\n5 node3' ]]
}

@test "a slow line between the nodes changes nothing but the time" {
  lab_start 1 delay_proxy --delay 100 --rate 500000 10.77.0.1:0 10.77.0.1:29400 >proxy
  eventually 20 grep -q listening proxy
  ENDPOINT=node1:29400
  member a 1 0 2 -n 1 sh -c 'echo "$RANK"'
  ENDPOINT=10.77.0.1:$(sed 's/.*://' proxy)
  member b 2 1 2 -n 1 sh -c 'echo "$RANK"'
  ended a
  expect_status 0
  ended b
  expect_status 0
  kill -KILL "$STARTED"
}

@test "muster gpus asks every host and says who does not answer" {
  local node
  for node in 2 3; do
    echo "export MUSTER_FAKE_GPUS=$SOURCE/tests/vectors/devices/inventories.json:N4; echo noise" >"$LAB/node$node/home/.bashrc"
  done
  lab_muster 1 gpus --hosts node2,node3
  expect_status 0
  [[ ${#lines[@]} -eq 5 && ${lines[1]} =~ ^node2,\ node3\ +0\ +cuda:0\ +0\ +NVIDIA\ H200 ]]
  printf 'node2\nnode3 slots=2\n10.77.0.3 user=nobody\n' >hosts
  lab_muster 1 gpus --hostfile hosts
  expect_status 69
  [[ ${#lines[@]} -eq 9 ]]
  expect_in "$stderr" "10.77.0.3: nobody@10.77.0.3: Permission denied (publickey)."
  lab_ps_empty
}

@test "several hosts that cannot run their part are said once, with the reason" {
  # /dev/shm is each node's own: the program is on node 1 alone
  script tool <<<": >'$PWD/started'"
  lab_exec 1 cp tool /dev/shm/tool
  lab_muster 1 run --hostfile hostfile /dev/shm/tool
  expect_status 127
  expect_in "$stderr" "node2, node3: "
  [[ $(grep -c '/dev/shm/tool' <<<"$stderr") -eq 1 && ! -e started ]]
  # before hello: a folder that is there on node 1 alone
  lab_exec 1 mkdir -p /dev/shm/folder
  printf 'node1 slots=1\nnode2 slots=1 iface=eth9\nnode3 slots=1\n' >mixed
  lab_muster 1 run --hostfile hostfile --chdir /dev/shm/folder "$PWD/tool"
  expect_status 2
  expect_in "$stderr" "node2, node3: the working directory /dev/shm/folder: No such file or directory"
  lab_muster 1 run --hostfile mixed --chdir /dev/shm/folder "$PWD/tool"
  expect_status 2
  expect_in "$stderr" 'node2: mixed:2: iface=eth9: no interface that is up is called "eth9"'
  expect_in "$stderr" "node3: the working directory /dev/shm/folder: No such file or directory"
  [[ ! -e started ]]
  lab_exec 1 rm -r /dev/shm/tool /dev/shm/folder
  lab_ps_empty
}

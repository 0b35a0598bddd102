#!/usr/bin/env bats
# What a worker finds in its environment and what it does not.

load helpers
load launcher

# Reads what `toy env` printed into vars[RANK:NAME]. Values of several lines keep their first.
declare -gA vars
read_variables() {
  local line
  vars=()
  while IFS= read -r line; do
    [[ $line == [0-9]*:*=* ]] && vars[${line%%=*}]=${line#*=}
  done <<<"$output"
}
run_env() { # arguments of muster; prints nothing, fills vars
  run_muster "$@" toy env
  expect_status 0
  read_variables
}
value() { # rank name
  [[ -v vars[$1:$2] ]] || { echo "rank $1 has no $2" >&2; return 1; }
  echo "${vars[$1:$2]}"
}
expect_value() { # rank name value
  [[ -v vars[$1:$2] ]] || { echo "rank $1 has no $2"; return 1; }
  [[ ${vars[$1:$2]} == "$3" ]] || { echo "rank $1: $2 is '${vars[$1:$2]}', expected '$3'"; return 1; }
}
expect_unset() { # rank name
  [[ ! -v vars[$1:$2] ]] || { echo "rank $1 has $2"; return 1; }
}

@test "every variable of the contract has its value in every rank" {
  unset OMP_NUM_THREADS PYTHONUNBUFFERED PYTHONFAULTHANDLER TORCH_NCCL_ASYNC_ERROR_HANDLING
  run_env -n 3 --max-restarts 4 --rdzv-id job7
  local rank
  for rank in 0 1 2; do
    expect_value $rank RANK $rank
    expect_value $rank LOCAL_RANK $rank
    expect_value $rank ROLE_RANK $rank
    expect_value $rank MUSTER_LOCAL_RANK $rank
    expect_value $rank WORLD_SIZE 3
    expect_value $rank ROLE_WORLD_SIZE 3
    expect_value $rank LOCAL_WORLD_SIZE 3
    expect_value $rank LOCAL_SIZE 3
    expect_value $rank NODE_RANK 0
    expect_value $rank GROUP_RANK 0
    expect_value $rank CROSS_RANK 0
    expect_value $rank GROUP_WORLD_SIZE 1
    expect_value $rank CROSS_SIZE 1
    expect_value $rank ROLE_NAME default
    expect_value $rank MASTER_ADDR 127.0.0.1
    [[ $(value $rank MASTER_PORT) -gt 0 ]]
    expect_value $rank MASTER_PORT "$(value 0 MASTER_PORT)"
    expect_value $rank TORCHELASTIC_RUN_ID job7
    expect_value $rank MUSTER_JOB_ID job7
    expect_value $rank TORCHELASTIC_RESTART_COUNT 0
    expect_value $rank TORCHELASTIC_MAX_RESTARTS 4
    expect_value $rank TORCHELASTIC_USE_AGENT_STORE True
    [[ $(value $rank TORCHELASTIC_ERROR_FILE) == */rank-$rank.error.json ]]
    expect_value $rank TORCH_NCCL_ASYNC_ERROR_HANDLING 1
    expect_value $rank PYTHONUNBUFFERED 1
    expect_value $rank PYTHONFAULTHANDLER 1
    [[ $(value $rank OMP_NUM_THREADS) -ge 1 ]]
    value $rank MUSTER_BINDING
  done
}

@test "no variable of the contract is there twice" {
  RANK=9 WORLD_SIZE=9 MASTER_PORT=1 OMP_NUM_THREADS=3 CUDA_VISIBLE_DEVICES=0,1 run_env -n 2
  local doubled
  doubled=$(sed 's/=.*//' <<<"$output" | grep '^0:' | sort | uniq -d)
  [[ -z $doubled ]] || { echo "twice: $doubled"; return 1; }
}

@test "what was left over by an outer launcher does not win" {
  RANK=5 WORLD_SIZE=99 LOCAL_RANK=3 LOCAL_WORLD_SIZE=77 NODE_RANK=4 GROUP_RANK=4 MASTER_ADDR=10.9.8.7 \
    MASTER_PORT=1 TORCHELASTIC_RUN_ID=old TORCHELASTIC_ERROR_FILE=/old MUSTER_NOTIFY_SOCKET=/old run_env -n 2
  expect_value 1 RANK 1
  expect_value 1 WORLD_SIZE 2
  expect_value 1 LOCAL_RANK 1
  expect_value 1 LOCAL_WORLD_SIZE 2
  expect_value 1 NODE_RANK 0
  expect_value 1 GROUP_RANK 0
  expect_value 1 MASTER_ADDR 127.0.0.1
  [[ $(value 1 MASTER_PORT) != 1 && $(value 1 TORCHELASTIC_RUN_ID) != old ]]
  [[ $(value 1 TORCHELASTIC_ERROR_FILE) != /old ]]
  [[ $(value 1 MUSTER_NOTIFY_SOCKET) == @* ]]
}

@test "the identity of an outer task is hidden, that of the job stays" {
  SLURM_PROCID=3 SLURM_LOCALID=1 SLURM_NTASKS=8 SLURM_STEP_ID=0 SLURM_JOB_ID=77 OMPI_COMM_WORLD_RANK=2 \
    PMI_RANK=1 PMIX_RANK=1 TORCHELASTIC_SOMETHING=1 SLURM_ARRAY_TASK_ID=6 run_env -n 1
  local name
  for name in SLURM_PROCID SLURM_LOCALID SLURM_NTASKS SLURM_STEP_ID OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK \
    TORCHELASTIC_SOMETHING; do
    expect_unset 0 "$name"
  done
  expect_value 0 SLURM_JOB_ID 77
  expect_value 0 SLURM_ARRAY_TASK_ID 6
}

@test "what is only suggested gives way to the user's own value" {
  OMP_NUM_THREADS=7 PYTHONUNBUFFERED="" PYTHONFAULTHANDLER=0 TORCH_NCCL_ASYNC_ERROR_HANDLING=3 run_env -n 2
  expect_value 1 OMP_NUM_THREADS 7
  expect_value 1 PYTHONUNBUFFERED ""
  expect_value 1 PYTHONFAULTHANDLER 0
  expect_value 1 TORCH_NCCL_ASYNC_ERROR_HANDLING 3
}

@test "a list of GPUs from the user keeps its order" {
  CUDA_VISIBLE_DEVICES=2,0 run_env -n 2
  expect_value 0 CUDA_VISIBLE_DEVICES 2,0
  expect_value 1 CUDA_VISIBLE_DEVICES 2,0
}

@test "odd arguments and variables arrive byte for byte" {
  cat >show.py <<'W'
import os, sys
keys = [b"C_MULTI", b"C_EQ", b"C_SP", b"C_EMPTY", b"C_RAW", b"C.DOT", b"BASH_FUNC_cfn%%"]
with open("got." + os.environ["RANK"], "wb") as f:
    for a in map(os.fsencode, sys.argv[1:]):
        f.write(b"%d %s\n" % (len(a), a))
    for k in keys:
        f.write(b"%s %r\n" % (k, os.environb.get(k)))
W
  local -a words=('a b' "it's" 'say "hi"' '$HOME' '*' '~' 'back\slash' '' $'new\nline' $'\xc3\xbc' $'raw\xff\xfe' '-4C x'
    '--' '--help' '-n' '3' 'a=b' ';' '`id`' '#c' '{rank}' '%s%n')
  local -a odd=($'C_MULTI=l1\nl2' 'C_EQ=a=b=c' 'C_SP=a  b ' 'C_EMPTY=' $'C_RAW=\xff\xfe' 'C.DOT=1' 'BASH_FUNC_cfn%%=() {  echo hi
}')
  run env "${odd[@]}" timeout 60 "$MUSTER" -n 2 show.py "${words[@]}"
  [[ $status -eq 0 ]]
  env "${odd[@]}" RANK=want python3 show.py "${words[@]}"
  cmp got.0 got.want
  cmp got.1 got.want
}

@test "an empty environment is enough" {
  run env -i "TEST_TAG=$TEST_TAG" "$MUSTER" -n 2 /bin/sh -c 'echo "rank $RANK"'
  expect_status 0
  expect_in "$output" "rank 1"
}

@test "a variable of many bytes and thousands of variables pass" {
  local many=() i
  for ((i = 0; i < 3000; i++)); do many+=("LONG_NAME_$i=$i"); done
  BIG=$(printf '%0100000d' 7) run env "${many[@]}" "$MUSTER" -n 2 sh -c 'echo "$LONG_NAME_2999 ${#BIG}"'
  expect_status 0
  [[ ${lines[0]} == "2999 100000" && ${lines[1]} == "2999 100000" ]]
}

@test "room for muster's arguments that is no room for the workers' is said" {
  # The last variable is sized until muster itself can just be executed.
  cat >fill.py <<'W'
import os, sys
muster, tag = sys.argv[1:3]
env = {"TEST_TAG": tag, "PATH": os.environ["PATH"]}
import resource, subprocess
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
def fits(n):
    e = dict(env)
    for i in range(n // 60000): e["FILL%d" % i] = "x" * 60000
    e["REST"] = "y" * (n % 60000)
    try:
        return subprocess.run(["/bin/true"], env=e).returncode == 0, e
    except OSError:
        return False, e
low, high = 0, 4 << 20
while high - low > 64:
    mid = (low + high) // 2
    low, high = (mid, high) if fits(mid)[0] else (low, mid)
p = subprocess.run([muster, "-n", "1", "/bin/true"], env=fits(low - 400)[1])
sys.exit(p.returncode)
W
  run_in_python fill.py
  expect_status 125
  expect_in "$stderr" "too long"
}
run_in_python() {
  bats_require_minimum_version 1.5.0
  run --separate-stderr timeout 60 python3 "$1" "$MUSTER" "$TEST_TAG"
}

@test "MASTER_PORT is served by muster itself and by no worker" {
  cat >who.py <<'W'
import glob, os, re
port = int(os.environ["MASTER_PORT"])
inodes = [f[9] for f in (line.split() for line in open("/proc/net/tcp"))
          if f[3] == "0A" and int(f[1].split(":")[1], 16) == port]
def holds(pid):
    links = []
    for fd in glob.glob(f"/proc/{pid}/fd/*"):
        try: links.append(os.readlink(fd))
        except OSError: pass
    return any(f"socket:[{i}]" in links for i in inodes)
print("listening", len(inodes), "muster", holds(os.getppid()), "worker", holds("self"), flush=True)
W
  run_muster -n 2 who.py
  expect_status 0
  [[ ${lines[0]} == "listening 1 muster True worker False" && ${lines[1]} == "${lines[0]}" ]]
}

@test "all ranks reach the store, and it knows nothing of an earlier job" {
  run_muster -n 4 counter wait 4 here
  expect_status 0
  [[ $(sort <<<"$output") == $'here 1\nhere 2\nhere 3\nhere 4' ]]
  run_muster -n 1 counter here
  [[ $output == "here 1" ]]
}

@test "a chosen port is used; one that is taken is refused before anything starts" {
  local port
  run_muster -n 1 sh -c 'echo $MASTER_PORT'
  port=$output
  run_muster -n 1 --master-port "$port" sh -c 'echo $MASTER_PORT'
  [[ $output == "$port" || $status -eq 69 ]] # somebody else may have it by now
  begin -n 1 sh -c 'echo $MASTER_PORT >port; exec toy polite'
  eventually 20 test -s port
  run_muster -n 1 --master-port "$(<port)" sh -c ': >started'
  expect_status 69
  expect_in "$stderr" "$(<port)"
  [[ ! -e started ]]
  kill -TERM "$PID"
  end_within 20
}

@test "--role is the workers' ROLE_NAME" {
  run_muster -n 2 --role trainer sh -c 'echo "$ROLE_NAME"'
  expect_status 0
  [[ $output == $'trainer\ntrainer' ]]
  PET_ROLE=pet run_muster -n 1 sh -c 'echo "$ROLE_NAME"'
  [[ $output == pet ]]
}

@test "--scheduler-env keeps or hides an outer launcher's numbers" {
  export SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_JOB_ID=7
  local see='echo "${SLURM_PROCID-none} ${SLURM_JOB_ID-none}"'
  run_muster -n 1 sh -c "$see"
  [[ $output == "0 7" ]] # they agree
  run_muster -n 2 sh -c "$see"
  [[ $(uniq <<<"$output") == "none 7" ]]
  run_muster -n 1 --scheduler-env hide sh -c "$see"
  [[ $output == "none 7" ]]
  run_muster -n 2 --scheduler-env keep sh -c "$see"
  [[ $(uniq <<<"$output") == "0 7" ]]
  run_muster -n 2 --scheduler-env never true
  expect_status 2
  expect_in "$stderr" "auto, keep or hide"
}

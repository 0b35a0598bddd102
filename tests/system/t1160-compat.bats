#!/usr/bin/env bats
# --compat: variables of frameworks that read others than PyTorch's.

load helpers
load launcher
load lab

@test "nothing of it unless asked, and what was inherited passes" {
  export TF_CONFIG=mine
  run_muster -n 1 sh -c 'echo "$TF_CONFIG"; env'
  expect_status 0
  [[ ${lines[0]} == mine ]]
  run grep -E '^(JAX_COORDINATOR|JAX_PROCESS|PADDLE_|ACCELERATE_USE_CPU)' <<<"$output"
  [[ -z $output ]]
}

@test "all workers agree on the ports, and each can listen on its own and reach the others" {
  cat >w.py <<'W'
import json, os, socket, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
tf = json.loads(os.environ["TF_CONFIG"])
assert tf["task"] == {"type": "worker", "index": rank} and len(tf["cluster"]["worker"]) == size
assert os.environ["PADDLE_CURRENT_ENDPOINT"] == os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")[rank]
mine = [tf["cluster"]["worker"][rank], os.environ["PADDLE_CURRENT_ENDPOINT"]]
all_ = tf["cluster"]["worker"] + os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")
if rank == 0:
    mine += [os.environ["JAX_COORDINATOR_ADDRESS"], os.environ["PADDLE_MASTER"]]
all_ += [os.environ["JAX_COORDINATOR_ADDRESS"], os.environ["PADDLE_MASTER"]]
assert len(set(all_)) == 2 * size + 2
def at(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)
listening = []
for i, where in enumerate(mine):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT if i % 2 else socket.SO_REUSEADDR, 1)
    s.bind(at(where))
    s.listen()
    listening.append(s)
open(f"up.{rank}", "w").close()
while len([f for f in os.listdir() if f.startswith("up.")]) < size:
    time.sleep(0.02)
for where in all_:
    socket.create_connection(at(where)).close()
open(f"done.{rank}", "w").close()
while len([f for f in os.listdir() if f.startswith("done.")]) < size:
    time.sleep(0.02)
W
  run_muster -n 3 --compat jax,tf,paddle,accelerate-cpu w.py
  expect_status 0
  have 3 'done.*'
}

@test "a port that is held is given to nobody else" {
  cat >w.py <<'W'
import os, socket
where = os.environ["JAX_COORDINATOR_ADDRESS"].rsplit(":", 1)
s = socket.socket()
try:
    s.bind((where[0], int(where[1])))
except OSError:
    print("held")
W
  run_muster -n 1 --compat jax w.py
  expect_status 0
  [[ $output == held ]]
}

@test "under torchrun's name by its variable; muster plan shows what it would be" {
  MUSTER_COMPAT=accelerate-cpu run_muster torchrun --no-python sh -c 'echo "$ACCELERATE_USE_CPU $MUSTER_COMPAT"'
  expect_status 0
  [[ $output == "true " ]]
  run_muster plan -n 2 --compat jax true
  expect_status 0
  expect_in "$output" "127.0.0.1:(free port)"
}

@test "what cannot be had is refused with one line before anything starts" {
  local words
  for words in horovod jaxx 'jax,' Tf; do
    run_muster -n 1 --compat "$words" sh -c ': >started'
    expect_status 2
    [[ ${#stderr_lines[@]} -eq 1 ]]
  done
  run_muster -n 1 --compat horovod true
  expect_in "$stderr" "horovodrun"
  ENDPOINT=127.0.0.1:$(free_port)
  member a 0 0 2 -n 1 --compat tf sh -c ': >started'
  member b 0 1 2 -n 1 --compat tf sh -c ': >started'
  ended a
  expect_status 2
  expect_in "$stderr" "--compat=tf is for one node"
  ended b
  expect_status 2
  [[ ! -e started ]]
}

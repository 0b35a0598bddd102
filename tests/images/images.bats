#!/usr/bin/env bats
# The CPU image, as its user runs it. tests/images/images.sh builds it and says where it is.

bats_require_minimum_version 1.5.0
load ../system/helpers
load images

setup() {
  begin_test
  chmod 777 .
  # Limits are named since podman's own defaults are more than a root without CAP_SYS_RESOURCE may set.
  RUN=("${PODMAN[@]}" run --rm --pull=never --cgroups=disabled --network=host --ulimit nofile=1024:1024 --ulimit nproc=2000:2000
    --shm-size=256m --env "TEST_TAG=$TEST_TAG" --volume "$PWD:/work" --workdir /work)
  IMAGE=localhost/muster:cpu
}

# in_image ARGS...: the image with these arguments
in_image() {
  run --separate-stderr bounded "${RUN[@]}" "$IMAGE" "$@"
}

@test "it says whose it is and what it runs" {
  run "${PODMAN[@]}" image inspect --format '{{.Config.User}} {{.Config.Entrypoint}} {{.Config.Cmd}} {{.Config.StopSignal}}' "$IMAGE"
  expect_status 0
  [[ $output == "1000:1000 [muster] [-n 4 muster-worker] SIGTERM" ]]
}

@test "without arguments it proves a group of four" {
  in_image
  expect_status 0
  expect_in "$output" "4 ranks on 1 node, backend host"
  expect_in "$output" "verified: 0 wrong"
  [[ -z $stderr ]]
}

@test "it has no compiler and no sources" {
  run --separate-stderr bounded "${RUN[@]}" --entrypoint sh "$IMAGE" -c 'ls -d /src /build /stage; command -v gcc cc cmake; exit 0'
  expect_status 0
  [[ -z $output ]]
}

@test "muster is process 1, and nobody is root" {
  in_image -n 2 sh -c 'echo "$(cat /proc/1/comm) $(id -u):$(id -g)"'
  expect_status 0
  [[ $output == "muster 1000:1000"$'\n'"muster 1000:1000" ]]
}

@test "it ends with the status of the worker that failed, and says which" {
  in_image -n 2 sh -c 'exit $((RANK * 7))'
  expect_status 7
  expect_in "$stderr" "rank 1 failed first: exit 7"
  run -127 --separate-stderr bounded "${RUN[@]}" "$IMAGE" -n 1 no-such-program
  expect_in "$stderr" "no-such-program"
}

@test "it reaps what others leave, while the job runs" {
  in_image -n 1 sh -c '( sh -c "echo \$\$ >orphan.tmp; mv orphan.tmp orphan" & )
    until [ -s orphan ]; do :; done; n=$(cat orphan); while [ -e "/proc/$n" ]; do :; done; echo "process $n is gone"'
  expect_status 0
  expect_in "$output" "is gone"
  no_leftovers
}

@test "stopped as docker does, it lets the workers end, and nothing is left" {
  bounded "${RUN[@]}" --name "stop-$$" "$IMAGE" -n 2 sh -c 'trap "echo saved; exit 0" TERM; setsid sleep 300 & : >"up.$RANK"; wait' \
    >out 2>err 3>&- &
  local running=$! status=0
  eventually 30 test -e up.0
  eventually 30 test -e up.1
  run bounded "${PODMAN[@]}" exec "stop-$$" muster ps
  expect_in "$output" "2/2"
  "${PODMAN[@]}" stop --time 30 "stop-$$"
  wait "$running" || status=$?
  cat err
  [[ $status -eq 143 ]]
  [[ $(grep -c saved out) -eq 2 ]]
  no_leftovers
}

@test "it needs no file system but /tmp to write to" {
  run --separate-stderr bounded "${RUN[@]}" --read-only --tmpfs /tmp --workdir /tmp "$IMAGE" -n 2 muster-worker --sizes 64K
  expect_status 0
  [[ -z $stderr ]]
}

@test "its hwloc binds CPUs" {
  in_image -n 1 --cpu-bind node sh -c 'grep Cpus_allowed_list /proc/self/status'
  expect_status 0
  expect_in "$output" "Cpus_allowed_list"
  [[ -z $stderr ]]
}

# The command of docker/compose.yaml, a word a line.
compose_command() {
  sed -n '/^  command:/,/^[a-z]/s/^    - *//p' "$SOURCE/docker/compose.yaml" | sed 's/^"\(.*\)"$/\1/; s/^'\''\(.*\)'\''$/\1/; s/\$\$/$/g'
}

@test "two containers are the two nodes of docker/compose.yaml" {
  local -a command
  mapfile -t command < <(compose_command)
  [[ ${command[0]} == run && ${#command[@]} -ge 8 ]]
  local i pids=() status=0
  for i in 0 1; do
    bounded "${RUN[@]}" --uts=private --hostname "node$i" --add-host node0:127.0.0.1 --env "JOB_COMPLETION_INDEX=$i" \
      "$IMAGE" "${command[@]}" >"out.$i" 2>"err.$i" 3>&- &
    pids+=($!)
  done
  for i in 0 1; do wait "${pids[$i]}" || status=$?; done
  cat err.0 err.1
  [[ $status -eq 0 ]]
  [[ $(sort out.0 out.1) == "rank 0 of 4 on node0, node 0
rank 1 of 4 on node0, node 0
rank 2 of 4 on node1, node 1
rank 3 of 4 on node1, node 1" ]]
}

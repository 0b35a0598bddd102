#!/usr/bin/env bash
# A real torchrun around muster, and within it: two jobs that do not know each other. nested.sh MUSTER PYTHON
set -uo pipefail
muster=$1 torchrun=("$2" -m torch.distributed.run --standalone --nproc-per-node 2 --no-python)
# shellcheck disable=SC2016 # for the worker's shell
say=(sh -c 'echo "worker $RANK/$WORLD_SIZE restart $TORCHELASTIC_RESTART_COUNT/$TORCHELASTIC_MAX_RESTARTS store $MASTER_PORT $TORCHELASTIC_RUN_ID"')
unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
broken=0

# Four workers in two jobs of two, none with the numbers of the outer job.
check() { # what status output
  local ranks stores
  ranks=$(grep -o 'worker [0-9]*/[0-9]* restart [0-9]*/[0-9]*' <<<"$3" | sort | uniq -c | tr -s ' \n' ' ')
  stores=$(grep -o 'store .*' <<<"$3" | sort -u | wc -l)
  if [[ $2 -eq 0 && $ranks == " 2 worker 0/2 restart 0/0 2 worker 1/2 restart 0/0 " && $stores -eq 2 && $3 != *outer* ]]; then
    echo "good: $1"
  else
    printf 'BROKEN: %s: status %s, %s stores,%s\n%s\n' "$1" "$2" "$stores" "$ranks" "$3"
    broken=1
  fi
}

output=$(timeout 300 "${torchrun[@]}" --rdzv-id outer --max-restarts 3 "$muster" -n 2 "${say[@]}" 2>&1)
check "muster in each worker of a torchrun" $? "$output"

output=$(timeout 300 "$muster" -n 2 --rdzv-id outer --max-restarts 3 "${torchrun[@]}" "${say[@]}" 2>&1)
check "torchrun in each worker of a muster" $? "$output"

# A failure goes through both: muster hands the worker's own status to torchrun, which ends with 1.
output=$(timeout 300 "${torchrun[@]}" "$muster" -n 2 sh -c '[ "$RANK" = 0 ] || exit 9; exec sleep 100' 2>&1)
status=$?
if [[ $status -eq 1 && $output == *"rank 1 failed first: exit 9"* && $output =~ exitcode\ *:\ 9 ]]; then
  echo "good: the status of a worker two launchers down"
else
  printf 'BROKEN: the status of a worker two launchers down: %s\n%s\n' "$status" "$output"
  broken=1
fi
exit $broken

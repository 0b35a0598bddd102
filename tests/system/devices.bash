# For the suites of GPU selection: `load helpers`, then `load devices`. GPUs come from inventories.json, either read
# by muster itself (gpus_are NAME) or served by a libnvidia-ml.so.1 and a libcuda.so.1 of the tests (fake_driver NAME).

export FAKE_GPU_FILE=$SOURCE/tests/vectors/devices/inventories.json
FAKES=$BIN/../fakes
# No run may depend on what the caller's shell or scheduler holds.
unset MUSTER_FAKE_GPUS MUSTER_NVML_PATH FAKE_GPU_NODE FAKE_NVML_FAULT CUDA_DEVICE_ORDER NVIDIA_VISIBLE_DEVICES
unset CUDA_MPS_PIPE_DIRECTORY ${!SLURM_@} ${!MUSTER_GPU@}

U0=GPU-1f0a55c3-0000-4000-8000-00000000000a
U1=GPU-1f9b10d2-0000-4000-8000-00000000000b
U2=GPU-7c22aa01-0000-4000-8000-00000000000c
U3=GPU-e5d4bb02-0000-4000-8000-00000000000d

gpus_are() { # inventory
  export MUSTER_FAKE_GPUS=$FAKE_GPU_FILE:$1
}

# Through the libraries' own interfaces: muster by NVML, workers by CUDA.
fake_driver() { # inventory
  unset MUSTER_FAKE_GPUS
  export MUSTER_NVML_PATH=$FAKES/libnvidia-ml.so.1 FAKE_GPU_NODE=$1 LD_LIBRARY_PATH=$FAKES
}

# The last output as JSON.
json() { # expression over j: prints it
  python3 -c 'import json, sys; j = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1" <<<"$output"
}

# Nothing was started by the last run: the worker of these suites leaves a mark.
MARK=(sh -c 'echo >>started')
not_started() {
  [[ ! -e started ]] || { echo "a worker was started"; return 1; }
}

# Runs with these options and reads the refusal: one line (or LINES_SAID), status 2, nothing started, nothing on
# standard output. Behind each `--` stands what the refusal has to say.
refused() { # options... -- words [-- words]...
  local options=() words
  while [[ $# -gt 0 && $1 != -- ]]; do
    options+=("$1")
    shift
  done
  run_muster run "${options[@]}" "${MARK[@]}"
  expect_status 2
  not_started
  [[ -z $output && ${#stderr_lines[@]} -eq ${LINES_SAID:-1} ]] || { echo "not that many lines: $output $stderr"; return 1; }
  while [[ $# -gt 1 ]]; do
    words=$2
    expect_in "$stderr" "$words"
    shift 2
  done
}

# The run goes well and says this on the way, as a warning.
warned() { # options... -- words
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  run_muster run "${options[@]}" "${MARK[@]}"
  expect_status 0
  [[ -e started ]]
  expect_in "$stderr" "warning"
  expect_in "$stderr" "$2"
}

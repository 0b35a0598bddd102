#!/usr/bin/env bats
# muster doctor on one host: what it sees comes from a root directory of the test, the fakes of NVML and of the worker's
# probe, the environment and limits. The rules themselves are tests/unit/launcher/test_doctor_rules.c's.

load helpers
load launcher
load devices
bats_require_minimum_version 1.5.0

unset ${!NCCL_@} ${!PET_@}

# What of the rules looks at the machine of the tests, whatever MUSTER_TEST_ROOT: no name server may know its name.
UNNAMED=(--skip net.name)

setup() {
  begin_test
  export MUSTER_TEST_ROOT=$BATS_TEST_TMPDIR/root MUSTER_PROBE=$BATS_TEST_TMPDIR/probe
  mkdir -p root/dev/shm root/sys/bus/pci/devices
  probe_says driver=13000 runtime=13000 code=0
}

# A file below the root directory, with its folders.
put() { # path [text]
  mkdir -p "root$(dirname "$1")"
  printf '%s\n' "${2-}" >"root$1"
}
probe_says() { # name=value...
  { echo '#!/bin/sh'; printf 'echo "%s"\n' "$@"; } >probe
  chmod +x probe
}
# libcuda.so.1 where the loader would find it, a link to a file with a version.
put_libcuda() { # version
  put "/usr/lib64/libcuda.so.$1"
  ln -sf "libcuda.so.$1" root/usr/lib64/libcuda.so.1
}

# Judges one rule: `fires RULE WORDS [options]`, `silent RULE [options]`.
doctor() { # rule options...
  local rule=$1
  shift
  run_muster doctor --only "$rule" "$@"
}
fires() { # rule words options...
  local rule=$1 words=$2
  shift 2
  doctor "$rule" "$@"
  expect_in "$output" " $rule  "
  expect_in "$output" "$words"
}
silent() { # rule options...
  local rule=$1
  shift
  doctor "$rule" -v "$@"
  expect_status 0
  expect_in "$output" "1 host: nothing found"
  expect_not_in "$output" "not judged"
}
namespace() { # unshare's options: can they be had?
  unshare "$@" true 2>/dev/null || skip "no namespaces here: unshare $*"
}

@test "a healthy host: nothing is found, and the test variables stand first" {
  run_muster doctor "${UNNAMED[@]}"
  expect_status 0
  [[ ${lines[0]} == "test variables: MUSTER_TEST_ROOT=$MUSTER_TEST_ROOT MUSTER_PROBE=$MUSTER_PROBE" ]]
  expect_in "$output" "1 host: nothing found"
  unset MUSTER_TEST_ROOT MUSTER_PROBE
  run_muster doctor --only env.leftover
  [[ $output == "1 host: nothing found" ]]
}

@test "shm.size: a file system of 64 MiB and four ranks" {
  silent shm.size
  namespace -m
  export MUSTER
  run --separate-stderr unshare -m sh -c 'mount -t tmpfs -o size=64m tmpfs root/dev/shm || exit 77
    "$MUSTER" doctor --only shm.size -n 4'
  ((status == 77)) && skip "tmpfs cannot be mounted here"
  expect_status 78
  expect_in "$output" "/dev/shm has 64 MiB free, 4 ranks need 256 MiB"
}

@test "shm.removeipc: a user who is not logged in" {
  local as_person=(unshare --user --map-user=64321) # the files stay those of whoever runs the test
  namespace "${as_person[@]:1}"
  put /etc/passwd "person:x:64321:64321::/:/bin/sh"
  put /run/systemd/users/1
  run "${as_person[@]}" "$MUSTER" doctor --only shm.removeipc
  expect_in "$output" "RemoveIPC is on (by default), and user"
  put /etc/systemd/logind.conf.d/50.conf "RemoveIPC=yes"
  run "${as_person[@]}" "$MUSTER" doctor --only shm.removeipc
  expect_in "$output" "/etc/systemd/logind.conf.d/50.conf"
  put /etc/systemd/logind.conf.d/60.conf "RemoveIPC=no"
  run "${as_person[@]}" "$MUSTER" doctor --only shm.removeipc
  expect_in "$output" "nothing found"
}

@test "numa.syscall: a seccomp filter denies it" {
  silent numa.syscall
  run --separate-stderr deny_numa "$MUSTER" doctor --only numa.syscall
  ((status == 77)) && skip "no seccomp filters here"
  expect_status 0
  expect_in "$output" "W numa.syscall  "
  run --separate-stderr deny_numa "$MUSTER" doctor --only numa.syscall --strict
  expect_status 78
}

@test "limit.memlock and limit.nofile: low limits" {
  put /sys/class/infiniband/mlx5_0/ports/1/state "4: ACTIVE"
  ulimit -l 64
  fires limit.memlock "locked memory is limited to 64 KiB beside 1 InfiniBand device"
  expect_status 78
  rm -r root/sys/class
  silent limit.memlock
  silent limit.nofile
  ulimit -n 300
  fires limit.nofile "300 open files are allowed" -n 8
  expect_status 0
}

@test "dev.uvm: one device node of two" {
  put /dev/nvidia0
  fires dev.uvm "/dev/nvidia-uvm is not"
  expect_status 78
  put /dev/nvidia-uvm
  silent dev.uvm
}

@test "net.ifname: a name that no interface has" {
  silent net.ifname
  export NCCL_SOCKET_IFNAME=nosuch0
  fires net.ifname "NCCL_SOCKET_IFNAME=nosuch0 matches no running interface"
  expect_status 78
}

@test "net.interface: a cable named veth0 comes first" {
  namespace -n
  export MUSTER
  run --separate-stderr unshare -n sh -c 'ip link add veth0 type veth peer name peer0 || exit 77
    ip addr add 10.9.0.1/24 dev veth0; ip link set peer0 up; ip link set veth0 up
    "$MUSTER" doctor --only net.interface'
  ((status == 77)) && skip "no veth here"
  expect_status 0
  expect_in "$output" "NCCL would take veth0 (10.9.0.1), a container's cable"
}

@test "net.name: a name that nobody knows, with no network to ask" {
  namespace -nu
  nameless() { # name of the host, name to look up
    # shellcheck disable=SC2016 # the shell in the namespace expands it
    run --separate-stderr unshare -nu sh -c 'hostname "$1" && exec "$MUSTER" doctor --only net.name -v --lookup "$2"' sh "$@"
  }
  export MUSTER
  nameless localhost localhost
  expect_status 0
  [[ $output == *"1 host: nothing found" ]]
  nameless node.invalid localhost
  expect_status 78
  nameless localhost node.invalid
  expect_status 78
  expect_in "$output" "node.invalid: "
}

@test "driver.missing: no libcuda, a driver that is too old, a container without GPUs" {
  silent driver.missing
  probe_says driver=0 runtime=13000 code=35
  fires driver.missing "libcuda.so.1 cannot be loaded" --gpus all
  expect_status 78
  put_libcuda 580.1
  probe_says driver=12080 runtime=13000 code=35
  fires driver.missing "the driver knows CUDA 12.8, the program needs 13.0" --gpus all
  probe_says driver=0 runtime=13000 code=35
  NVIDIA_VISIBLE_DEVICES=none fires driver.missing "gives this container no GPU" --gpus all
}

@test "driver.mismatch and nvml.unknown: what nvmlInit says, and versions in files" {
  fake_driver N4
  silent driver.mismatch
  silent nvml.unknown
  FAKE_NVML_FAULT=nvmlInit_v2=18 fires driver.mismatch "different versions (18)"
  FAKE_NVML_FAULT=nvmlInit_v2=999 fires nvml.unknown "999, unknown error"
  put_libcuda 580.82.07
  put /proc/driver/nvidia/version "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1.1  Release Build"
  unset LD_LIBRARY_PATH
  fires driver.mismatch "the kernel runs driver 570.1.1, the libraries are of 580.82.07"
}

@test "gpu.lost: to NVML, on the bus only, fewer than expected" {
  fake_driver N4
  silent gpu.lost --expect-gpus 4
  fires gpu.lost "4 of 8 GPUs are there (--expect-gpus)" --expect-gpus 8
  local i
  for i in 65 b3; do
    put "/sys/bus/pci/devices/0000:$i:00.0/vendor" 0x10de
    put "/sys/bus/pci/devices/0000:$i:00.0/class" 0x030200
  done
  mkdir -p root/proc/driver/nvidia/gpus/0000:65:00.0
  fires gpu.lost "1 of 2 GPUs: 0000:b3:00.0 is on the bus, not in the driver"
  expect_status 78
  fake_driver NLOST
  fires gpu.lost "is lost to NVML"
}

@test "gpu.ecc, nvlink.down, fabric.*, p2p.none: what NVML knows of a GPU's health" {
  fake_driver N4
  local rule
  for rule in gpu.ecc nvlink.down fabric.manager fabric.multicast fabric.imex p2p.none; do silent "$rule"; done
  export FAKE_NVML_HEALTH="ecc.1=2;pending.2=1;failed.3=1;link.2.5=0;p2p.0.3=4;fabric.0=2;status.1=15;clique.3=7"
  fires gpu.ecc "GPU 1: 2 uncorrectable ECC errors"
  expect_in "$output" "GPU 2: a row waits for a reset to be remapped"
  expect_in "$output" "fix: replace GPU $U3"
  expect_status 78
  fires nvlink.down "GPU 2 has 17 of 18 NVLinks; down: 5"
  expect_in "$output" "GPUs 0 and 3 have NVLinks and no access"
  fires fabric.manager "GPU 0: its registration with the fabric is not over"
  fires fabric.multicast "GPU 1: its registration with the fabric gave 15"
  fires fabric.imex "no IMEX channel"
  put /dev/nvidia-caps-imex-channels/channel0
  silent fabric.imex
  fires p2p.none "some of 4 GPUs do not reach" -v
  expect_status 0
  probe_says driver=13000 code=802
  fires fabric.manager "CUDA says 802"
}

@test "a probe that hangs ends with who asked" {
  [[ $(muster-worker --probe 2>&1) != *"built without CUDA"* ]] || skip "this muster-worker loads no library: it was built without CUDA"
  printf '#include <unistd.h>\n__attribute__((constructor)) static void hang(void) { write(2, "hangs\\n", 6); pause(); }\n' >hang.c
  cc -shared -fPIC -w -o hang.so hang.c
  bash -c 'muster-worker --probe --nccl ./hang.so 2>said & echo $! >pid; wait' &
  local asker=$!
  eventually 20 grep -q hangs said
  eventually 20 test -s pid
  kill -KILL "$asker"
  eventually 20 has_ended "$(<pid)"
}

@test "killed, it leaves nothing of a program that was asked in the worker's place" {
  cp "$(command -v sleep)" nap
  printf '#!/bin/sh\n%s/nap 300 &\nsetsid %s/nap 300 &\nenv -i setsid %s/nap 300 >/dev/null 2>&1 &\nwait\n' "$PWD" "$PWD" "$PWD" >probe
  begin doctor
  eventually 20 naps_are 3
  kill -KILL "$PID"
  wait "$PID" || status=$?
  [[ $status -eq 137 ]]
  eventually 30 naps_are 0
  no_leftovers
}

@test "nvlink.down: a bridge joins two GPUs, not all of them" {
  fake_driver N4
  export FAKE_NVLINK=bridges FAKE_NVML_HEALTH="p2p.0.2=1;p2p.0.3=1;p2p.1.2=1;p2p.1.3=1"
  silent nvlink.down
  FAKE_NVML_HEALTH="p2p.2.3=4" fires nvlink.down "GPUs 2 and 3 have NVLinks and no access"
}

@test "gpu.order, gpu.exclusive, gpu.memory, gpu.mig: modes, models and memory" {
  fake_driver N4
  local rule
  for rule in gpu.order gpu.exclusive gpu.memory gpu.mig; do silent "$rule"; done
  fake_driver NHET
  CUDA_DEVICE_ORDER='' fires gpu.order "GPUs of several models"
  expect_status 0
  CUDA_DEVICE_ORDER=PCI_BUS_ID silent gpu.order
  fake_driver NPROH
  fires gpu.exclusive "GPU 2: its compute mode is PROHIBITED"
  sed '/"NBUSY"/,/"NLOST"/s/"compute_mode": *"DEFAULT"/"compute_mode": "EXCLUSIVE_PROCESS"/
    s/"mem_free_mib": *10240/"mem_free_mib": 1024/' "$FAKE_GPU_FILE" >gpus.json
  FAKE_GPU_FILE=gpus.json
  fake_driver NBUSY
  fires gpu.exclusive "GPU 0: its compute mode is EXCLUSIVE_PROCESS, and process "
  fires gpu.memory "GPU 0 has 1024 MiB free, a test needs 3072 MiB"
  fake_driver NMIG
  fires gpu.mig "MIG is on at GPU 0, and there are 2 ranks" -n 2 --gpus none
}

@test "gpu.duplicate and gpu.ordinal: which rank would get which GPU" {
  fake_driver N4
  silent gpu.duplicate
  silent gpu.ordinal
  fires gpu.duplicate "ranks 0 and 1 both use $U0" --procs-per-gpu 2
  expect_status 78
  CUDA_VISIBLE_DEVICES=0 fires gpu.ordinal "rank 1 would use device 1 and sees 1" --binding none -n 2
}

@test "gpu.hidden: a device node that is missing" {
  fake_driver N4
  local i
  put /dev/nvidiactl
  for i in 0 1 2 3; do put "/dev/nvidia$i"; done
  silent gpu.hidden
  rm root/dev/nvidia3
  fires gpu.hidden "/dev/nvidia3 cannot be opened: No such file or directory"
  expect_status 78
}

@test "a probe that not even SIGKILL ends is left, and said" {
  fake_driver N4
  export MUSTER_PROBE=$BIN/unkillable UNKILLABLE=$BATS_TEST_TMPDIR/fifo
  mkfifo fifo
  unkillable hold fifo 3>&- &
  run_muster doctor --only nccl.library -v
  kill "$!" # which lets the other end
  [[ $output != *"? nccl.library"*"which NCCL"* ]] || skip "nobody may trace here"
  expect_status 0
  expect_in "$stderr" "muster-worker --probe did not end within 10 s, nor by SIGKILL: process "
  expect_in "$output" "sleeps in a driver or a file system that hangs, and is left"
  expect_in "$output" "? nccl.library"
  no_leftovers
}

@test "an ssh that lives on without its streams is ended" {
  script deaf <<'W'
trap '' TERM
exec <&- >&- 2>&-
while :; do sleep 1; done
W
  run_muster doctor --hosts nowhere.invalid --ssh ./deaf
  expect_status 69
  expect_in "$stderr" "nowhere.invalid: it cannot be asked"
  no_leftovers
}

@test "p2p.cumemhost and nccl.library: what the worker's probe says" {
  fake_driver N4
  probe_says driver=12080 runtime=12080 code=0 peers=0 nccl_version=2.28.9 nccl_header=2.28.9
  fires p2p.cumemhost "NCCL 2.28.9 with a driver of CUDA 12.8"
  NCCL_CUMEM_HOST_ENABLE=0 silent p2p.cumemhost
  silent nccl.library
  probe_says nccl_version=2.20.5 nccl_header=2.28.9 nccl_file=/usr/lib/libnccl.so.2
  fires nccl.library "built for NCCL 2.28.9, and loads 2.20.5 (/usr/lib/libnccl.so.2)"
  expect_status 0
  export MUSTER_PROBE=$BATS_TEST_TMPDIR/absent
  doctor nccl.library -v
  expect_in "$output" "? nccl.library"
  expect_in "$output" "not judged"
}

@test "pcie.acs and pcie.link: sysfs" {
  local i
  for i in 65 66; do
    put "/sys/bus/pci/devices/0000:$i:00.0/vendor" 0x10de
    put "/sys/bus/pci/devices/0000:$i:00.0/class" 0x030200
    put "/sys/bus/pci/devices/0000:$i:00.0/current_link_width" 16
    put "/sys/bus/pci/devices/0000:$i:00.0/max_link_width" 16
  done
  put /proc/cmdline "ro quiet"
  silent pcie.acs
  silent pcie.link
  mkdir -p root/sys/kernel/iommu_groups/{0,1,2}
  fires pcie.acs "the IOMMU translates for 2 GPUs (3 groups, no iommu=pt)"
  put /proc/cmdline "ro iommu=pt quiet"
  silent pcie.acs
  put /sys/bus/pci/devices/0000:66:00.0/current_link_width 8
  fires pcie.link "GPU 0000:66:00.0 runs x8 of x16"
}

put_hca() { # state link-layer
  local d=/sys/class/infiniband/mlx5_0
  put $d/ports/1/state "4: $1"
  put $d/ports/1/phys_state "5: LinkUp"
  put $d/ports/1/rate "400 Gb/sec (4X NDR)"
  put $d/ports/1/link_layer "$2"
  put $d/device/infiniband_verbs/uverbs0
  put /dev/infiniband/uverbs0
  put /usr/lib64/libibverbs.so.1
}

@test "ib.port, ib.device, ib.gid, ib.gdr: sysfs" {
  fake_driver N4
  put_hca ACTIVE Ethernet
  local d=/sys/class/infiniband/mlx5_0/ports/1 rule
  put $d/gids/0 fe80:0000:0000:0000:0ac0:ebff:fe00:0001
  put $d/gid_attrs/types/0 "RoCE v2"
  put /sys/module/nvidia_peermem/version 580
  for rule in ib.port ib.device ib.gdr; do silent $rule; done
  fires ib.gid "port mlx5_0/1 has no RoCE v2 address but link-local ones"
  put $d/gids/3 0000:0000:0000:0000:0000:ffff:0a00:0001
  put $d/gid_attrs/types/3 "RoCE v2"
  silent ib.gid
  NCCL_IB_GID_INDEX=0 fires ib.gid "fix: unset NCCL_IB_GID_INDEX, or NCCL_IB_GID_INDEX=3"
  rm -r root/sys/module
  fires ib.gdr "neither nvidia_peermem nor DMA-BUF"
  rm root/dev/infiniband/uverbs0
  fires ib.device "mlx5_0: its /dev/infiniband/uverbs* cannot be opened"
  put_hca DOWN InfiniBand
  fires ib.port "port mlx5_0/1 is DOWN, not ACTIVE: LinkUp"
  expect_status 0
}

@test "env.leftover: in the environment and in nccl.conf" {
  silent env.leftover
  NCCL_ALGO=Ring fires env.leftover "fix: unset NCCL_ALGO, unless it is meant"
  put /etc/nccl.conf "NCCL_P2P_DISABLE=1 # why?"
  fires env.leftover "NCCL_P2P_DISABLE=1 (/etc/nccl.conf) sends what NVLink could carry"
  expect_in "$output" "fix: take NCCL_P2P_DISABLE out of /etc/nccl.conf, unless it is meant"
  NCCL_P2P_DISABLE=0 silent env.leftover
}

@test "cuda.fork: muster never maps libcuda, whatever its workers load" {
  fake_driver N4
  unset MUSTER_TEST_ROOT MUSTER_PROBE
  script look <<'W'
cat "/proc/$PPID/maps" >maps
W
  run_muster run -n 1 --preflight --only nccl.library ./look
  expect_status 0
  grep -q 'libnvidia-ml\|muster' maps
  run grep -c libcuda maps
  [[ $output == 0 ]]
}

@test "--strict, --skip, --only, -v and --json" {
  export NCCL_ALGO=Ring
  run_muster doctor "${UNNAMED[@]}"
  expect_status 0
  expect_in "$output" "1 host: 1 warning"
  run_muster doctor --strict "${UNNAMED[@]}"
  expect_status 78
  expect_in "$output" "E env.leftover"
  run_muster doctor --strict "${UNNAMED[@]}" --skip env.leftover
  expect_status 0
  run_muster doctor --only dev.uvm --only net.ifname
  expect_in "$output" "nothing found"
  run_muster doctor --strict "${UNNAMED[@]}" --json
  expect_status 78
  expect_in "$stderr" "test variables: MUSTER_TEST_ROOT="
  python3 - "$output" <<'P'
import json, sys
r = json.loads(sys.argv[1])
f = [f for f in r["findings"] if f["rule"] == "env.leftover"]
assert r["schema"] == "muster.doctor/1" and r["status"] == 78 and len(r["hosts"]) == 1 and r["lost"] == 0, r
assert len(f) == 1 and f[0]["level"] == "error" and f[0]["hosts"] == r["hosts"], f
assert f[0]["fix"] == "unset NCCL_ALGO, unless it is meant" and f[0]["seen"] and f[0]["symptom"], f
P
}

@test "what is no rule, or not doctor's, is refused" {
  run_muster doctor --only shm.sizes
  expect_status 2
  expect_in "$stderr" "the nearest is shm.size"
  run_muster doctor --skip rank.missing
  expect_status 2
  expect_in "$stderr" "that is seen in a running job only"
  run_muster doctor true
  expect_status 2
  expect_in "$stderr" "muster doctor starts nothing"
  run_muster run --skip shm.size true
  expect_status 2
  expect_in "$stderr" "--skip is for muster doctor, or for muster run with --preflight"
  run_muster run --evidence look true
  expect_status 2
  run_muster doctor --evidence look --hosts a,b
  expect_status 2
  expect_in "$stderr" "--evidence shows this host alone"
  run_muster doctor --evidence sit
  expect_status 2
  run_muster plan --preflight true
  expect_status 2
}

@test "run --preflight: an error ends with 78 and nothing is started, a warning does not" {
  put /dev/nvidia0
  run_muster run -n 2 --preflight "${UNNAMED[@]}" touch started
  expect_status 78
  expect_in "$stderr" "E dev.uvm"
  expect_in "$stderr" "--preflight: 1 error, nothing was started"
  [[ ! -e started ]]
  NCCL_ALGO=Ring run_muster run -n 2 --preflight "${UNNAMED[@]}" --skip dev.uvm touch started
  expect_status 0
  expect_in "$stderr" "W env.leftover"
  [[ -e started ]]
  rm started root/dev/nvidia0
  NCCL_ALGO=Ring run_muster run -n 2 --preflight "${UNNAMED[@]}" --strict touch started
  expect_status 78
  [[ ! -e started ]]
  run_muster run -n 2 --preflight "${UNNAMED[@]}" touch started
  expect_status 0
  [[ -z $stderr ]]
}

@test "a verdict names the rule that its last lines are a symptom of; explain knows it" {
  unset MUSTER_TEST_ROOT MUSTER_PROBE
  script worker <<'W'
echo "init.cc:1000 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000" >&2
exit 3
W
  run_muster run -n 1 ./worker
  expect_status 3
  expect_in "$stderr" "two ranks use the same GPU (muster explain gpu.duplicate)"
  expect_in "$stderr" "take the device from LOCAL_RANK"
  run_muster explain gpu.duplicate
  expect_status 0
  expect_in "$output" "gpu.duplicate (error): two ranks use the same GPU"
  expect_in "$output" "  fix:      take the device from LOCAL_RANK"
  run_muster explain
  expect_in "$output" "rank.missing      error    a rank is missing"
  expect_in "$output" "PREFLIGHT"
  run_muster explain 75
  expect_status 0
  expect_in "$output" "exit  75"
  expect_not_in "$output" "exit  69"
  run_muster explain 3
  expect_status 2
  expect_in "$stderr" "3 is no status of muster's own; it is that of the worker that failed first"
  run_muster explain 0
  expect_status 0
  run_muster explain 137
  expect_status 0
  expect_in "$output" "SIGKILL         exit 137  128+9: it ended the worker that failed first, or muster itself"
  expect_in "$output" "often for lack of memory"
  run_muster explain 142
  expect_status 0
  expect_in "$output" "SIGALRM"
  run_muster explain 255
  expect_status 0
  expect_in "$output" "ssh that lost its connection"
  run_muster explain gpu.duplicate shm.size
  expect_status 2
  [[ -z $output && ${#stderr_lines[@]} -eq 1 ]]
  run_muster explain gpu.duplicates
  expect_status 2
  expect_in "$stderr" "the nearest rule is gpu.duplicate"
}

@test "the reference worker's findings are rules, too: a rank that hangs, wrong data" {
  unset MUSTER_TEST_ROOT MUSTER_PROBE
  run_muster run -n 2 muster-worker --backend host --sizes 64K --inject hang:rank=1,phase=warm --deadline warm=1
  expect_status 12
  expect_in "$stderr" "(muster explain rank.missing)"
  run_muster run -n 2 --report r.json muster-worker --backend host --sizes 64K --inject corrupt:rank=1
  expect_status 10
  expect_in "$stderr" "muster-worker has found wrong data: data is wrong at times (muster explain data.flaky)"
  [[ $(python3 -c 'import json; print(json.load(open("r.json"))["verdict"]["symptom"]["id"])') == data.flaky ]]
}

@test "where no host answers, nothing was judged, and that is what is said" {
  printf '#!/bin/sh\necho "ssh: nobody: Permission denied (publickey)." >&2\nexit 255\n' >ssh
  chmod +x ssh
  run_muster doctor --ssh "$PWD/ssh" --hosts nobody
  expect_status 69
  expect_in "$output" "no host could be asked: nothing was judged"
  expect_not_in "$output" "nothing found"
}

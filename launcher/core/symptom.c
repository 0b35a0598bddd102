#include "launcher/core/symptom.h"

#include <string.h>

static const struct symptom rows[] = {
    /* NCCL, with its own reason in the line */
    {"nccl.duplicate_gpu", "Duplicate GPU detected", "two ranks use the same GPU",
     "take the device from LOCAL_RANK, or run muster with --binding isolated; `muster plan` "
     "shows who gets which"},
    {"nccl.duplicate_gpu", "Multiple Ranks are using the same GPU",
     "two ranks use the same GPU",
     "take the device from LOCAL_RANK, or run muster with --binding isolated; `muster plan` "
     "shows who gets which"},
    {"shm.size", "failed to extend /dev/shm/", "/dev/shm is too small for NCCL",
     "docker run --shm-size=1g or --ipc=host; Kubernetes: an emptyDir of medium Memory on "
     "/dev/shm"},
    {"shm.size", "Call to posix_fallocate failed", "/dev/shm is too small for NCCL",
     "docker run --shm-size=1g or --ipc=host; Kubernetes: an emptyDir of medium Memory on "
     "/dev/shm"},
    {"shm.size", "insufficient shared memory (shm)",
     "/dev/shm is too small for the workers of a DataLoader",
     "docker run --shm-size=1g or --ipc=host, or num_workers=0"},
    {"shm.attach", "Error while attaching to shared memory segment",
     "ranks do not agree on how to share memory: seccomp denies it to some",
     "docker run --cap-add SYS_NICE, or NCCL_CUMEM_HOST_ENABLE=0 on all ranks"},
    {"nccl.no_interface", "no socket interface found",
     "NCCL_SOCKET_IFNAME matches no interface that is up",
     "unset NCCL_SOCKET_IFNAME, or name one of `ip -brief address`"},
    {"nccl.version", "Mismatched NCCL version detected", "ranks have loaded different NCCLs",
     "one library for all: look at LD_LIBRARY_PATH and the installed packages of each node"},
    {"nccl.memlock", "ibv_reg_mr", "the limit of locked memory is too low for InfiniBand",
     "ulimit -l unlimited for what starts the workers (limits.conf, LimitMEMLOCK, docker "
     "--ulimit memlock=-1)"},
    {"nccl.multicast", "Failed to bind NVLink SHARP", "NVLink multicast does not work here",
     "NCCL_NVLS_ENABLE=0; restart nvidia-fabricmanager while the GPUs are idle"},
    {"nccl.p2p", "P2P is disabled between NVLINK connected GPUs", "an NVLink is down",
     "nvidia-smi nvlink --status names it; drain the node"},
    {"nccl.refused", "exceeded error retry count",
     "the rank that NCCL connects to is not there",
     "look for the rank that ended first; check the firewall between the nodes"},
    /* CUDA */
    {"cuda.memory", "CUDA out of memory", "the GPU's memory is full",
     "a smaller batch; `muster gpus` shows what others hold on the GPU"},
    {"cuda.memory", "Failed to CUDA calloc", "the GPU's memory is full",
     "end what else runs on the GPU; `muster gpus` shows it"},
    {"cuda.memory", "CUDA error: out of memory", "the GPU's memory is full",
     "a smaller batch; `muster gpus` shows what others hold on the GPU"},
    {"cuda.ordinal", "invalid device ordinal",
     "the program counts on more GPUs than it can see",
     "with --binding isolated the device is always 0; with shared it is LOCAL_RANK"},
    {"cuda.busy", "devices is/are busy or unavailable",
     "another process holds a GPU in exclusive mode",
     "end it (`muster gpus` shows it), or nvidia-smi -c DEFAULT"},
    {"cuda.driver_old", "driver version is insufficient",
     "the driver is older than the CUDA runtime of the program",
     "a newer driver, or a build for the CUDA that nvidia-smi names"},
    {"cuda.driver_mismatch", "Driver/library version mismatch",
     "the driver was upgraded without being loaded anew",
     "reboot, or reload the nvidia modules"},
    {"cuda.fabric", "system not yet initialized", "the Fabric Manager is not running",
     "systemctl start nvidia-fabricmanager, of the driver's version"},
    {"cuda.ecc", "uncorrectable ECC error", "the GPU's memory is damaged",
     "reset the GPU; replace it if it comes back"},
    {"cuda.fork", "Cannot re-initialize CUDA in forked subprocess",
     "CUDA was used before the program forked",
     "multiprocessing.set_start_method('spawn'), or fork first"},
    {"cuda.none", "No CUDA GPUs are available", "the program can see no GPU",
     "`muster gpus` shows what CUDA_VISIBLE_DEVICES leaves"},
    {"cuda.illegal", "an illegal memory access was encountered",
     "a kernel read or wrote where it may not; the line that is named may be a later one",
     "run again with CUDA_LAUNCH_BLOCKING=1, or under compute-sanitizer"},
    {"cuda.assert", "device-side assert triggered",
     "a check inside a kernel failed, often an index out of range",
     "run again with CUDA_LAUNCH_BLOCKING=1 to see the true line"},
    /* the system */
    {"port.used", "address already in use", "another process listens on that port",
     "ss -ltnp names it; without --master-port muster takes a free one"},
    {"port.used", "Address already in use", "another process listens on that port",
     "ss -ltnp names it; without --master-port muster takes a free one"},
    {"limit.nofile", "Too many open files", "the limit of open files is too low",
     "ulimit -n, or nofile in limits.conf"},
    {"disk.full", "No space left on device", "a file system is full",
     "df -h; df -i; /dev/shm too"},
    {"limit.threads", "can't start new thread", "the limit of processes and threads was hit",
     "ulimit -u, or the cgroup's pids.max"},
    {"host.memory", "Cannot allocate memory", "the machine or the cgroup has no memory left",
     "free -h; fewer DataLoader workers"},
    {"host.memory", "DefaultCPUAllocator: can't allocate memory",
     "the machine or the cgroup has no memory left", "free -h; fewer DataLoader workers"},
    {"name.unknown", "Name or service not known", "a host name cannot be resolved",
     "use addresses; check /etc/hosts and the name server"},
    /* PyTorch and Python */
    {"torch.timeout", "Watchdog caught collective operation timeout",
     "a collective waited for a rank that never came",
     "look at the ranks that say nothing: one hangs, or has left the loop early"},
    {"torch.store", "Socket Timeout", "a rank waited at the rendezvous for one that never came",
     "look for the rank that is missing; do all ranks call init_process_group?"},
    {"python.module", "ModuleNotFoundError", "this Python does not have the module",
     "PYTHON names the interpreter muster takes (default python3); activate its environment"},
    {"python.library", "cannot open shared object file", "a shared library is missing",
     "ldd names it; look at LD_LIBRARY_PATH"},
    /* what NCCL says in general */
    {"nccl.system", "unhandled system error", "a system call failed within NCCL",
     "run again with NCCL_DEBUG=WARN: the line above it says which"},
    {"nccl.cuda", "unhandled cuda error", "a CUDA call failed within NCCL",
     "run again with NCCL_DEBUG=WARN: the line above it says which"},
    {"nccl.remote", "remote process exited or there was a network error",
     "a peer of this rank has ended or cannot be reached",
     "this rank is likely a victim: look at what the others said"},
    {"nccl.usage", "invalid usage", "NCCL was called in a way it does not allow",
     "run again with NCCL_DEBUG=WARN: the line above it says which"},
    {"shm.size", "/dev/shm", "something is wrong with /dev/shm, as a rule its size",
     "df -h /dev/shm; docker run --shm-size=1g or --ipc=host"},
};

const struct symptom *symptom_rows(size_t *n)
{
    *n = sizeof rows / sizeof rows[0];
    return rows;
}

const struct symptom *symptom_find(const char *tail)
{
    for (size_t i = 0; tail && i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(tail, rows[i].text))
            return &rows[i];
    return NULL;
}

const char *symptom_exit_code(int code)
{
    static const struct {
        int code;
        const char *words;
    } codes[] = {
        {126, "a shell says so when a program was found but cannot be executed"},
        {127, "a shell says so when a program was not found"},
        {129, "a shell says so when its child was ended by SIGHUP"},
        {130, "a shell says so when its child was ended by SIGINT"},
        {131, "a shell says so when its child was ended by SIGQUIT"},
        {132,
         "a shell says so when its child died of SIGILL, often code for another processor"},
        {134, "a shell says so when its child died of SIGABRT, often an assertion"},
        {135, "a shell says so when its child died of SIGBUS, often a full /dev/shm"},
        {136, "a shell says so when its child died of SIGFPE"},
        {137, "a shell says so when its child was killed by SIGKILL, often for lack of memory"},
        {139, "a shell says so when its child died of SIGSEGV"},
        {141, "a shell says so when its child died of SIGPIPE"},
        {143, "a shell says so when its child was ended by SIGTERM"},
        {255, "exit(-1), or ssh that lost its connection"},
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].words;
    return NULL;
}

#include "launcher/core/symptom.h"

#include <string.h>

#include "launcher/core/doctor_rules.h"

static const struct symptom rows[] = {
    /* NCCL, with its own reason in the line */
    {"gpu.duplicate", "Duplicate GPU detected", NULL, NULL},
    {"gpu.duplicate", "Multiple Ranks are using the same GPU", NULL, NULL},
    {"shm.size", "failed to extend /dev/shm/", NULL, NULL},
    {"shm.size", "Call to posix_fallocate failed", NULL, NULL},
    {"shm.size", "insufficient shared memory (shm)",
     "/dev/shm is too small for the workers of a DataLoader",
     "docker run --shm-size=1g or --ipc=host, or num_workers=0"},
    {"numa.syscall", "Error while attaching to shared memory segment",
     "ranks do not agree on how to share memory: seccomp denies it to some", NULL},
    {"numa.syscall", "cuMem host allocations do not appear to be working", NULL, NULL},
    {"shm.removeipc", "unlink shared memory", NULL, NULL},
    {"net.ifname", "no socket interface found",
     "NCCL_SOCKET_IFNAME matches no interface that is up", NULL},
    {"net.ifname", "connecting to address with family 59936", NULL, NULL},
    {"nccl.library", "Mismatched NCCL version detected", NULL, NULL},
    {"nccl.library", "wrong type 4 != 3", NULL, NULL},
    {"limit.memlock", "ibv_reg_mr", NULL, NULL},
    {"limit.memlock", "ibv_create_cq", NULL, NULL},
    {"limit.memlock", "ibv_create_qp", NULL, NULL},
    {"ib.gid", "ibv_modify_qp failed", NULL, NULL},
    {"ib.gid", "completion with error 12", NULL, NULL},
    {"ib.gdr", "GPU Direct RDMA Disabled", NULL, NULL},
    {"ib.device", "NET/IB : No device found", NULL, NULL},
    {"fabric.multicast", "Failed to bind NVLink SHARP", NULL, NULL},
    {"fabric.multicast", "transport/nvls.cc", NULL, NULL},
    {"fabric.imex", "available but not working", NULL, NULL},
    {"nvlink.down", "P2P is disabled between NVLINK connected GPUs", NULL, NULL},
    {"p2p.cumemhost", "peer access is not supported", NULL, NULL},
    {"rdzv.mismatch", "mismatch in info from procs", NULL, NULL},
    {"rdzv.mismatch", "Invalid rank requested", NULL, NULL},
    {"rdzv.refused", "exceeded error retry count", NULL, NULL},
    /* what muster-worker says */
    {"rank.missing", "has not reached", NULL, NULL},
    {"net.reach", "cannot reach the address where NCCL waits for it", NULL, NULL},
    {"world.one", "worlds of one rank", NULL, NULL},
    {"data.flaky", "wrong elements in the", NULL, NULL},
    {"net.mpi", "Open MPI failed to TCP connect", NULL, NULL},
    /* CUDA */
    {"cuda.memory", "CUDA out of memory", NULL, NULL},
    {"gpu.memory", "Failed to CUDA calloc", NULL, NULL},
    {"cuda.memory", "CUDA error: out of memory", NULL, NULL},
    {"gpu.hidden", "Cuda failure 101", NULL, NULL},
    {"gpu.ordinal", "invalid device ordinal", NULL, NULL},
    {"gpu.exclusive", "devices is/are busy or unavailable",
     "another process holds a GPU in exclusive mode",
     "end it (`muster gpus` shows it), or nvidia-smi -c DEFAULT"},
    {"driver.missing", "driver version is insufficient",
     "the driver is older than the CUDA runtime of the program",
     "a newer driver, or a build for the CUDA that nvidia-smi names"},
    {"driver.missing", "no CUDA-capable device is detected", NULL, NULL},
    {"driver.mismatch", "Driver/library version mismatch", NULL, NULL},
    {"nvml.unknown", "Failed to initialize NVML: Unknown Error", NULL, NULL},
    {"gpu.lost", "GPU is lost", NULL, NULL},
    {"gpu.lost", "fallen off the bus", NULL, NULL},
    {"fabric.manager", "system not yet initialized", NULL, NULL},
    {"gpu.ecc", "uncorrectable ECC error", NULL, NULL},
    {"cuda.fork", "Cannot re-initialize CUDA in forked subprocess", NULL, NULL},
    {"cuda.none", "No CUDA GPUs are available", NULL, NULL},
    {"cuda.illegal", "an illegal memory access was encountered", NULL, NULL},
    {"cuda.assert", "device-side assert triggered", NULL, NULL},
    /* the system */
    {"port.used", "address already in use", NULL, NULL},
    {"port.used", "Address already in use", NULL, NULL},
    {"limit.nofile", "Too many open files", NULL, "ulimit -n, or nofile in limits.conf"},
    {"disk.full", "No space left on device", NULL, NULL},
    {"limit.threads", "can't start new thread", NULL, NULL},
    {"host.memory", "Cannot allocate memory", NULL, NULL},
    {"host.memory", "DefaultCPUAllocator: can't allocate memory", NULL, NULL},
    {"net.name", "Name or service not known", NULL,
     "use addresses; check /etc/hosts and the name server"},
    {"net.name", "hostname cannot be retrieved", NULL,
     "use addresses; check /etc/hosts and the name server"},
    /* PyTorch and Python */
    {"torch.timeout", "Watchdog caught collective operation timeout", NULL, NULL},
    {"rank.missing", "Socket Timeout",
     "a rank waited at the rendezvous for one that never came", NULL},
    {"python.module", "ModuleNotFoundError", NULL, NULL},
    {"python.library", "cannot open shared object file", NULL, NULL},
    /* what NCCL says in general */
    {"nccl.system", "unhandled system error", NULL, NULL},
    {"nccl.cuda", "unhandled cuda error", NULL, NULL},
    {"nccl.remote", "remote process exited or there was a network error", NULL, NULL},
    {"nccl.usage", "invalid usage", NULL, NULL},
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

const struct symptom *symptom_of_worker(const char *program, int code)
{
    static const struct {
        int code;
        struct symptom symptom;
    } statuses[] = {
        {10, {"data.flaky", "muster-worker has found wrong data", NULL, NULL}},
        {12, {"rank.missing", "muster-worker has waited for a rank", NULL, NULL}},
    };
    const char *slash = program ? strrchr(program, '/') : NULL,
               *name = slash ? slash + 1 : program;
    for (size_t i = 0; name && i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].code == code && strcmp(name, "muster-worker") == 0)
            return &statuses[i].symptom;
    return NULL;
}

const char *symptom_cause(const struct symptom *s)
{
    return s->cause ? s->cause : doctor_rule_find(s->id)->title;
}

const char *symptom_fix(const struct symptom *s)
{
    return s->fix ? s->fix : doctor_rule_find(s->id)->fix;
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

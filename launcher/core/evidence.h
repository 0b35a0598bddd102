/* evidence.h - what was seen on one host: the ground on which the rules of `muster doctor`
 * judge.
 *
 * Owns the record, its fields (one table, which also makes the text form that travels between
 * hosts) and what "unknown" means: every item starts unknown, and a rule that needs it then
 * says so. Filled by io/evidence_*; judged by doctor_rules. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_EVIDENCE_H
#define MUSTER_LAUNCHER_CORE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct evidence_number {
    bool is_known;
    int64_t value;
};

/* Fields are X(NUMBER or TEXT, name, meaning). A NUMBER that answers yes or no is 1 or 0; an
 * errno is 0 where the call worked; sizes are bytes. A TEXT is owned, NULL = unknown. */
#define EVIDENCE_HOST(X)                                                                       \
    X(TEXT, host, "name of the host")                                                          \
    X(NUMBER, ranks, "ranks that the job would have on this host")                             \
    X(NUMBER, world, "ranks of the whole job")                                                 \
    X(TEXT, job, "name of the job that this host was told")                                    \
    X(TEXT, nodes, "number of nodes that this host was told, as N or MIN:MAX")                 \
    X(NUMBER, bytes, "largest buffer of one rank in a test")                                   \
    X(NUMBER, expect_gpus, "GPUs that the user says there are")                                \
    X(NUMBER, asks_gpus, "whether the job asks for GPUs")                                      \
    X(NUMBER, shm_free, "free in /dev/shm")                                                    \
    X(NUMBER, shm_errno, "of making a file of 64 MiB there")                                   \
    X(NUMBER, uid, "numeric user id")                                                          \
    X(NUMBER, removeipc, "whether logind removes the IPC objects of users that log out")       \
    X(TEXT, removeipc_file, "file that says so, or a word for the default")                    \
    X(NUMBER, lingers, "whether logind keeps this user's manager")                             \
    X(NUMBER, has_session, "whether this user is logged in")                                   \
    X(NUMBER, numa_errno, "of get_mempolicy and mbind")                                        \
    X(NUMBER, memlock, "soft limit of locked memory; -1 = none")                               \
    X(NUMBER, nofile, "soft limit of open files; -1 = none")                                   \
    X(NUMBER, nofile_hard, "hard limit of open files; -1 = none")                              \
    X(NUMBER, has_nvidia0, "whether /dev/nvidia0 exists")                                      \
    X(NUMBER, has_uvm, "whether /dev/nvidia-uvm exists")                                       \
    X(NUMBER, nvidiactl_errno, "of opening /dev/nvidiactl")                                    \
    X(NUMBER, has_libcuda, "whether libcuda.so.1 can be loaded")                               \
    X(TEXT, libcuda_version, "version in the name of libcuda.so")                              \
    X(TEXT, kernel_driver, "version of the loaded kernel module")                              \
    X(NUMBER, is_open_module, "whether it is the open kernel module")                          \
    X(NUMBER, nvml, "answer of nvmlInit; -1 = there is no NVML")                               \
    X(NUMBER, probe, "exit status of the worker's probe; -1 = none was run")                   \
    X(TEXT, probe_error, "why it failed")                                                      \
    X(NUMBER, cuda_driver, "CUDA version of the driver, 13000 for 13.0; 0 = none")             \
    X(NUMBER, cuda_runtime, "CUDA version of the worker's runtime")                            \
    X(NUMBER, cuda_code, "answer of cudaGetDeviceCount")                                       \
    X(NUMBER, cuda_peers, "whether all GPUs reach each other's memory; 0 = some do not")       \
    X(TEXT, nccl_version, "version of the NCCL that is loaded, 2.28.9")                        \
    X(TEXT, nccl_file, "its file")                                                             \
    X(TEXT, nccl_header, "version that the worker was built with")                             \
    X(TEXT, listen, "address and port that it listens on for the other hosts")                 \
    X(NUMBER, has_ibverbs, "whether libibverbs.so.1 can be loaded")                            \
    X(NUMBER, has_peermem, "whether nvidia_peermem or nv_peer_mem is loaded")                  \
    X(TEXT, kernel, "release of the kernel")                                                   \
    X(NUMBER, iommu_groups, "IOMMU groups with devices")                                       \
    X(TEXT, cmdline, "command line of the kernel")

/* One of NVML's GPUs. */
#define EVIDENCE_GPU(X)                                                                        \
    X(NUMBER, index, "NVML index")                                                             \
    X(TEXT, uuid, "GPU-...")                                                                   \
    X(TEXT, pci, "00000000:65:00.0")                                                           \
    X(TEXT, name, "model")                                                                     \
    X(NUMBER, minor, "N of /dev/nvidiaN")                                                      \
    X(NUMBER, node_errno, "of opening /dev/nvidiaN")                                           \
    X(NUMBER, lost, "whether NVML calls it lost")                                              \
    X(NUMBER, ecc, "uncorrectable ECC errors since the last load of the driver")               \
    X(NUMBER, remap_pending, "whether a row waits for a reset to be remapped")                 \
    X(NUMBER, remap_failed, "whether remapping a row has failed")                              \
    X(NUMBER, mode, "compute mode: 0, 2 prohibited, 3 exclusive process")                      \
    X(NUMBER, processes, "compute processes on it")                                            \
    X(TEXT, pids, "their ids, as in 4711 4712")                                                \
    X(NUMBER, memory_free, "free memory")                                                      \
    X(NUMBER, mig, "whether MIG is on")                                                        \
    X(NUMBER, links, "NVLinks that are active")                                                \
    X(TEXT, links_down, "NVLinks that are not, as in 3 7")                                     \
    X(NUMBER, switch_links, "NVLinks that end in a switch")                                    \
    X(NUMBER, fabric_state, "0 not supported, 1 not started, 2 in progress, 3 completed")      \
    X(NUMBER, fabric_status, "answer of the fabric's registration")                            \
    X(TEXT, fabric_clique, "cluster UUID and clique of a multi-node NVLink domain")

/* Two of them, by NVML index. */
#define EVIDENCE_PAIR(X)                                                                       \
    X(NUMBER, a, "NVML index")                                                                 \
    X(NUMBER, b, "NVML index")                                                                 \
    X(NUMBER, p2p, "nvmlDeviceGetP2PStatus of reading; 0 = good")                              \
    X(NUMBER, links, "NVLinks from one to the other, without a switch")

/* A GPU on the PCI bus, as sysfs has it. */
#define EVIDENCE_BUS(X)                                                                        \
    X(TEXT, pci, "0000:65:00.0")                                                               \
    X(NUMBER, has_driver, "whether /proc/driver/nvidia/gpus has it")                           \
    X(NUMBER, width, "PCIe lanes in use")                                                      \
    X(NUMBER, width_max, "PCIe lanes it could use")

/* What a rank of this host would get. */
#define EVIDENCE_PLACE(X)                                                                      \
    X(NUMBER, rank, "rank")                                                                    \
    X(TEXT, uuid, "GPU or MIG instance")                                                       \
    X(NUMBER, ordinal, "device number that it will use")                                       \
    X(NUMBER, visible, "devices that it sees")

/* An address of an interface, in the kernel's order. */
#define EVIDENCE_ADDRESS(X)                                                                    \
    X(TEXT, name, "eth0")                                                                      \
    X(TEXT, address, "numeric, without zone")                                                  \
    X(NUMBER, bits, "length of the subnet's prefix")                                           \
    X(NUMBER, running, "whether the interface is up and has a carrier")

/* A variable of the environment or a line of nccl.conf that matters here. */
#define EVIDENCE_SETTING(X)                                                                    \
    X(TEXT, name, "NCCL_SOCKET_IFNAME")                                                        \
    X(TEXT, value, "eth0")                                                                     \
    X(TEXT, origin, "environment, or the file")

/* A name that was looked up. */
#define EVIDENCE_NAME(X)                                                                       \
    X(TEXT, name, "name of a host")                                                            \
    X(NUMBER, code, "answer of getaddrinfo")                                                   \
    X(TEXT, words, "the same in words")

/* A connection that was tried to another host. */
#define EVIDENCE_REACH(X)                                                                      \
    X(TEXT, peer, "name of the other host")                                                    \
    X(TEXT, address, "address and port that it listened on")                                   \
    X(NUMBER, code, "errno of connecting")                                                     \
    X(TEXT, words, "the same in words")

/* A device of /sys/class/infiniband. */
#define EVIDENCE_HCA(X)                                                                        \
    X(TEXT, name, "mlx5_0")                                                                    \
    X(NUMBER, verbs_errno, "of opening its /dev/infiniband/uverbsN")

#define EVIDENCE_PORT(X)                                                                       \
    X(TEXT, name, "mlx5_0/1")                                                                  \
    X(TEXT, state, "ACTIVE")                                                                   \
    X(TEXT, phys_state, "LinkUp")                                                              \
    X(TEXT, rate, "400 Gb/sec (4X NDR)")                                                       \
    X(TEXT, layer, "InfiniBand or Ethernet")

#define EVIDENCE_GID(X)                                                                        \
    X(TEXT, port, "mlx5_0/1")                                                                  \
    X(NUMBER, index, "place in its table")                                                     \
    X(TEXT, gid, "as sysfs has it")                                                            \
    X(TEXT, type, "IB/RoCE v1 or RoCE v2")

/* A channel of /dev/nvidia-caps-imex-channels. */
#define EVIDENCE_CHANNEL(X)                                                                    \
    X(TEXT, name, "channel0")                                                                  \
    X(NUMBER, code, "errno of opening it")

/* X(name of the list, name of an item, its fields) */
#define EVIDENCE_LISTS(X)                                                                      \
    X(gpus, gpu, EVIDENCE_GPU)                                                                 \
    X(pairs, pair, EVIDENCE_PAIR)                                                              \
    X(buses, bus, EVIDENCE_BUS)                                                                \
    X(places, place, EVIDENCE_PLACE)                                                           \
    X(addresses, address, EVIDENCE_ADDRESS)                                                    \
    X(settings, setting, EVIDENCE_SETTING)                                                     \
    X(names, name, EVIDENCE_NAME)                                                              \
    X(reaches, reach, EVIDENCE_REACH)                                                          \
    X(hcas, hca, EVIDENCE_HCA)                                                                 \
    X(ports, port, EVIDENCE_PORT)                                                              \
    X(gids, gid, EVIDENCE_GID)                                                                 \
    X(channels, channel, EVIDENCE_CHANNEL)

#define EVIDENCE_TYPE_NUMBER struct evidence_number
#define EVIDENCE_TYPE_TEXT char *
#define EVIDENCE_MEMBER(type, name, meaning) EVIDENCE_TYPE_##type name;

/* Items of one list; unknown is not the same as none. */
struct evidence_list {
    void *items; /* owned; see evidence_gpu_at and its like */
    size_t n, cap;
    bool is_known;
};

/* struct evidence_gpu and its like */
#define X(list, item, fields)                                                                  \
    struct evidence_##item {                                                                   \
        fields(EVIDENCE_MEMBER)                                                                \
    };
EVIDENCE_LISTS(X)
#undef X

/* Zero-initialised: nothing is known. */
struct host_evidence {
    EVIDENCE_HOST(EVIDENCE_MEMBER)
#define X(list, item, fields) struct evidence_list list;
    EVIDENCE_LISTS(X)
#undef X
};

/* evidence_gpu_at(ev, i) is the i-th item of a list (i < n); evidence_gpu_add(ev) appends an
 * empty one, and the list is known then. Pointers are valid until the next one is added. */
#define X(list, item, fields)                                                                  \
    struct evidence_##item *evidence_##item##_at(const struct host_evidence *ev, size_t i);    \
    struct evidence_##item *evidence_##item##_add(struct host_evidence *ev);
EVIDENCE_LISTS(X)
#undef X

void evidence_clear(struct host_evidence *ev);

/* Sets a number; a text, in place of another, cut at its first line end. */
void evidence_set(struct evidence_number *field, int64_t value);
void evidence_set_text(char **field, const char *text);

/* Whether a number is known and has this value. */
bool evidence_is(const struct evidence_number *field, int64_t value);

/* A setting, or its value; NULL if it is not set. */
const struct evidence_setting *evidence_setting_find(const struct host_evidence *ev,
                                                     const char *name);
const char *evidence_setting(const struct host_evidence *ev, const char *name);

/* Text form: "name=value" lines, an item's as "gpu.0.uuid=GPU-...", the length of each known
 * list as "gpus=2". What is unknown has no line. */
void evidence_format(const struct host_evidence *ev, struct buf *out);

/* Adds what text says to ev. Keys that are not known are skipped, so that versions may differ.
 * 0, or -1 with ERR_PROTOCOL that names the line. */
int evidence_parse(struct str text, struct host_evidence *ev, struct err *e);

#endif

#include "launcher/core/metrics_families.h"

/* ---- where values come from ---- */

static struct maybe_u64 known(uint64_t value)
{
    return (struct maybe_u64){true, value};
}

static const struct control_rank *rank_of(const struct metrics_look *look, size_t i)
{
    return look->view->rows[i].rank;
}

/* A moment of the monotonic clock in Unix time. */
static struct maybe_u64 unix_ms(const struct metrics_look *look, struct maybe_u64 at_ms)
{
    return at_ms.is_known ? known(at_ms.value + look->unix_offset_ms) : at_ms;
}

static struct maybe_u64 status_of(const struct metrics_look *look, size_t i)
{
    return i < look->job->nranks ? look->job->statuses[i] : (struct maybe_u64){0};
}

/* Not known of one that was never started. */
static struct maybe_u64 restarts_of(const struct metrics_look *look, size_t i)
{
    uint32_t starts = rank_of(look, i)->starts;
    return starts ? known(starts - 1) : (struct maybe_u64){0};
}

/* Of a rank without a GPU nothing is known. */
static const struct gpu_sample *gpu_of(const struct metrics_look *look, size_t i)
{
    return &rank_of(look, i)->sample.gpu;
}

/* ---- the tables ---- */

/* X(id, name, type, unit, value, help): the value as an expression over look and, but for the
 * job, i. */
#define JOB_FAMILIES(X)                                                                        \
    X(job_start, "muster_job_start_time_seconds", GAUGE, MILLI,                                \
      unix_ms(look, known(look->began_ms)), "When muster began, in Unix time.")                \
    X(job_uptime, "muster_job_uptime_seconds", GAUGE, MILLI,                                   \
      known(look->now_ms - look->began_ms), "Since muster began.")                             \
    X(job_generation_start, "muster_job_generation_start_time_seconds", GAUGE, MILLI,          \
      unix_ms(look, look->job->generation_at_ms),                                              \
      "When the workers of this generation were started, in Unix time.")                       \
    X(job_generation, "muster_job_generation", GAUGE, ONE,                                     \
      known(look->view->status->generation), "The generation, from 0.")                        \
    X(job_restarts, "muster_job_restarts_total", COUNTER, ONE,                                 \
      known(look->view->status->generation), "How often the group was started again.")         \
    X(job_max_restarts, "muster_job_max_restarts", GAUGE, ONE,                                 \
      known(look->view->status->max_restarts), "How many restarts are allowed.")               \
    X(job_nodes, "muster_job_nodes", GAUGE, ONE, known(look->job->nnodes),                     \
      "Places for nodes.")                                                                     \
    X(job_ranks, "muster_job_ranks", GAUGE, ONE, known(look->view->nrows),                     \
      "Ranks of the group; 0 before all nodes have joined.")                                   \
    X(store_connections, "muster_store_connections", GAUGE, ONE,                               \
      known(look->store.connections), "Clients of the rendezvous store.")                      \
    X(store_accepted, "muster_store_connections_accepted_total", COUNTER, ONE,                 \
      known(look->store.accepted),                                                             \
      "Connections that came to the job's port, those of nodes too.")                          \
    X(store_refused, "muster_store_connections_refused_total", COUNTER, ONE,                   \
      known(look->store.refused), "Of these, those that were not served.")                     \
    X(store_keys, "muster_store_keys", GAUGE, ONE, known(look->store.keys),                    \
      "Keys in the store of this generation.")                                                 \
    X(store_bytes, "muster_store_size_bytes", GAUGE, ONE, known(look->store.bytes),            \
      "Memory of its keys and values.")

#define NODE_FAMILIES(X)                                                                       \
    X(node_up, "muster_node_up", GAUGE, ONE, known(look->job->nodes[i].is_up),                 \
      "Whether the node has joined and is not lost.")                                          \
    X(node_quiet, "muster_node_heartbeat_age_seconds", GAUGE, MILLI,                           \
      look->job->nodes[i].quiet_ms, "Since another node was heard last.")

#define RANK_FAMILIES(X)                                                                       \
    X(rank_up, "muster_rank_up", GAUGE, ONE, known(rank_of(look, i)->state == RANK_RUNNING),   \
      "Whether the rank's process runs.")                                                      \
    X(rank_status, "muster_rank_exit_status", GAUGE, ONE, status_of(look, i),                  \
      "How the rank ended: its exit code, or 128 and the number of a signal.")                 \
    X(rank_restarts, "muster_rank_restarts_total", COUNTER, ONE, restarts_of(look, i),         \
      "How often the rank was started again in this job.")                                     \
    X(rank_cpu, "muster_rank_cpu_seconds_total", COUNTER, MILLI, look->counters[i].cpu_ms,     \
      "Processor time of the worker and what it has started.")                                 \
    X(rank_rss, "muster_rank_resident_memory_bytes", GAUGE, ONE, rank_of(look, i)->sample.rss, \
      "Resident memory of the worker and what it has started.")                                \
    X(rank_step, "muster_rank_step", GAUGE, ONE, rank_of(look, i)->step,                       \
      "The last step that the worker has told (STEP=N).")                                      \
    X(rank_rate, "muster_rank_steps_per_second", GAUGE, MILLI,                                 \
      look->view->rows[i].steps_per_ks, "Steps, over the time between two looks.")             \
    X(rank_quiet, "muster_rank_heartbeat_age_seconds", GAUGE, MILLI,                           \
      rank_of(look, i)->quiet_ms, "Since the worker's last sign of life.")                     \
    X(rank_differs, "muster_rank_differs", GAUGE, ONE, known(look->view->rows[i].is_odd),      \
      "Whether this rank alone differs from all others, as muster top marks it.")

/* Where the meaning is the same, names and units are dcgm-exporter's. */
#define GPU_FAMILIES(X)                                                                        \
    X(gpu_util, "DCGM_FI_DEV_GPU_UTIL", GAUGE, ONE, gpu_of(look, i)->util,                     \
      "Time in which any kernel ran (in %).")                                                  \
    X(gpu_power, "DCGM_FI_DEV_POWER_USAGE", GAUGE, MILLI, gpu_of(look, i)->power_mw,           \
      "Power draw (in W).")                                                                    \
    X(gpu_used, "DCGM_FI_DEV_FB_USED", GAUGE, MIBI, gpu_of(look, i)->used,                     \
      "Memory of the GPU in use (in MiB).")                                                    \
    X(gpu_total, "DCGM_FI_DEV_FB_TOTAL", GAUGE, MIBI, gpu_of(look, i)->total,                  \
      "Memory of the GPU (in MiB).")                                                           \
    X(gpu_temp, "DCGM_FI_DEV_GPU_TEMP", GAUGE, ONE, gpu_of(look, i)->temp_c,                   \
      "Temperature of the GPU (in C).")                                                        \
    X(gpu_sm_clock, "DCGM_FI_DEV_SM_CLOCK", GAUGE, ONE, gpu_of(look, i)->sm_mhz,               \
      "Clock of the multiprocessors (in MHz).")                                                \
    X(gpu_events, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", GAUGE, ONE,                              \
      gpu_of(look, i)->clock_events, "Why the clocks of the GPU are lower: bits of NVML.")     \
    X(nvlink_tx, "muster_gpu_nvlink_transmit_bytes_total", COUNTER, ONE,                       \
      gpu_of(look, i)->nvlink_tx, "What the GPU has sent over its NVLinks.")                   \
    X(nvlink_rx, "muster_gpu_nvlink_receive_bytes_total", COUNTER, ONE,                        \
      gpu_of(look, i)->nvlink_rx, "What the GPU has received over its NVLinks.")               \
    X(pcie_tx, "muster_gpu_pcie_transmit_bytes_per_second", GAUGE, ONE,                        \
      gpu_of(look, i)->pcie_tx_rate, "What the GPU sends over PCI Express at the moment.")     \
    X(pcie_rx, "muster_gpu_pcie_receive_bytes_per_second", GAUGE, ONE,                         \
      gpu_of(look, i)->pcie_rx_rate, "What the GPU receives over PCI Express at the moment.")

#define X(id, name, type, unit, value, help)                                                   \
    static struct maybe_u64 value_of_##id(const struct metrics_look *look, size_t i)           \
    {                                                                                          \
        (void)i;                                                                               \
        return value;                                                                          \
    }
JOB_FAMILIES(X)
NODE_FAMILIES(X)
RANK_FAMILIES(X)
GPU_FAMILIES(X)
#undef X

#define X(id, name, type, unit, value, help)                                                   \
    {name, help, METRICS_##type, METRICS_##unit, value_of_##id},
static const struct metrics_family job_rows[] = {JOB_FAMILIES(X)};
static const struct metrics_family node_rows[] = {NODE_FAMILIES(X)};
static const struct metrics_family rank_rows[] = {RANK_FAMILIES(X)};
static const struct metrics_family gpu_rows[] = {GPU_FAMILIES(X)};
#undef X

struct metrics_table metrics_of_job(void)
{
    return (struct metrics_table){job_rows, sizeof job_rows / sizeof job_rows[0]};
}

struct metrics_table metrics_of_nodes(void)
{
    return (struct metrics_table){node_rows, sizeof node_rows / sizeof node_rows[0]};
}

struct metrics_table metrics_of_ranks(void)
{
    return (struct metrics_table){rank_rows, sizeof rank_rows / sizeof rank_rows[0]};
}

struct metrics_table metrics_of_gpus(void)
{
    return (struct metrics_table){gpu_rows, sizeof gpu_rows / sizeof gpu_rows[0]};
}

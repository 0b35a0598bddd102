/* contract.h - every environment variable of a worker: who sets it and what it means.
 *
 * Launcher and worker meet in this table and on the wire, nowhere else. worker_env.c writes
 * from it, worker/env.c reads from it, docs/environment.md is generated from it. Pure data.
 */
#ifndef MUSTER_RENDEZVOUS_CONTRACT_H
#define MUSTER_RENDEZVOUS_CONTRACT_H

/* When the launcher writes a variable. */
enum contract_when {
    CONTRACT_ALWAYS,   /* written for every worker, whatever was inherited */
    CONTRACT_UNSET,    /* written only where the environment does not have it */
    CONTRACT_BINDING,  /* written by the binding mode in use */
    CONTRACT_OPTIONAL, /* written when there is something to say */
};

/* X(name, when, meaning) */
#define CONTRACT_VARIABLES(X)                                                                  \
    X(RANK, ALWAYS, "global rank of this worker, from 0")                                      \
    X(LOCAL_RANK, ALWAYS,                                                                      \
      "rank on this node, from 0; in binding mode shared also the CUDA device")                \
    X(WORLD_SIZE, ALWAYS, "number of workers in the whole job")                                \
    X(LOCAL_WORLD_SIZE, ALWAYS, "number of workers on this node")                              \
    X(NODE_RANK, ALWAYS, "number of this node, from 0")                                        \
    X(GROUP_RANK, ALWAYS, "same as NODE_RANK; the name used by torchrun")                      \
    X(GROUP_WORLD_SIZE, ALWAYS, "number of nodes")                                             \
    X(ROLE_NAME, ALWAYS, "label of the group, torchrun's --role")                              \
    X(ROLE_RANK, ALWAYS, "same as RANK")                                                       \
    X(ROLE_WORLD_SIZE, ALWAYS, "same as WORLD_SIZE")                                           \
    X(MASTER_ADDR, ALWAYS, "numeric address of the rendezvous store")                          \
    X(MASTER_PORT, ALWAYS,                                                                     \
      "port of the rendezvous store; served by muster itself, no worker listens on it")        \
    X(TORCHELASTIC_RUN_ID, ALWAYS,                                                             \
      "the job id; its presence tells frameworks that a launcher is in charge")                \
    X(TORCHELASTIC_RESTART_COUNT, ALWAYS, "generation: restarts of the whole job so far")      \
    X(TORCHELASTIC_MAX_RESTARTS, ALWAYS, "restarts allowed for the whole job")                 \
    X(TORCHELASTIC_USE_AGENT_STORE, ALWAYS,                                                    \
      "True: every rank is a client of the store at MASTER_ADDR")                              \
    X(TORCHELASTIC_ERROR_FILE, ALWAYS, "file where PyTorch's @record leaves the traceback")    \
    X(LOCAL_SIZE, ALWAYS, "same as LOCAL_WORLD_SIZE; read by DeepSpeed and others")            \
    X(CROSS_RANK, ALWAYS, "same as NODE_RANK")                                                 \
    X(CROSS_SIZE, ALWAYS, "same as GROUP_WORLD_SIZE")                                          \
    X(CUDA_VISIBLE_DEVICES, BINDING, "the GPUs that CUDA shows to this worker")                \
    X(CUDA_DEVICE_ORDER, BINDING, "PCI_BUS_ID, so that numbers mean what nvidia-smi shows")    \
    X(MUSTER_JOB_ID, ALWAYS, "the job id")                                                     \
    X(MUSTER_LOCAL_RANK, ALWAYS,                                                               \
      "the true rank on this node, also where LOCAL_RANK is 0 for all")                        \
    X(MUSTER_BINDING, ALWAYS,                                                                  \
      "binding mode in use: shared, isolated, isolated-virtual, rotated, none")                \
    X(MUSTER_GPU_UUID, OPTIONAL, "UUID of the planned GPU; several are separated by commas")   \
    X(MUSTER_GPU_PCI_BUS_ID, OPTIONAL, "PCI bus id of the planned GPU")                        \
    X(MUSTER_GPU_INDEX, OPTIONAL, "NVML (nvidia-smi) index of the planned GPU")                \
    X(MUSTER_NOTIFY_SOCKET, OPTIONAL,                                                          \
      "datagram socket for HEARTBEAT=1, STEP=N, STATUS=text; @name: an abstract one")          \
    X(TORCH_NCCL_ASYNC_ERROR_HANDLING, UNSET,                                                  \
      "1: a failed peer ends the rank instead of hanging it")                                  \
    X(PYTHONUNBUFFERED, UNSET, "1: lines appear when they are printed")                        \
    X(PYTHONFAULTHANDLER, UNSET, "1: a crash prints Python's stacks")                          \
    X(OMP_NUM_THREADS, UNSET, "the rank's share of the cores, at least 1")

/* X(preset of --compat, name, meaning): written only when the preset was asked for. */
#define CONTRACT_COMPAT(X)                                                                     \
    X(JAX, JAX_COORDINATOR_ADDRESS,                                                            \
      "where rank 0 serves jax.distributed.initialize(), a port that muster has reserved")     \
    X(JAX, JAX_NUM_PROCESSES, "number of workers, for user code to hand over")                 \
    X(JAX, JAX_PROCESS_ID, "same as RANK, likewise")                                           \
    X(JAX, JAX_LOCAL_DEVICE_IDS, "the CUDA device of this worker; not written without a GPU")  \
    X(ACCELERATE_CPU, ACCELERATE_USE_CPU,                                                      \
      "true: Accelerate makes one group of the workers on a machine without GPUs")             \
    X(TF, TF_CONFIG,                                                                           \
      "cluster of all workers, each with a reserved port, and this one's place")               \
    X(PADDLE, PADDLE_MASTER, "where rank 0 serves Paddle's own store, a reserved port")        \
    X(PADDLE, PADDLE_TRAINER_ENDPOINTS, "address and reserved port of each worker")            \
    X(PADDLE, PADDLE_CURRENT_ENDPOINT, "that of this worker")                                  \
    X(PADDLE, PADDLE_TRAINER_ID, "same as RANK")                                               \
    X(PADDLE, PADDLE_TRAINERS_NUM, "same as WORLD_SIZE")                                       \
    X(PADDLE, PADDLE_GLOBAL_RANK, "same as RANK")                                              \
    X(PADDLE, PADDLE_GLOBAL_SIZE, "same as WORLD_SIZE")                                        \
    X(PADDLE, PADDLE_LOCAL_RANK, "the true rank on this node")                                 \
    X(PADDLE, PADDLE_LOCAL_SIZE, "same as LOCAL_WORLD_SIZE")                                   \
    X(PADDLE, PADDLE_RANK_IN_NODE, "same as PADDLE_LOCAL_RANK")                                \
    X(PADDLE, PADDLE_NNODES, "number of nodes")                                                \
    X(PADDLE, FLAGS_selected_gpus, "the CUDA device of this worker; not written without a GPU")

/* X(prefix or whole name): task identity of an outer launcher, hidden from workers. A trailing
 * * matches any rest. */
#define CONTRACT_HIDDEN(X)                                                                     \
    X("SLURM_PROCID")                                                                          \
    X("SLURM_LOCALID")                                                                         \
    X("SLURM_NODEID")                                                                          \
    X("SLURM_NTASKS")                                                                          \
    X("SLURM_NPROCS")                                                                          \
    X("SLURM_NTASKS_PER_NODE")                                                                 \
    X("SLURM_TASKS_PER_NODE")                                                                  \
    X("SLURM_TASK_PID")                                                                        \
    X("SLURM_GTIDS")                                                                           \
    X("SLURM_STEP_*")                                                                          \
    X("SLURM_STEPID")                                                                          \
    X("OMPI_COMM_WORLD_*")                                                                     \
    X("OMPI_UNIVERSE_SIZE")                                                                    \
    X("OMPI_MCA_orte_*")                                                                       \
    X("OMPI_MCA_ess")                                                                          \
    X("OMPI_MCA_pmix")                                                                         \
    X("OMPI_MCA_ess_*")                                                                        \
    X("OMPI_APP_CTX_NUM_PROCS")                                                                \
    X("OMPI_FIRST_RANKS")                                                                      \
    X("OMPI_NUM_APP_CTX")                                                                      \
    X("OMPI_FILE_LOCATION")                                                                    \
    X("OMPI_COMMAND")                                                                          \
    X("OMPI_ARGV")                                                                             \
    X("PRTE_*")                                                                                \
    X("PMI_*")                                                                                 \
    X("PMIX_*")                                                                                \
    X("HYDI_*")                                                                                \
    X("MPI_LOCAL*")                                                                            \
    X("JSM_NAMESPACE_*")                                                                       \
    X("FLUX_TASK_*")                                                                           \
    X("TORCHELASTIC_*")                                                                        \
    X("RANK")                                                                                  \
    X("LOCAL_RANK")                                                                            \
    X("NODE_RANK")

#endif

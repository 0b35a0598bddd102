#include "launcher/core/option_words.h"

#include "launcher/core/placement.h"

const char *option_words(enum option_type type)
{
#define X(name, spelling) spelling " "
    switch (type) {
    case VALUE_NPROC:
        return "gpu cpu auto";
    case VALUE_BINDING:
        return GPU_BINDINGS(X);
    case VALUE_DIST:
        return GPU_DISTS(X);
    case VALUE_FORMAT:
        return GPU_FORMATS(X);
    case VALUE_CPU_BIND:
        return CPU_BINDS(X);
    case VALUE_MPI:
        return MPI_MODES(X);
    case VALUE_ENGINE:
        return "auto ssh slurm mpi manual";
    case VALUE_STACK_TOOL:
        return "auto py-spy eu-stack gdb none";
    case VALUE_SCHEDULER_ENV:
        return "auto keep hide";
    case VALUE_COMPAT:
        return "jax accelerate-cpu tf paddle";
    case VALUE_TEMPLATE:
        return "auto none";
    case VALUE_STREAMS:
        return "0 1 2 3";
    case VALUE_INPUT:
        return "all none";
    case VALUE_RANK:
        return "none";
    case VALUE_NODE_RANK:
        return "auto";
    case VALUE_FLAG:
    case VALUE_COUNT:
    case VALUE_NUMBER:
    case VALUE_PORT:
    case VALUE_DURATION:
    case VALUE_SIZE:
    case VALUE_TEXT:
    case VALUE_RANKS:
    case VALUE_CODES:
    case VALUE_WRAP:
    case VALUE_NNODES:
    case VALUE_LIST:
    case VALUE_NOTICE:
    case VALUE_EVIDENCE:
    case VALUE_LISTEN:
        return NULL;
    }
#undef X
    return NULL;
}

#include "launcher/core/open_files.h"

uint64_t open_files_need(const struct open_files *f)
{
    return OPEN_FILES_OWN + (uint64_t)f->nnodes + f->nranks
           + (uint64_t)OPEN_FILES_A_COMMAND * f->ncommands;
}

int open_files_check(const struct open_files *f, uint64_t limit, struct err *e)
{
    uint64_t need = open_files_need(f);
    if (need <= limit)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%u nodes with %llu ranks and %u commands that start them need %llu open "
                   "files here, and the hard limit is %llu (ulimit -Hn); raise it, or use "
                   "fewer nodes",
                   f->nnodes, (unsigned long long)f->nranks, f->ncommands,
                   (unsigned long long)need, (unsigned long long)limit);
}

int open_files_check_node(uint32_t nranks, uint64_t limit, struct err *e)
{
    uint64_t need = OPEN_FILES_OF_NODE + (uint64_t)OPEN_FILES_A_RANK * nranks;
    if (!limit || need <= limit)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%u ranks on one node need %llu open files there, and the hard limit is "
                   "%llu (ulimit -Hn); raise it, or start fewer",
                   nranks, (unsigned long long)need, (unsigned long long)limit);
}

#include "launcher/core/mpi_layout.h"

bool mpi_layout_is_whole(const struct mpi_layout *layout)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < layout->nnodes; i++) {
        if (layout->nodes[i].first_rank != next)
            return false;
        next += layout->nodes[i].nranks;
    }
    return next == layout->world_size;
}

void mpi_layout_mapping(const struct mpi_layout *layout, struct buf *out)
{
    buf_adds(out, "(vector");
    for (uint32_t i = 0, n; i < layout->nnodes; i += n) {
        for (n = 1;
             i + n < layout->nnodes && layout->nodes[i + n].nranks == layout->nodes[i].nranks;)
            n++;
        buf_addf(out, ",(%u,%u,%u)", i, n, layout->nodes[i].nranks);
    }
    buf_addc(out, ')');
}

void mpi_layout_ranks(const struct mpi_node *node, struct buf *out)
{
    for (uint32_t i = 0; i < node->nranks; i++)
        buf_addf(out, "%s%u", i ? "," : "", node->first_rank + i);
}

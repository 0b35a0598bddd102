#include "launcher/io/pmix_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- lists ---- */

static pmix_value_t *add(struct pmix_list *list, const char *key, pmix_data_type_t type)
{
    array_grow(list->items, list->len, list->cap);
    pmix_info_t *info = &list->items[list->len++];
    memset(info, 0, sizeof *info);
    strncpy(info->key, key, sizeof info->key - 1);
    info->value.type = type;
    return &info->value;
}

void pmix_list_text(struct pmix_list *list, const char *key, const char *value)
{
    add(list, key, PMIX_STRING)->data.string = mem_strdup(value);
}

static void add_u32(struct pmix_list *list, const char *key, uint32_t value)
{
    add(list, key, PMIX_UINT32)->data.uint32 = value;
}

static void add_u16(struct pmix_list *list, const char *key, uint32_t value)
{
    add(list, key, PMIX_UINT16)->data.uint16 = (uint16_t)value;
}

void pmix_list_rank(struct pmix_list *list, const char *key, uint32_t value)
{
    add(list, key, PMIX_PROC_RANK)->data.rank = value;
}

static void add_flag(struct pmix_list *list, const char *key, bool value)
{
    add(list, key, PMIX_BOOL)->data.flag = value;
}

/* Takes inner's items. */
static void add_list(struct pmix_list *list, const char *key, struct pmix_list *inner)
{
    pmix_data_array_t *array = mem_alloc(1, sizeof *array);
    array->type = PMIX_INFO;
    array->size = inner->len;
    array->array = inner->items;
    add(list, key, PMIX_DATA_ARRAY)->data.darray = array;
}

void pmix_list_fini(struct pmix_list *list)
{
    for (size_t i = 0; i < list->len; i++) {
        pmix_value_t *value = &list->items[i].value;
        if (value->type == PMIX_STRING)
            free(value->data.string);
        if (value->type != PMIX_DATA_ARRAY)
            continue;
        struct pmix_list inner = {value->data.darray->array, value->data.darray->size, 0};
        pmix_list_fini(&inner);
        free(value->data.darray);
    }
    free(list->items);
    *list = (struct pmix_list){NULL, 0, 0};
}

/* ---- the job ---- */

/* The maps in the form that needs no compression: "raw:" and the names, separated by commas,
 * or the ranks of a node, nodes separated by semicolons. */
static void add_maps(const struct mpi_layout *layout, struct pmix_list *out)
{
    struct buf hosts, ranks;
    buf_init(&hosts, 0);
    buf_init(&ranks, 0);
    for (uint32_t i = 0; i < layout->nnodes; i++) {
        buf_addf(&hosts, "%s%s", i ? "," : "raw:", layout->nodes[i].host);
        buf_adds(&ranks, i ? ";" : "raw:");
        mpi_layout_ranks(&layout->nodes[i], &ranks);
    }
    pmix_list_text(out, PMIX_NODE_MAP, buf_str(&hosts));
    pmix_list_text(out, PMIX_PROC_MAP, buf_str(&ranks));
    buf_fini(&hosts);
    buf_fini(&ranks);
}

static void add_sizes(const struct mpi_world *world, struct pmix_list *out)
{
    const struct mpi_layout *layout = world->layout;
    const struct mpi_node *own = &layout->nodes[world->node];
    struct buf peers;
    buf_init(&peers, 0);
    mpi_layout_ranks(own, &peers);
    add_u32(out, PMIX_UNIV_SIZE, layout->world_size);
    add_u32(out, PMIX_JOB_SIZE, layout->world_size);
    add_u32(out, PMIX_MAX_PROCS, layout->world_size);
    add_u32(out, PMIX_APP_SIZE, layout->world_size);
    add_u32(out, PMIX_JOB_NUM_APPS, 1);
    add_u32(out, PMIX_APPNUM, 0);
    pmix_list_rank(out, PMIX_APPLDR, 0);
    add_u32(out, PMIX_NUM_NODES, layout->nnodes);
    add_u32(out, PMIX_LOCAL_SIZE, own->nranks);
    add_u32(out, PMIX_NODE_SIZE, own->nranks);
    pmix_list_text(out, PMIX_LOCAL_PEERS, buf_str(&peers));
    pmix_list_rank(out, PMIX_LOCALLDR, own->first_rank);
    buf_fini(&peers);
}

static void add_rank(const struct mpi_layout *layout, uint32_t node, uint32_t local_rank,
                     const char *dir, struct pmix_list *out)
{
    struct pmix_list inner = {NULL, 0, 0};
    uint32_t rank = layout->nodes[node].first_rank + local_rank;
    char *own_dir = mem_printf("%s/%u", dir, rank);
    pmix_list_rank(&inner, PMIX_RANK, rank);
    pmix_list_rank(&inner, PMIX_GLOBAL_RANK, rank);
    pmix_list_rank(&inner, PMIX_APP_RANK, rank);
    add_u32(&inner, PMIX_APPNUM, 0);
    add_u32(&inner, PMIX_NODEID, node);
    add_u16(&inner, PMIX_LOCAL_RANK, local_rank);
    add_u16(&inner, PMIX_NODE_RANK, local_rank);
    pmix_list_text(&inner, PMIX_HOSTNAME, layout->nodes[node].host);
    pmix_list_text(&inner, PMIX_PROCDIR, own_dir);
    add_list(out, PMIX_PROC_INFO_ARRAY, &inner);
    free(own_dir);
}

void pmix_job_describe(const struct mpi_world *world, const char *dir, struct pmix_list *out)
{
    const struct mpi_layout *layout = world->layout;
    pmix_list_text(out, PMIX_JOBID, world->name);
    add_sizes(world, out);
    add_maps(layout, out);
    pmix_list_text(out, PMIX_TMPDIR, dir);
    pmix_list_text(out, PMIX_NSDIR, dir);
    add_flag(out, PMIX_TDIR_RMCLEAN, true);
    for (uint32_t node = 0; node < layout->nnodes; node++)
        for (uint32_t i = 0; i < layout->nodes[node].nranks; i++)
            add_rank(layout, node, i, dir, out);
}

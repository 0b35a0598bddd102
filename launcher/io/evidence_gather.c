#include "launcher/io/evidence_gather.h"

#include <string.h>

#include "launcher/core/ambient.h"
#include "launcher/core/node_plan.h"

enum { TEST_BYTES = 1 << 30 }; /* largest buffer of `muster check` unless it is told another */

/* How many devices CUDA shows in the present environment; -1 = unknown. */
static int count_seen(const struct facts *facts)
{
    const struct ambient ambient = node_plan_ambient(facts);
    struct gpu_fault fault = {0};
    struct visible seen;
    if (ambient_enumerate(&ambient, facts->inventory, &seen, &fault) < 0)
        return -1;
    int n = seen.nunits;
    visible_fini(&seen);
    return n;
}

/* How many devices a rank with this CUDA_VISIBLE_DEVICES sees; NULL leaves it as it is. */
static int count_visible(const struct facts *facts, const char *cvd)
{
    int n = cvd && *cvd ? 1 : 0;
    if (!cvd)
        return count_seen(facts);
    for (; *cvd; cvd++)
        n += *cvd == ',';
    return n;
}

static void add_place(const struct facts *facts, const struct device_choice *choice, int rank,
                      struct host_evidence *ev)
{
    struct evidence_place *place = evidence_place_add(ev);
    struct buf uuid;
    int visible = count_visible(facts, choice->ranks[rank].cvd);
    buf_init(&uuid, 0);
    device_choice_fact(choice, facts->inventory, rank, GPU_FACT_UUID, &uuid);
    if (uuid.len)
        evidence_set_text(&place->uuid, buf_str(&uuid));
    buf_fini(&uuid);
    evidence_set(&place->rank, rank);
    evidence_set(&place->ordinal, choice->ranks[rank].dev);
    if (visible >= 0)
        evidence_set(&place->visible, visible);
}

/* The ranks of this host and what each would get, as `muster plan` has them. */
static void gather_places(const struct evidence_request *r, struct host_evidence *ev)
{
    struct device_choice choice;
    struct err e;
    const struct inventory *inv = r->facts->inventory;
    uint32_t slots = r->opt->nproc;
    evidence_set(&ev->bytes, TEST_BYTES);
    evidence_set(&ev->ranks, slots ? slots : 1);
    ev->places.is_known = inv && !inv->ndevices;
    if (!inv || node_plan_resolve(r->opt, r->facts, (int)slots, &choice, &e) < 0)
        return;
    ev->places.is_known = true;
    for (int i = 0; i < choice.nranks; i++)
        if (choice.ranks[i].dev >= 0)
            add_place(r->facts, &choice, i, ev);
    if (choice.nranks > 0)
        evidence_set(&ev->ranks, choice.nranks);
    device_choice_fini(&choice);
}

static void gather_request(const struct evidence_request *r, struct host_evidence *ev)
{
    const struct options *opt = r->opt;
    bool wants_none = opt->gpus && strcmp(opt->gpus, "none") == 0;
    evidence_set_text(&ev->host, r->facts->host);
    if (opt->expect_gpus)
        evidence_set(&ev->expect_gpus, opt->expect_gpus);
    evidence_set(&ev->asks_gpus,
                 !wants_none && (opt->gpus || opt->expect_gpus || ev->gpus.n || ev->buses.n));
    evidence_set(&ev->world, ev->ranks.value * opt->nnodes_max);
    evidence_set_text(&ev->job, opt->job_id ? opt->job_id : "none");
    struct buf nodes;
    buf_init(&nodes, 0);
    options_value_format(opt, OPTION_NNODES, &nodes);
    evidence_set_text(&ev->nodes, buf_str(&nodes));
    buf_fini(&nodes);
}

void evidence_gather(const struct evidence_request *r, struct host_evidence *ev)
{
    gather_places(r, ev);
    evidence_gather_host(r, ev);
    evidence_gather_net(r, ev);
    evidence_gather_gpus(r, ev);
    evidence_gather_bus(r, ev);
    evidence_gather_ib(r, ev);
    evidence_gather_settings(r, ev);
    gather_request(r, ev);
    if (r->is_worker_asked)
        evidence_gather_worker(r, ev);
}

#include "launcher/io/evidence_gather.h"

#include <string.h>

#include "launcher/core/node_plan.h"

enum { TEST_BYTES = 1 << 30 }; /* largest buffer of `muster check` unless it is told another */

/* The ranks of this host and what each would get, as `muster plan` has them. */
static void gather_places(const struct evidence_request *r, struct host_evidence *ev)
{
    struct device_choice choice;
    struct err e;
    uint32_t slots = r->opt->nproc;
    evidence_set(&ev->bytes, TEST_BYTES);
    ev->places.is_known = r->facts->inventory && !r->facts->inventory->ndevices;
    if (!r->facts->inventory
        || node_plan_resolve(r->opt, r->facts, (int)slots, &choice, &e) < 0) {
        evidence_set(&ev->ranks, slots ? slots : 1);
        return;
    }
    ev->places.is_known |= choice.units_known;
    for (int i = 0; choice.units_known && i < choice.nranks; i++) {
        struct buf uuid;
        if (choice.ranks[i].dev < 0)
            continue;
        buf_init(&uuid, 0);
        device_choice_fact(&choice, r->facts->inventory, i, GPU_FACT_UUID, &uuid);
        struct evidence_place *place = evidence_place_add(ev);
        evidence_set(&place->rank, i);
        if (uuid.len)
            evidence_set_text(&place->uuid, buf_str(&uuid));
        evidence_set(&place->ordinal, choice.ranks[i].dev);
        const char *cvd = choice.ranks[i].cvd;
        int64_t visible = cvd && *cvd ? 1 : 0;
        for (; cvd && *cvd; cvd++)
            visible += *cvd == ',';
        if (choice.ranks[i].cvd)
            evidence_set(&place->visible, visible);
        buf_fini(&uuid);
    }
    evidence_set(&ev->ranks, choice.nranks > 0 ? choice.nranks : 1);
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

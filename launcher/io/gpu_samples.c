#include "launcher/io/gpu_samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/io/nvml.h"

enum { GPUS_MAX = 1024, UUID_BYTES = 96 };

struct gpu {
    struct nvml_handle *handle;
    char uuid[UUID_BYTES];
};

struct gpu_samples {
    struct nvml nvml;
    struct gpu *gpus;
    uint32_t n;
};

/* Those that answer: a GPU that has fallen off the bus has no handle. */
static void find_gpus(struct gpu_samples *s)
{
    uint32_t count = 0;
    if (s->nvml.count(&count) != NVML_OK || count > GPUS_MAX)
        return;
    s->gpus = mem_alloc(count, sizeof *s->gpus);
    for (uint32_t i = 0; i < count; i++) {
        struct gpu *gpu = &s->gpus[s->n];
        if (s->nvml.handle(i, &gpu->handle) == NVML_OK
            && s->nvml.uuid(gpu->handle, gpu->uuid, sizeof gpu->uuid) == NVML_OK)
            s->n++;
    }
}

struct gpu_samples *gpu_samples_open(struct err *e)
{
    int rc;
    struct gpu_samples *s = mem_alloc(1, sizeof *s);
    if (nvml_open(getenv("MUSTER_NVML_PATH"), &s->nvml, &rc, e) == 0) {
        find_gpus(s);
        return s;
    }
    free(s);
    return NULL;
}

void gpu_samples_close(struct gpu_samples *s)
{
    if (!s)
        return;
    nvml_close(&s->nvml);
    free(s->gpus);
    free(s);
}

static struct maybe_u64 known(bool is_known, uint64_t value)
{
    return is_known ? (struct maybe_u64){true, value} : (struct maybe_u64){0};
}

static void read_memory(const struct nvml *n, struct nvml_handle *h, struct gpu_sample *out)
{
    struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
    struct nvml_memory v1 = {0};
    bool is_v2 = n->memory_v2 && n->memory_v2(h, &v2) == NVML_OK;
    bool is_known = is_v2 || (n->memory && n->memory(h, &v1) == NVML_OK);
    out->used = known(is_known, is_v2 ? v2.used : v1.used);
    out->total = known(is_known, is_v2 ? v2.total : v1.total);
}

static void read_one(const struct nvml *n, struct nvml_handle *h, struct gpu_sample *out)
{
    struct nvml_utilization util = {0};
    uint32_t power = 0, temp = 0;
    unsigned long long events = 0;
    bool has_util = n->utilization && n->utilization(h, &util) == NVML_OK;
    bool has_power = n->power && n->power(h, &power) == NVML_OK;
    bool has_temp = n->temperature && n->temperature(h, NVML_TEMPERATURE_GPU, &temp) == NVML_OK;
    bool has_events = n->clock_events && n->clock_events(h, &events) == NVML_OK;
    out->util = known(has_util, util.gpu);
    out->power_mw = known(has_power, power);
    out->temp_c = known(has_temp, temp);
    out->clock_events = known(has_events, events);
    read_memory(n, h, out);
}

void gpu_samples_read(const struct gpu_samples *s, const char *uuid, struct gpu_sample *out)
{
    *out = (struct gpu_sample){0};
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->gpus[i].uuid, uuid) == 0)
            read_one(&s->nvml, s->gpus[i].handle, out);
}

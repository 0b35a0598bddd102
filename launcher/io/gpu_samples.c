#include "launcher/io/gpu_samples.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "launcher/io/nvml.h"

/* In the longest window a link of 128 GB/s carries less than NVML's counters hold. */
enum {
    GPUS_MAX = 1024,
    UUID_BYTES = 96,
    PCIE_WINDOW_NS = 20 * 1000 * 1000,
    PCIE_WINDOW_MAX_NS = 33 * 1000 * 1000
};

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
    uint32_t power = 0, temp = 0, sm = 0;
    unsigned long long events = 0;
    bool has_util = n->utilization && n->utilization(h, &util) == NVML_OK;
    bool has_power = n->power && n->power(h, &power) == NVML_OK;
    bool has_temp = n->temperature && n->temperature(h, NVML_TEMPERATURE_GPU, &temp) == NVML_OK;
    bool has_clock = n->clock && n->clock(h, NVML_CLOCK_SM, &sm) == NVML_OK;
    bool has_events = n->clock_events && n->clock_events(h, &events) == NVML_OK;
    out->util = known(has_util, util.gpu);
    out->power_mw = known(has_power, power);
    out->temp_c = known(has_temp, temp);
    out->sm_mhz = known(has_clock, sm);
    out->clock_events = known(has_events, events);
    read_memory(n, h, out);
}

static struct nvml_handle *find(const struct gpu_samples *s, const char *uuid)
{
    for (uint32_t i = 0; uuid && i < s->n; i++)
        if (strcmp(s->gpus[i].uuid, uuid) == 0)
            return s->gpus[i].handle;
    return NULL;
}

/* ---- traffic ---- */

static void read_nvlink(const struct nvml *n, struct nvml_handle *h, struct gpu_sample *out)
{
    struct nvml_field f[] = {{.id = NVML_FIELD_NVLINK_TX_KIB, .scope = NVML_SCOPE_ALL_LINKS},
                             {.id = NVML_FIELD_NVLINK_RX_KIB, .scope = NVML_SCOPE_ALL_LINKS}};
    if (!n->fields || n->fields(h, 2, f) != NVML_OK)
        return;
    out->nvlink_tx =
        known(f[0].status == NVML_OK && f[0].type == NVML_VALUE_U64, f[0].value.u64 * 1024);
    out->nvlink_rx =
        known(f[1].status == NVML_OK && f[1].type == NVML_VALUE_U64, f[1].value.u64 * 1024);
}

/* What PCI Express has carried, modulo 4 GiB, at one moment. */
struct pcie {
    bool is_known;
    uint64_t at_ns;
    uint32_t tx, rx;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct pcie read_pcie(const struct nvml *n, struct nvml_handle *h)
{
    struct nvml_field f[] = {{.id = NVML_FIELD_PCIE_TX}, {.id = NVML_FIELD_PCIE_RX}};
    const uint64_t at_ns = now_ns();
    if (!h || !n->fields || n->fields(h, 2, f) != NVML_OK || f[0].status != NVML_OK
        || f[1].status != NVML_OK || f[0].type != NVML_VALUE_U32 || f[1].type != NVML_VALUE_U32)
        return (struct pcie){0};
    return (struct pcie){true, at_ns, f[0].value.u32, f[1].value.u32};
}

static void pause_window(void)
{
    const struct timespec window = {0, PCIE_WINDOW_NS};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &window, NULL);
}

static void fill_pcie(const struct pcie *a, const struct pcie *b, struct gpu_sample *out)
{
    if (!a->is_known || !b->is_known || b->at_ns - a->at_ns < PCIE_WINDOW_NS / 2
        || b->at_ns - a->at_ns > PCIE_WINDOW_MAX_NS)
        return;
    const uint64_t second = 1000000000, ns = b->at_ns - a->at_ns;
    out->pcie_tx_rate = known(true, (uint32_t)(b->tx - a->tx) * second / ns);
    out->pcie_rx_rate = known(true, (uint32_t)(b->rx - a->rx) * second / ns);
}

/* In one go for all: the window of the first may not be much longer than that of the last. */
static void watch_pcie(const struct gpu_samples *s, struct nvml_handle *const *handles,
                       size_t n, struct gpu_sample *out)
{
    struct pcie *begins = mem_alloc(n, sizeof *begins);
    bool is_known = false;
    for (size_t i = 0; i < n; i++) {
        begins[i] = read_pcie(&s->nvml, handles[i]);
        is_known = is_known || begins[i].is_known;
    }
    if (is_known)
        pause_window();
    for (size_t i = 0; is_known && i < n; i++) {
        const struct pcie end = read_pcie(&s->nvml, handles[i]);
        fill_pcie(&begins[i], &end, &out[i]);
    }
    free(begins);
}

void gpu_samples_take(const struct gpu_samples *s, const char *const *uuids, size_t n,
                      struct gpu_sample *out)
{
    struct nvml_handle **handles = mem_alloc(n, sizeof(struct nvml_handle *));
    for (size_t i = 0; i < n; i++) {
        handles[i] = find(s, uuids[i]);
        out[i] = (struct gpu_sample){0};
        if (!handles[i])
            continue;
        read_one(&s->nvml, handles[i], &out[i]);
        read_nvlink(&s->nvml, handles[i], &out[i]);
    }
    watch_pcie(s, handles, n, out);
    free(handles);
}

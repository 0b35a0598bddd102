#include "launcher/core/host_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_name.h"

void host_list_init(struct host_list *list, const char *source, bool is_option)
{
    *list = (struct host_list){.source = mem_strdup(source), .is_option = is_option};
}

void host_list_fini(struct host_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->hosts[i].name);
        free(list->hosts[i].chosen.bits);
    }
    for (size_t i = 0; i < list->nkept; i++)
        free(list->kept[i]);
    free(list->hosts);
    free(list->kept);
    free(list->index);
    free(list->source);
    *list = (struct host_list){0};
}

/* FNV-1a of the name in lower case. */
static uint32_t hash_name(const char *name)
{
    uint32_t h = 2166136261U;
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        h = (h ^ (c >= 'A' && c <= 'Z' ? c | 0x20U : c)) * 16777619U;
    }
    return h;
}

/* Where name stands in the index, or the free place where it would. */
static uint32_t *find_place(const struct host_list *list, const char *name)
{
    size_t mask = list->nindex - 1, at = hash_name(name) & mask;
    while (list->index[at] && !host_name_eq(list->hosts[list->index[at] - 1].name, name))
        at = (at + 1) & mask;
    return &list->index[at];
}

static void rebuild_index(struct host_list *list, size_t nindex)
{
    free(list->index);
    list->nindex = nindex;
    list->index = mem_alloc(nindex, sizeof *list->index);
    for (size_t i = 0; i < list->n; i++)
        *find_place(list, list->hosts[i].name) = (uint32_t)i + 1;
}

struct host *host_list_find(const struct host_list *list, const char *name)
{
    uint32_t place = list->nindex ? *find_place(list, name) : 0;
    return place ? &list->hosts[place - 1] : NULL;
}

struct host *host_list_add(struct host_list *list, const char *name, const struct host *like)
{
    if (2 * (list->n + 1) > list->nindex)
        rebuild_index(list, list->nindex ? 2 * list->nindex : 64);
    array_grow(list->hosts, list->n, list->cap);
    struct host *host = &list->hosts[list->n++];
    *host = *like;
    host->name = mem_strdup(name);
    *find_place(list, name) = (uint32_t)list->n;
    return host;
}

void host_list_keep_only(struct host_list *list, const bool *is_kept)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (is_kept[i]) {
            list->hosts[n++] = list->hosts[i];
        } else {
            free(list->hosts[i].name);
            free(list->hosts[i].chosen.bits);
        }
    }
    list->n = n;
    if (list->nindex)
        rebuild_index(list, list->nindex);
}

void *host_list_own(struct host_list *list, void *p)
{
    array_grow(list->kept, list->nkept, list->kept_cap);
    list->kept[list->nkept++] = p;
    return p;
}

char *host_list_dup(struct host_list *list, struct str s)
{
    char *copy = mem_alloc(s.n + 1, 1);
    memcpy(copy, s.p, s.n);
    return host_list_own(list, copy);
}

static struct host_source source_of(const struct host_list *list, struct host_fault *fault,
                                    struct err *e)
{
    return (struct host_source){
        .name = list->source, .is_option = list->is_option, .fault = fault, .e = e};
}

int host_list_set_nproc(struct host_list *list, uint32_t nproc, struct host_fault *fault,
                        struct err *e)
{
    struct host_source src = source_of(list, fault, e);
    for (size_t i = 0; i < list->n; i++) {
        struct host *host = &list->hosts[i];
        if (host->max_slots && nproc > host->max_slots)
            return host_fail_at(&src, HOST_E_CONFLICT, host->line, host->col,
                                "%.80s has max_slots=%u, but -n asks for %u workers on each "
                                "host; write -n %u or raise max_slots",
                                host->name, host->max_slots, nproc, host->max_slots);
        host->slots = nproc;
    }
    return 0;
}

void host_format(const struct host *host, struct buf *out)
{
    buf_adds(out, host->name);
    if (host->slots)
        buf_addf(out, " slots=%u", host->slots);
    else
        buf_adds(out, " slots=auto");
    if (host->max_slots)
        buf_addf(out, " max_slots=%u", host->max_slots);
    if (host->user)
        buf_addf(out, " user=%s", host->user);
    if (host->port)
        buf_addf(out, " port=%u", host->port);
    if (host->gpus)
        buf_addf(out, " gpus=%s", host->gpus);
    if (host->addr)
        buf_addf(out, " addr=%s", host->addr);
    if (host->iface)
        buf_addf(out, " iface=%s", host->iface);
    for (const char *const *env = host->env; env && *env; env++)
        buf_addf(out, " env.%s", *env);
}

static bool has_bit(const struct host_slots *slots, uint32_t k)
{
    return slots->bits[k / 64] >> (k % 64) & 1;
}

static bool has_slot(const struct host_slots *slots, uint32_t k)
{
    return k < HOST_SLOTS_MAX && (!slots->bits || has_bit(slots, k) != slots->is_except);
}

void host_slots_format(const struct host *host, struct buf *out)
{
    const struct host_slots *chosen = &host->chosen;
    if (!chosen->bits && !host->slots) {
        buf_addc(out, '*');
        return;
    }
    if (chosen->bits && chosen->is_except)
        buf_addc(out, '^');
    const char *comma = "";
    for (uint32_t k = 0; k < HOST_SLOTS_MAX; k++) {
        if (chosen->bits ? !has_bit(chosen, k) : k >= host->slots)
            continue;
        buf_addf(out, "%s%u", comma, k);
        comma = ",";
    }
}

int host_workers(const struct host_list *list, const struct host *host, uint32_t found,
                 uint32_t *out, struct host_fault *fault, struct err *e)
{
    struct host_source src = source_of(list, fault, e);
    uint32_t slots = host->slots ? host->slots : found, n = 0;
    if (slots > HOST_SLOTS_MAX)
        slots = HOST_SLOTS_MAX;
    if (!slots)
        return host_fail_at(
            &src, HOST_E_EMPTY, host->line, host->col,
            "%.80s has no GPU to count workers by; write slots=N there, or -n N", host->name);
    for (uint32_t k = 0; k < HOST_SLOTS_MAX; k++) {
        bool is_named = host->chosen.bits && has_bit(&host->chosen, k);
        if (is_named && k >= slots)
            return host_fail_at(&src, HOST_E_NOSLOT, host->line, host->col,
                                "slot %u of %.80s does not exist; it has slots 0..%u", k,
                                host->name, slots - 1);
        n += k < slots && has_slot(&host->chosen, k);
    }
    if (!n)
        return host_fail_at(&src, HOST_E_EMPTY, host->line, host->col,
                            "no slot of %.80s is left after --exclude; exclude the whole host",
                            host->name);
    *out = n;
    return 0;
}

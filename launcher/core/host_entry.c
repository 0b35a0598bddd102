#include "launcher/core/host_entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/gpu_spec.h"
#include "launcher/core/host_text.h"

enum { GPUS_MAX = 4096 }; /* bytes of one host's joined gpus= */

static struct str behind(struct str word, const char *at)
{
    return (struct str){at + 1, (size_t)(word.p + word.n - at) - 1};
}

static int read_user(const struct host_source *src, struct str *word, struct host_list *list,
                     struct host_entry *out)
{
    const char *at = word->n ? memchr(word->p, '@', word->n) : NULL;
    if (!at)
        return 0;
    struct str user = {word->p, (size_t)(at - word->p)};
    const char *fault = host_user_fault(user);
    if (fault)
        return host_fail(src, HOST_E_USER, user.p, "\"%.*s\" cannot be a user: %s",
                         (int)(user.n < 60 ? user.n : 60), user.p, fault);
    out->host.user = host_list_dup(list, user);
    out->has[HOST_KEY_USER] = true;
    *word = behind(*word, at);
    return 0;
}

static int read_count(const struct host_source *src, struct str word, const char *colon,
                      struct host_entry *out)
{
    struct str number = behind(word, colon);
    const char *second = number.n ? memchr(number.p, ':', number.n) : NULL;
    if (second)
        return host_fail(
            src, HOST_E_SYNTAX, second,
            "a second ':' should not be here; an IPv6 address is written without a "
            "zone, and with a number as [fd00::2]:4");
    out->has[HOST_KEY_SLOTS] = true;
    return host_number(src, number, HOST_SLOTS_MAX, "slots", &out->host.slots);
}

int host_entry_parse(const struct host_source *src, struct str word, struct host_list *list,
                     struct host_entry *out)
{
    *out = (struct host_entry){0};
    if (read_user(src, &word, list, out) != 0)
        return -1;
    const char *colon = host_part(word, &out->hosts);
    if (host_names_parse(src, out->hosts, &out->names) != 0)
        return -1;
    if (colon && read_count(src, word, colon, out) != 0) {
        host_entry_fini(out);
        return -1;
    }
    out->host.line = src->number;
    out->host.col = (uint32_t)(out->hosts.p - src->line.p) + 1;
    return 0;
}

void host_entry_fini(struct host_entry *entry)
{
    host_names_fini(&entry->names);
    for (size_t i = 0; i < entry->nenv; i++)
        free(entry->env[i]);
    free(entry->env);
}

/* ---- gpus= ---- */

static int check_item(const struct host_source *src, struct str item, struct host_gpus *state)
{
    struct err e = {ERR_OK, 0, ""};
    struct gpu_spec spec;
    char *text = mem_printf("%.*s", STR_ARG(item));
    int rc = gpu_spec_parse(text, &spec, &e);
    free(text);
    if (rc != 0)
        return host_fail(src, HOST_E_SYNTAX, item.p, "gpus%s",
                         str_starts(str_from(e.text), "--gpus") ? e.text + strlen("--gpus")
                                                                : e.text);
    enum gpu_item_kind kind = spec.items[0].kind;
    bool adds = !spec.items[0].removes;
    bool is_alone = kind == GPU_ITEM_NONE || kind == GPU_ITEM_AUTO || kind == GPU_ITEM_FIRST;
    gpu_spec_fini(&spec);
    if (adds && (state->is_alone || (is_alone && state->adds)))
        return host_fail(src, HOST_E_SYNTAX, item.p,
                         "none, auto and n:N choose by themselves and cannot be joined with "
                         "other GPUs; write one of them alone");
    state->adds |= adds;
    state->is_alone |= is_alone;
    return 0;
}

int host_gpus_check(const struct host_source *src, struct str value, struct host_gpus *state)
{
    struct str item;
    while (str_split(&value, ',', &item)) {
        if (!item.n)
            return host_fail(src, HOST_E_SYNTAX, item.p,
                             "an item of gpus= is missing; write a list without blanks such as "
                             "0,1, or all or none");
        if (check_item(src, item, state) != 0)
            return -1;
    }
    return 0;
}

/* ---- into the list ---- */

static int join_gpus(const struct host_source *src, const struct host_entry *entry,
                     struct host *host, struct host_list *list)
{
    if (host_gpus_check(src, entry->value_gpus, &host->gpus_state) != 0)
        return -1;
    if (strlen(host->gpus) + entry->value_gpus.n > GPUS_MAX)
        return host_fail(src, HOST_E_RANGE, entry->value_gpus.p,
                         "the gpus= of %.80s are longer than %d characters in all", host->name,
                         GPUS_MAX);
    host->gpus =
        host_list_own(list, mem_printf("%s,%.*s", host->gpus, STR_ARG(entry->value_gpus)));
    return 0;
}

static int join(const struct host_source *src, const struct host_entry *entry,
                struct host *host, struct host_list *list)
{
    enum host_shape shape = entry->host.shape;
    if (shape == HOST_GPUS && host->shape == HOST_GPUS)
        return join_gpus(src, entry, host, list);
    if (shape != HOST_BARE || host->shape != HOST_BARE) {
        const char *unit = src->is_option ? "column" : "line";
        return host_fail(src, HOST_E_DUPHOST, entry->hosts.p,
                         "%.80s already stands in %s %u; name it once (only bare lines add up, "
                         "and lines with nothing but gpus= are joined)",
                         host->name, unit, src->is_option ? host->col : host->line);
    }
    if (host->slots == HOST_SLOTS_MAX)
        return host_fail(src, HOST_E_RANGE, entry->hosts.p,
                         "%.80s stands here more than %d times; a host has at most %d slots",
                         host->name, HOST_SLOTS_MAX, HOST_SLOTS_MAX);
    host->slots = host->slots ? host->slots + 1 : 2;
    return 0;
}

static int check_line(const struct host_source *src, struct host_entry *entry)
{
    struct host *host = &entry->host;
    if (host->max_slots && !host->slots)
        host->slots = host->max_slots;
    if (host->max_slots && host->max_slots < host->slots)
        return host_fail(src, HOST_E_RANGE, entry->value_max_slots.p,
                         "max_slots=%u is below slots=%u; the limit cannot be smaller",
                         host->max_slots, host->slots);
    if (host->addr && entry->names.count > 1)
        return host_fail(src, HOST_E_CONFLICT, entry->key_addr.p,
                         "one addr= cannot belong to %u hosts; give each its own line",
                         entry->names.count);
    return 0;
}

static enum host_shape shape_of(const struct host_entry *entry)
{
    int given = 0;
    for (int i = 0; i < HOST_KEY_COUNT; i++)
        given += entry->has[i];
    return !given ? HOST_BARE : given == 1 && entry->has[HOST_KEY_GPUS] ? HOST_GPUS : HOST_FULL;
}

/* Hands the variables over to the list. */
static void give_env(struct host_entry *entry, struct host_list *list)
{
    if (!entry->nenv)
        return;
    array_grow(entry->env, entry->nenv, entry->env_cap);
    entry->env[entry->nenv] = NULL;
    for (size_t i = 0; i < entry->nenv; i++)
        host_list_own(list, entry->env[i]);
    entry->host.env = host_list_own(list, entry->env);
    entry->env = NULL;
    entry->nenv = 0;
}

int host_entry_add(const struct host_source *src, struct host_entry *entry,
                   struct host_list *list)
{
    char name[HOST_NAME_SIZE];
    if (check_line(src, entry) != 0)
        return -1;
    entry->host.shape = shape_of(entry);
    give_env(entry, list);
    while (host_names_next(&entry->names, name)) {
        struct host *host = host_list_find(list, name);
        if (host && join(src, entry, host, list) != 0)
            return -1;
        if (!host && list->n == HOSTS_MAX)
            return host_fail(src, HOST_E_TOOMANY, entry->hosts.p,
                             "with this the list has more than %d hosts", HOSTS_MAX);
        if (!host)
            host_list_add(list, name, &entry->host);
    }
    return 0;
}

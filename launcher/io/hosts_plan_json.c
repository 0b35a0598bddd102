#include "launcher/io/hosts_plan_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/io/json_text.h"
#include "launcher/io/plan_json.h"

static json_t *number(uint32_t n)
{
    return n == HOSTS_UNKNOWN ? json_null() : json_integer(n);
}

/* What a formatter of hosts_plan.h appends; null if nothing. */
static json_t *from(const struct hosts_view *v, const struct host *host,
                    void (*format)(const struct hosts_view *v, const struct host *host,
                                   struct buf *out))
{
    struct buf text;
    buf_init(&text, 0);
    format(v, host, &text);
    json_t *j = text.len ? json_text(buf_str(&text)) : json_null();
    buf_fini(&text);
    return j;
}

static json_t *slots(const struct host *host)
{
    struct buf text;
    if (!host->chosen.bits)
        return json_null();
    buf_init(&text, 0);
    host_slots_format(host, &text);
    json_t *j = json_text(buf_str(&text));
    buf_fini(&text);
    return j;
}

static json_t *texts(const char *const *list)
{
    json_t *a = json_array();
    for (; list && *list; list++)
        json_array_append_new(a, json_text(*list));
    return a;
}

static json_t *node(const struct hosts_view *v, const struct hosts_row *rows, size_t i)
{
    const struct host *host = &v->hosts->hosts[i];
    const char *gpus = hosts_plan_gpus(v, host);
    return json_pack(
        "{s:i, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "node",
        (int)i, "host", json_text(host->name), "is_head", v->is_here[i], "first_rank",
        number(rows[i].first_rank), "workers", number(rows[i].nworkers), "workers_from",
        from(v, host, hosts_plan_slots_from), "slots", slots(host), "gpus",
        gpus ? json_text(gpus) : json_null(), "gpus_from", from(v, host, hosts_plan_gpus_from),
        "user", host->user ? json_text(host->user) : json_null(), "port", (int)host->port,
        "addr", host->addr ? json_text(host->addr) : json_null(), "iface",
        host->iface ? json_text(host->iface) : json_null(), "environment", texts(host->env));
}

static json_t *heads(const struct hosts_view *v)
{
    json_t *a = json_array();
    for (size_t i = 0; i < v->heads.len; i++)
        json_array_append_new(a, json_text(v->heads.items[i].host));
    return a;
}

static json_t *forwarded(const struct hosts_view *v)
{
    json_t *a = json_array();
    for (size_t i = 0; i < v->nforwarded; i++)
        json_array_append_new(a, json_stringn(v->forwarded[i], strcspn(v->forwarded[i], "=")));
    return a;
}

static json_t *warnings(const struct hosts_view *v)
{
    json_t *a = json_array();
    struct buf text;
    if (!hosts_plan_is_head_outside(v))
        return a;
    buf_init(&text, 0);
    hosts_plan_warning(v, &text);
    json_array_append_new(
        a, json_pack("{s:s, s:o}", "class", "W_HEAD", "text", json_text(buf_str(&text))));
    buf_fini(&text);
    return a;
}

void hosts_plan_json(const struct hosts_view *v, const struct hosts_row *rows, uint32_t world,
                     struct buf *out)
{
    json_t *nodes = json_array();
    for (size_t i = 0; i < v->hosts->n; i++)
        json_array_append_new(nodes, node(v, rows, i));
    json_t *root = json_pack(
        "{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "muster-hosts-plan/1",
        "world_size", number(world), "source", json_text(v->hosts->source), "engine", v->engine,
        "argv", texts((const char *const *)v->opt->program), "master_addr", heads(v),
        "master_port", v->opt->master_port ? json_integer(v->opt->master_port) : json_null(),
        "nodes", nodes, "forwarded", forwarded(v), "warnings", warnings(v));
    json_object_set_new(root, "options", plan_json_options(v->opt));
    char *json = json_dumps(root, JSON_INDENT(2));
    buf_adds(out, json ? json : "{}");
    buf_addc(out, '\n');
    free(json);
    json_decref(root);
}

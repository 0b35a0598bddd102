#include "launcher/core/hosts_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/plan_text.h"

/* ---- the layout ---- */

int hosts_plan_rows(const struct host_list *hosts, struct hosts_row *out, uint32_t *world,
                    struct err *e)
{
    uint32_t next = 0;
    for (size_t i = 0; i < hosts->n; i++) {
        const struct host *host = &hosts->hosts[i];
        out[i] = (struct hosts_row){next, HOSTS_UNKNOWN};
        if (host->slots && host_workers(hosts, host, 0, &out[i].nworkers, NULL, e) < 0)
            return -1;
        if (!host->slots || next == HOSTS_UNKNOWN)
            next = HOSTS_UNKNOWN;
        else
            next += out[i].nworkers; /* at most HOSTS_MAX * HOST_SLOTS_MAX = 2^28 */
    }
    *world = next;
    return 0;
}

bool hosts_plan_is_head_outside(const struct hosts_view *v)
{
    for (size_t i = 0; i < v->hosts->n; i++)
        if (v->is_here[i])
            return false;
    return true;
}

void hosts_plan_warning(const struct hosts_view *v, struct buf *out)
{
    buf_addf(
        out,
        "this machine (%s), whose store is MASTER_ADDR, is none of the hosts: programs whose "
        "rank 0 listens at MASTER_ADDR itself cannot work; start on a host of the list for "
        "those",
        v->head);
}

/* ---- where values came from ---- */

static void add_line(const struct hosts_view *v, const struct host *host, struct buf *out)
{
    buf_adds(out, v->hosts->source);
    if (!v->hosts->is_option)
        buf_addf(out, ":%u", host->line);
}

void hosts_plan_slots_from(const struct hosts_view *v, const struct host *host, struct buf *out)
{
    if (v->opt->nproc)
        options_origin_format(v->opt, OPTION_NPROC, out);
    else if (host->slots)
        add_line(v, host, out);
}

const char *hosts_plan_gpus(const struct hosts_view *v, const struct host *host)
{
    return v->opt->gpus ? v->opt->gpus : host->gpus;
}

void hosts_plan_gpus_from(const struct hosts_view *v, const struct host *host, struct buf *out)
{
    if (v->opt->gpus)
        options_origin_format(v->opt, OPTION_GPUS, out);
    else if (host->gpus)
        add_line(v, host, out);
}

/* ---- the table ---- */

enum column { NODE, HOST, RANKS, LOCAL, WORKERS_FROM, GPUS, ADDRESS, NCOLUMNS };

static const char *const titles[NCOLUMNS] = {
    "node", "host", "ranks", "local", "workers from", "GPUs", "address for others"};

static void add_span(uint32_t first, uint32_t n, struct buf *out)
{
    buf_addf(out, n == 1 ? "%u" : "%u-%u", first, first + n - 1);
}

static void add_decided(const struct host *host, struct buf *out)
{
    buf_addf(out, "decided on %s", host->name);
}

static void add_local(const struct host *host, const struct hosts_row *row, struct buf *out)
{
    if (host->chosen.bits)
        buf_adds(out, "slots ");
    if (host->chosen.bits)
        host_slots_format(host, out);
    else if (row->nworkers != HOSTS_UNKNOWN)
        add_span(0, row->nworkers, out);
    else
        buf_addc(out, '-');
}

static void add_ranks(const struct hosts_view *v, const struct hosts_row *rows, size_t i,
                      struct buf *out)
{
    const struct hosts_row *row = &rows[i];
    if (row->first_rank != HOSTS_UNKNOWN && row->nworkers != HOSTS_UNKNOWN) {
        add_span(row->first_rank, row->nworkers, out);
    } else if (row->first_rank != HOSTS_UNKNOWN) {
        buf_addf(out, "from %u on", row->first_rank);
    } else if (row->nworkers != HOSTS_UNKNOWN) {
        buf_addf(out, "%u, after %s", row->nworkers, v->hosts->hosts[i - 1].name);
    } else {
        buf_addf(out, "after %s", v->hosts->hosts[i - 1].name);
    }
}

static void add_gpus(const struct hosts_view *v, const struct host *host, struct buf *out)
{
    const char *gpus = hosts_plan_gpus(v, host);
    if (!gpus) {
        add_decided(host, out);
        return;
    }
    plan_text_value(gpus, out);
    buf_adds(out, " (");
    hosts_plan_gpus_from(v, host, out);
    buf_addc(out, ')');
}

static void add_address(const struct host *host, struct buf *out)
{
    if (host->addr)
        buf_addf(out, "addr=%s", host->addr);
    if (host->iface)
        buf_addf(out, "%siface=%s", host->addr ? " " : "", host->iface);
    if (!host->addr && !host->iface)
        buf_addc(out, '-');
}

static void add_cell(const struct hosts_view *v, const struct hosts_row *rows, size_t i,
                     enum column column, struct buf *out)
{
    const struct host *host = &v->hosts->hosts[i];
    switch (column) {
    case NODE:
        buf_addf(out, "%zu", i);
        return;
    case HOST:
        buf_addf(out, "%s%s", host->name, v->is_here[i] ? " (this one)" : "");
        return;
    case RANKS:
        add_ranks(v, rows, i, out);
        return;
    case LOCAL:
        add_local(host, &rows[i], out);
        return;
    case WORKERS_FROM:
        hosts_plan_slots_from(v, host, out);
        if (!v->opt->nproc && !host->slots)
            add_decided(host, out);
        return;
    case GPUS:
        add_gpus(v, host, out);
        return;
    case ADDRESS:
        add_address(host, out);
        return;
    case NCOLUMNS:
        return;
    }
}

static bool has_addresses(const struct hosts_view *v)
{
    for (size_t i = 0; i < v->hosts->n; i++)
        if (v->hosts->hosts[i].addr || v->hosts->hosts[i].iface)
            return true;
    return false;
}

/* The title, or what stands in row i - 1 of the table. */
static void add_line_cell(const struct hosts_view *v, const struct hosts_row *rows, size_t i,
                          enum column column, struct buf *out)
{
    if (i)
        add_cell(v, rows, i - 1, column, out);
    else
        buf_adds(out, titles[column]);
}

static void add_table(const struct hosts_view *v, const struct hosts_row *rows, struct buf *out)
{
    int ncolumns = has_addresses(v) ? NCOLUMNS : ADDRESS;
    size_t widths[NCOLUMNS] = {0};
    struct buf cell;
    buf_init(&cell, 0);
    for (int c = 0; c < ncolumns - 1; c++) /* the last one has room */
        for (size_t i = 0; i <= v->hosts->n; i++) {
            buf_reset(&cell);
            add_line_cell(v, rows, i, (enum column)c, &cell);
            widths[c] = cell.len > widths[c] ? cell.len : widths[c];
        }
    for (size_t i = 0; i <= v->hosts->n; i++)
        for (int c = 0; c < ncolumns; c++) {
            buf_reset(&cell);
            add_line_cell(v, rows, i, (enum column)c, &cell);
            buf_addf(out, "%-*s%s", (int)widths[c], buf_str(&cell),
                     c == ncolumns - 1 ? "\n" : "  ");
        }
    buf_fini(&cell);
}

/* ---- the whole ---- */

static void add_head(const struct hosts_view *v, uint32_t world, struct buf *out)
{
    size_t n = v->hosts->n;
    if (world == HOSTS_UNKNOWN)
        buf_adds(out, "workers");
    else
        buf_addf(out, "%u worker%s", world, world == 1 ? "" : "s");
    buf_addf(out, " on %zu host%s of %s, agents by %s; nothing was started, no host asked\n\n",
             n, n == 1 ? "" : "s", v->hosts->source, v->engine);
    buf_adds(out, "program   ");
    plan_text_words(v->opt->program, out);
    buf_adds(out, "store     here, ");
    if (v->opt->master_port)
        buf_addf(out, "port %u", v->opt->master_port);
    else
        buf_adds(out, "any free port");
    buf_adds(out, "; MASTER_ADDR is the first of these that every host reaches:\n          ");
    struct plan_wrap w = plan_wrap_begin(out, 10, 10);
    for (size_t i = 0; i < v->heads.len; i++)
        plan_wrap_add(&w, v->heads.items[i].host);
    buf_adds(out, "\n\n");
}

static void add_forwarded(const struct hosts_view *v, struct buf *out)
{
    buf_adds(out, "\nvariables that go along (values with -v)\n  ");
    struct plan_wrap w = plan_wrap_begin(out, 2, 2);
    for (size_t i = 0; i < v->nforwarded; i++) {
        const char *entry = v->forwarded[i];
        char *name = mem_printf("%.*s", (int)strcspn(entry, "="), entry);
        if (v->opt->is_verbose)
            buf_adds(out, i ? "\n  " : "");
        if (v->opt->is_verbose)
            plan_text_value(entry, out);
        else
            plan_wrap_add(&w, name);
        free(name);
    }
    buf_addc(out, '\n');
    for (size_t i = 0; i < v->hosts->n; i++)
        for (const char *const *env = v->hosts->hosts[i].env; env && *env; env++) {
            buf_addf(out, "  on %s: ", v->hosts->hosts[i].name);
            plan_text_value(*env, out);
            buf_addc(out, '\n');
        }
}

void hosts_plan_render(const struct hosts_view *v, const struct hosts_row *rows, uint32_t world,
                       struct buf *out)
{
    add_head(v, world, out);
    add_table(v, rows, out);
    buf_adds(out, "Each host decides on its GPUs and cores, and looks for program and folders, "
                  "when it joins.\n");
    add_forwarded(v, out);
    plan_text_origins(v->opt, out);
}

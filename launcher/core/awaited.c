#include "launcher/core/awaited.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_span.h"

enum { GROUPS_MAX = 8 };

void awaited_set(struct awaited *a, uint32_t n, uint32_t node, const char *host,
                 const char *state)
{
    if (node >= n)
        return;
    if (!a->list) {
        a->list = mem_alloc(n, sizeof *a->list);
        a->n = n;
    }
    free(a->list[node].host);
    free(a->list[node].state);
    a->list[node] = (struct awaited_node){mem_strdup(host), mem_strdup(state)};
}

const char *awaited_host(const struct awaited *a, uint32_t node)
{
    return node < a->n ? a->list[node].host : NULL;
}

static bool is_awaited(const struct awaited *a, const struct members *m, uint32_t node)
{
    return node < m->n && m->list[node].status == MEMBER_AWAITED && a->list[node].host;
}

/* Adds all that are as far as the first of them. */
static void add_group(const struct awaited *a, const struct members *m, uint32_t first,
                      bool *is_said, struct buf *out)
{
    struct host_span span = {0};
    for (uint32_t i = first; i < a->n; i++) {
        if (is_said[i] || !is_awaited(a, m, i)
            || strcmp(a->list[i].state, a->list[first].state) != 0)
            continue;
        is_said[i] = true;
        host_span_add(&span, a->list[i].host, out);
    }
    host_span_end(&span, out);
    buf_addf(out, " (%s)", a->list[first].state);
}

void awaited_format(const struct awaited *a, const struct members *m, struct buf *out)
{
    bool *is_said = mem_alloc(a->n + 1, sizeof *is_said);
    unsigned ngroups = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (is_said[i] || !is_awaited(a, m, i))
            continue;
        buf_adds(out, ngroups ? ", " : ": ");
        if (ngroups++ == GROUPS_MAX) {
            buf_adds(out, "...");
            break;
        }
        add_group(a, m, i, is_said, out);
    }
    free(is_said);
}

void awaited_fini(struct awaited *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        free(a->list[i].host);
        free(a->list[i].state);
    }
    free(a->list);
    *a = (struct awaited){0};
}

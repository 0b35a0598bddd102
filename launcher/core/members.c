#include "launcher/core/members.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/node_order.h"
#include "rendezvous/addr.h"

void members_init(struct members *m, uint32_t n)
{
    *m = (struct members){.n = n, .capacity = n};
    m->list = mem_alloc(n, sizeof *m->list);
    for (uint32_t i = 0; i < n; i++)
        m->list[i].link = LINK_NONE;
}

static void free_texts(struct member *member)
{
    free(member->host);
    free(member->via);
    free(member->reach);
}

void members_fini(struct members *m)
{
    for (uint32_t i = 0; i < m->capacity; i++) {
        free_texts(&m->list[i]);
    }
    free(m->list);
    free(m->by_link);
    *m = (struct members){0};
}

uint32_t members_rank(const struct members *m, const struct member *member)
{
    return (uint32_t)(member - m->list);
}

struct member *members_find(const struct members *m, uint32_t link)
{
    return link < m->nlinks && m->by_link[link] ? &m->list[m->by_link[link] - 1] : NULL;
}

static void set_link(struct members *m, uint32_t link, uint32_t place_plus_one)
{
    if (link >= m->nlinks) {
        size_t n = (size_t)link + 1 > 2 * m->nlinks ? (size_t)link + 1 : 2 * m->nlinks;
        m->by_link = mem_realloc(m->by_link, n, sizeof *m->by_link);
        memset(m->by_link + m->nlinks, 0, (n - m->nlinks) * sizeof *m->by_link);
        m->nlinks = n;
    }
    m->by_link[link] = place_plus_one;
}

int members_check(const struct members *m, const struct frame *hello, struct err *e)
{
    const char *host = hello->u.hello.host;
    uint32_t rank = hello->u.hello.node_rank, nnodes = hello->u.hello.nnodes;
    if (nnodes && nnodes != m->capacity)
        return err_set(e, ERR_USAGE, "%s was started with --nnodes %u, the head with %u", host,
                       nnodes, m->capacity);
    if (rank != NODE_RANK_ANY && rank >= m->capacity)
        return err_set(e, ERR_USAGE,
                       "%s was started with --node-rank %u; of %u nodes the last "
                       "is %u",
                       host, rank, m->capacity, m->capacity - 1);
    return 0;
}

static int check_place(const struct members *m, const struct frame *hello, struct err *e)
{
    const char *host = hello->u.hello.host;
    uint32_t rank = hello->u.hello.node_rank;
    for (uint32_t i = 0; rank != NODE_RANK_ANY && i < m->n; i++)
        if (m->list[i].status != MEMBER_AWAITED && m->list[i].asked_rank == rank)
            return err_set(e, ERR_USAGE,
                           "--node-rank %u was given twice: to %s (pid %u) and to %s (pid %u)",
                           rank, m->list[i].host, m->list[i].pid, host, hello->u.hello.pid);
    if (members_complete(m))
        return err_set(e, ERR_UNAVAILABLE, "%s is one too many: all %u nodes have joined", host,
                       m->n);
    return 0;
}

static uint32_t free_place(const struct members *m)
{
    uint32_t i = 0;
    while (m->list[i].status != MEMBER_AWAITED)
        i++;
    return i;
}

/* Who sits at place i without having asked for it moves on. */
static void give_way(struct members *m, uint32_t i)
{
    uint32_t to = free_place(m);
    m->list[to] = m->list[i];
    set_link(m, m->list[to].link, to + 1);
}

int members_join(struct members *m, uint32_t link, const struct frame *hello, uint64_t now_ms,
                 struct err *e)
{
    if (members_check(m, hello, e) < 0 || check_place(m, hello, e) < 0)
        return -1;
    uint32_t i = hello->u.hello.node_rank;
    if (i == NODE_RANK_ANY)
        i = free_place(m);
    else if (m->list[i].status != MEMBER_AWAITED)
        give_way(m, i);
    m->list[i] = (struct member){.status = MEMBER_JOINED,
                                 .link = link,
                                 .slots = hello->u.hello.slots,
                                 .asked_rank = hello->u.hello.node_rank,
                                 .wished_rank = hello->u.hello.node_rank,
                                 .pid = hello->u.hello.pid,
                                 .host = mem_strdup(hello->u.hello.host),
                                 .via = mem_strdup(hello->u.hello.via),
                                 .reach = mem_strdup(hello->u.hello.reach),
                                 .last_heard_ms = now_ms};
    m->njoined++;
    set_link(m, link, i + 1);
    return 0;
}

void members_leave(struct members *m, struct member *member)
{
    set_link(m, member->link, 0);
    free_texts(member);
    *member = (struct member){.link = LINK_NONE};
    m->njoined--;
}

void members_close(struct members *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->list[i].status == MEMBER_AWAITED)
            continue;
        struct member kept = m->list[i];
        m->list[i] = (struct member){.link = LINK_NONE};
        if (kept.asked_rank != NODE_RANK_ANY)
            kept.asked_rank = n;
        m->list[n] = kept;
        set_link(m, kept.link, ++n);
    }
    m->n = n;
}

/* Takes a member out of old, which then has none there. */
static void settle_at(struct members *m, uint32_t place, struct member *old)
{
    m->list[place] = *old;
    m->list[place].asked_rank = place;
    set_link(m, old->link, place + 1);
    *old = (struct member){.link = LINK_NONE};
}

/* First those that asked for their place, then those whose place is left, then the rest. */
static void settle_again(struct members *m)
{
    struct member *old = mem_dup(m->list, m->n * sizeof *old);
    for (uint32_t i = 0; i < m->n; i++)
        m->list[i] = (struct member){.link = LINK_NONE};
    for (uint32_t i = 0; i < m->n; i++)
        if (old[i].status != MEMBER_AWAITED && old[i].wished_rank != NODE_RANK_ANY)
            settle_at(m, old[i].wished_rank, &old[i]);
    for (uint32_t i = 0; i < m->n; i++)
        if (old[i].status != MEMBER_AWAITED && m->list[i].status == MEMBER_AWAITED)
            settle_at(m, i, &old[i]);
    uint32_t next = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (old[i].status == MEMBER_AWAITED)
            continue;
        while (m->list[next].status != MEMBER_AWAITED)
            next++;
        settle_at(m, next, &old[i]);
    }
    free(old);
}

uint32_t members_reopen(struct members *m)
{
    uint32_t nlost = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->list[i].status != MEMBER_LOST)
            continue;
        members_leave(m, &m->list[i]);
        nlost++;
    }
    m->n = m->capacity;
    settle_again(m);
    return nlost;
}

bool members_complete(const struct members *m)
{
    return m->njoined == m->n;
}

static int compare(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    const struct node_identity left = {x->host, x->via ? x->via : "", x->pid},
                               right = {y->host, y->via ? y->via : "", y->pid};
    return node_compare(&left, &right);
}

void members_settle(struct members *m)
{
    struct member *sorted = mem_alloc(m->n, sizeof *sorted), *next = sorted;
    bool *is_taken = mem_alloc(m->n, sizeof *is_taken);
    memcpy(sorted, m->list, m->n * sizeof *sorted);
    qsort(sorted, m->n, sizeof *sorted, compare);
    for (uint32_t i = 0; i < m->n; i++) {
        if (sorted[i].asked_rank == NODE_RANK_ANY)
            continue;
        m->list[sorted[i].asked_rank] = sorted[i];
        is_taken[sorted[i].asked_rank] = true;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        if (is_taken[i])
            continue;
        while (next->asked_rank != NODE_RANK_ANY)
            next++;
        m->list[i] = *next++;
    }
    for (uint32_t i = 0; i < m->n; i++)
        set_link(m, m->list[i].link, i + 1);
    free(sorted);
    free(is_taken);
}

bool members_has_reach(const struct members *m, const char *host)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->list[i].reach && m->list[i].status != MEMBER_LOST
            && addr_is_same_host(m->list[i].reach, host))
            return true;
    return false;
}

const char *members_common_address(const struct members *m)
{
    const char *common = NULL;
    for (uint32_t i = 0; i < m->n; i++) {
        const char *via = m->list[i].via;
        if (!via || !*via) /* in the head's own process */
            continue;
        if (common && strcmp(common, via) != 0)
            return NULL;
        common = via;
    }
    return common;
}

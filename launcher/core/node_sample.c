#include "launcher/core/node_sample.h"

#include <stdio.h>
#include <string.h>

enum {
    WORD_BYTES_MAX = 120,
    WHY_BYTES_MAX = 400,
    WHY_ROOM = 4 * (WHY_BYTES_MAX + 8) /* of each helper, of what was left out on the way */
};

static const char why_key[] = "why,";

/* ---- written ---- */

static size_t add_item(struct str item, struct buf *out)
{
    size_t room = str_starts(item, why_key) ? 0 : WHY_ROOM;
    if (out->len + item.n + room > NODE_SAMPLE_BYTES_MAX)
        return 1;
    buf_add(out, item.p, item.n);
    return 0;
}

static size_t end_item(struct buf *item, struct buf *out)
{
    buf_addc(item, ';');
    size_t left_out = add_item((struct str){item->data, item->len}, out);
    buf_fini(item);
    return left_out;
}

static void add_word(const char *text, struct buf *out)
{
    const char *p = text && *text ? text : "-";
    for (size_t i = 0; i < WORD_BYTES_MAX && p[i]; i++) {
        bool is_kept = (unsigned char)p[i] > ' ' && p[i] != 0x7f && p[i] != ',' && p[i] != ';';
        buf_addc(out, is_kept ? p[i] : '_');
    }
}

static void add_count(struct maybe_u64 n, struct buf *out)
{
    if (n.is_known)
        buf_addf(out, ",%llu", (unsigned long long)n.value);
    else
        buf_adds(out, ",-");
}

size_t node_sample_add_rank(const struct node_sample_rank *rank, struct buf *out)
{
    struct buf item;
    buf_init(&item, 0);
    buf_addf(&item, "rank,%u,", (unsigned)rank->local_rank);
    add_word(rank->index, &item);
    buf_addc(&item, ',');
    add_word(rank->uuid, &item);
    add_count(rank->step, &item);
    add_count(rank->quiet_ms, &item);
    add_count(rank->asked_ms, &item);
    return end_item(&item, out);
}

size_t node_sample_add_figures(uint32_t local_rank, const struct rank_sample *figures,
                               struct buf *out)
{
    struct buf item;
    buf_init(&item, 0);
    buf_addf(&item, "sample,%u", (unsigned)local_rank);
    rank_sample_format(figures, ',', &item);
    return end_item(&item, out);
}

size_t node_sample_add_why(const char *why, struct buf *out)
{
    struct buf item;
    buf_init(&item, 0);
    buf_adds(&item, why_key);
    for (size_t i = 0; i < WHY_BYTES_MAX && why[i]; i++)
        buf_addc(&item, (unsigned char)why[i] < ' ' || why[i] == ';' ? '_' : why[i]);
    return end_item(&item, out);
}

size_t node_sample_add_items(struct str text, struct buf *out)
{
    const char *end;
    size_t left_out = 0;
    for (; text.n && (end = memchr(text.p, ';', text.n)) != NULL;) {
        size_t n = (size_t)(end - text.p) + 1;
        left_out += add_item((struct str){text.p, n}, out);
        text = (struct str){text.p + n, text.n - n};
    }
    return left_out;
}

void node_sample_add_left_out(size_t n, struct buf *out)
{
    char why[WHY_BYTES_MAX];
    if (!n)
        return;
    snprintf(why, sizeof why, "%zu have no room in the %d KiB that a node says", n,
             NODE_SAMPLE_BYTES_MAX / 1024);
    node_sample_add_why(why, out);
}

/* ---- read ---- */

static bool take_local_rank(struct str *rest, uint32_t *local_rank)
{
    struct str word;
    uint64_t n;
    if (!str_split(rest, ',', &word) || str_parse_u64(word, 0, UINT32_MAX, &n) < 0)
        return false;
    *local_rank = (uint32_t)n;
    return true;
}

static bool take_word(struct str *rest, struct str *word)
{
    if (!str_split(rest, ',', word) || !word->n)
        return false;
    if (str_eq(*word, "-"))
        *word = (struct str){0};
    return true;
}

static bool take_count(struct str *rest, struct maybe_u64 *n)
{
    struct str word;
    if (!str_split(rest, ',', &word))
        return false;
    *n = (struct maybe_u64){.is_known = !str_eq(word, "-")};
    return !n->is_known || str_parse_u64(word, 0, UINT64_MAX, &n->value) == 0;
}

static bool read_rank(struct str rest, struct node_sample_item *item)
{
    item->kind = NODE_SAMPLE_RANK;
    return take_local_rank(&rest, &item->local_rank) && take_word(&rest, &item->index)
           && take_word(&rest, &item->uuid) && take_count(&rest, &item->step)
           && take_count(&rest, &item->quiet_ms) && take_count(&rest, &item->figures.asked_ms);
}

static bool read_figures(struct str rest, struct node_sample_item *item)
{
    item->kind = NODE_SAMPLE_FIGURES;
    return take_local_rank(&rest, &item->local_rank)
           && rank_sample_parse(&rest, ',', &item->figures);
}

int node_sample_next(struct str *rest, struct node_sample_item *item)
{
    while (rest->n) {
        struct str text, key;
        const char *end = memchr(rest->p, ';', rest->n);
        if (!end)
            return -1;
        text = (struct str){rest->p, (size_t)(end - rest->p)};
        *rest = (struct str){end + 1, rest->n - text.n - 1};
        *item = (struct node_sample_item){0};
        if (!str_split(&text, ',', &key))
            return -1;
        if (str_eq(key, "rank"))
            return read_rank(text, item) ? 1 : -1;
        if (str_eq(key, "sample"))
            return read_figures(text, item) ? 1 : -1;
        if (!str_eq(key, "why"))
            continue;
        item->kind = NODE_SAMPLE_WHY;
        item->why = text;
        return text.p ? 1 : -1;
    }
    return 0;
}

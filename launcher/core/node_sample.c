#include "launcher/core/node_sample.h"

#include <string.h>

enum { WORD_BYTES_MAX = 120, WHY_BYTES_MAX = 400 };

/* ---- written ---- */

static void add_item(const struct buf *item, struct buf *out)
{
    if (out->len + item->len <= NODE_SAMPLE_BYTES_MAX)
        buf_add(out, item->data, item->len);
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

void node_sample_add_rank(const struct node_sample_rank *rank, struct buf *out)
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
    buf_addc(&item, ';');
    add_item(&item, out);
    buf_fini(&item);
}

void node_sample_add_figures(uint32_t local_rank, const struct rank_sample *figures,
                             struct buf *out)
{
    struct buf item;
    buf_init(&item, 0);
    buf_addf(&item, "sample,%u", (unsigned)local_rank);
    rank_sample_format(figures, ',', &item);
    buf_addc(&item, ';');
    add_item(&item, out);
    buf_fini(&item);
}

void node_sample_add_why(const char *why, struct buf *out)
{
    struct buf item;
    buf_init(&item, 0);
    buf_adds(&item, "why,");
    for (size_t i = 0; i < WHY_BYTES_MAX && why[i]; i++)
        buf_addc(&item, (unsigned char)why[i] < ' ' || why[i] == ';' ? '_' : why[i]);
    buf_addc(&item, ';');
    add_item(&item, out);
    buf_fini(&item);
}

void node_sample_add_items(struct str text, struct buf *out)
{
    const char *end;
    for (; text.n && (end = memchr(text.p, ';', text.n)) != NULL;) {
        size_t n = (size_t)(end - text.p) + 1;
        if (out->len + n > NODE_SAMPLE_BYTES_MAX)
            return;
        buf_add(out, text.p, n);
        text = (struct str){text.p + n, text.n - n};
    }
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

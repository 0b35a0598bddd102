#include "launcher/core/host_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_name.h"
#include "launcher/core/host_text.h"

enum { WORDS = HOST_SLOTS_MAX / 64 };

/* What one option says of one host. */
struct pick {
    bool is_all;
    uint64_t *bits; /* NULL = no slot by number */
};

struct filter {
    struct host_source src;
    const struct host_list *list;
    struct pick *picks;
};

/* The places that an item names, and the slots. */
struct item {
    uint32_t *places;
    size_t n, cap;
    uint64_t bits[WORDS];
    bool has_slots;
};

static void set_bits(uint64_t *bits, uint32_t first, uint32_t last)
{
    for (uint32_t k = first; k <= last; k++)
        bits[k / 64] |= UINT64_C(1) << (k % 64);
}

static void add_place(struct item *it, size_t place)
{
    array_grow(it->places, it->n, it->cap);
    it->places[it->n++] = (uint32_t)place;
}

/* "K" or "K-M", both in [0, max], ascending. */
static bool take_range(struct str s, uint64_t max, uint64_t *first, uint64_t *last)
{
    struct str low;
    str_split(&s, '-', &low);
    if (str_parse_u64(low, 0, max, first) != 0)
        return false;
    *last = *first;
    return !s.p || str_parse_u64(s, *first, max, last) == 0;
}

/* "+n0", "+n1-3": places in the list, from 0. */
static int read_places(const struct filter *f, struct str s, struct item *it)
{
    uint64_t first, last;
    struct str range = s.n > 2 ? (struct str){s.p + 2, s.n - 2} : (struct str){s.p, 0};
    if (!str_starts(s, "+n") || !take_range(range, f->list->n - 1, &first, &last))
        return host_fail(
            &f->src, HOST_E_RELATIVE, s.p,
            "\"%.*s\" is no place in the list; write +n0 to +n%zu, or an ascending "
            "range such as +n0-1",
            (int)(s.n < 40 ? s.n : 40), s.p, f->list->n - 1);
    for (; first <= last; first++)
        add_place(it, (size_t)first);
    return 0;
}

static int read_names(const struct filter *f, struct str hosts, struct item *it)
{
    char name[HOST_NAME_SIZE];
    struct host_names names;
    if (memchr(hosts.p, ',', hosts.n) && !memchr(hosts.p, '[', hosts.n))
        return host_fail(&f->src, HOST_E_HOSTNAME, hosts.p,
                         "\"%.*s\" is no host; commas stand between slots, hosts are joined "
                         "with @, as in n1@n2:0,1",
                         (int)(hosts.n < 40 ? hosts.n : 40), hosts.p);
    if (host_names_parse(&f->src, hosts, &names) != 0)
        return -1;
    while (host_names_next(&names, name)) {
        const struct host *host = host_list_find(f->list, name);
        if (!host) {
            host_names_fini(&names);
            return host_fail(&f->src, HOST_E_NOHOST, hosts.p,
                             "%.80s is not in the list; its %zu hosts begin with %.80s", name,
                             f->list->n, f->list->hosts[0].name);
        }
        add_place(it, (size_t)(host - f->list->hosts));
    }
    host_names_fini(&names);
    return 0;
}

/* Both ends of "I" or "I-J"; what is no number and what is no possible slot are two errors. */
static int read_range(const struct filter *f, struct str s, uint64_t *first, uint64_t *last)
{
    struct str rest = s, low;
    str_split(&rest, '-', &low);
    bool is_number = str_parse_u64(low, 0, UINT32_MAX, first) == 0;
    *last = *first;
    if (is_number && rest.p)
        is_number = str_parse_u64(rest, 0, UINT32_MAX, last) == 0;
    if (!is_number)
        return host_fail(&f->src, HOST_E_NUMBER, s.p,
                         "\"%.*s\" is no slot; write numbers and ranges, as in n1:0,2-3",
                         (int)(s.n < 40 ? s.n : 40), s.p);
    if (*last < *first || *last >= HOST_SLOTS_MAX)
        return host_fail(&f->src, HOST_E_RANGE, s.p,
                         "%.*s is no range of slots; write it ascending, from 0 to at most %d",
                         (int)(s.n < 40 ? s.n : 40), s.p, HOST_SLOTS_MAX - 1);
    return 0;
}

/* E_NOSLOT for the first host that is known to have no slot `last`. */
static int check_slot(const struct filter *f, const struct item *it, struct str s,
                      uint64_t last)
{
    for (size_t i = 0; i < it->n; i++) {
        const struct host *host = &f->list->hosts[it->places[i]];
        if (host->slots && last >= host->slots)
            return host_fail(&f->src, HOST_E_NOSLOT, s.p,
                             "%.80s has no slot %llu; it has slots 0..%u", host->name,
                             (unsigned long long)last, host->slots - 1);
    }
    return 0;
}

static int read_slots(const struct filter *f, struct str slots, struct item *it)
{
    struct str part;
    it->has_slots = true;
    while (str_split(&slots, ',', &part)) {
        uint64_t first = 0, last = 0;
        part = host_trim(part);
        if (read_range(f, part, &first, &last) != 0 || check_slot(f, it, part, last) != 0)
            return -1;
        set_bits(it->bits, (uint32_t)first, (uint32_t)last);
    }
    return 0;
}

static int read_item(const struct filter *f, struct str text, struct item *it)
{
    struct str hosts, word = host_trim(text);
    if (!word.n)
        return host_fail(&f->src, HOST_E_EMPTYITEM, text.p,
                         "a host is missing here; write items joined with @, as in n1@n2:0,1");
    const char *colon = host_part(word, &hosts);
    struct str trimmed = host_trim(hosts);
    int rc = word.p[0] == '+' ? read_places(f, trimmed, it) : read_names(f, trimmed, it);
    if (rc == 0 && colon)
        rc = read_slots(f, (struct str){colon + 1, (size_t)(word.p + word.n - colon) - 1}, it);
    return rc;
}

static void merge(struct filter *f, const struct item *it)
{
    for (size_t i = 0; i < it->n; i++) {
        struct pick *pick = &f->picks[it->places[i]];
        if (!it->has_slots) {
            pick->is_all = true;
            continue;
        }
        if (!pick->bits)
            pick->bits = mem_alloc(WORDS, sizeof *pick->bits);
        for (size_t k = 0; k < WORDS; k++)
            pick->bits[k] |= it->bits[k];
    }
}

static int read_value(struct filter *f, const char *value)
{
    struct str rest = str_from(value), text;
    f->src.line = rest;
    if (host_check_bytes(&f->src, rest) != 0)
        return -1;
    while (host_split(&rest, '@', &text)) {
        struct item it = {0};
        int rc = read_item(f, text, &it);
        if (rc == 0)
            merge(f, &it);
        free(it.places);
        if (rc != 0)
            return -1;
    }
    return 0;
}

/* The slots of a host after both options: false if none is left. */
static bool choose(const struct host *host, const struct pick *in, const struct pick *out,
                   struct host_slots *chosen)
{
    uint64_t bits[WORDS] = {0}, any = 0;
    bool is_every = in->is_all && !host->slots; /* of a number that is not known */
    if (out->is_all)
        return false;
    if (in->is_all && host->slots)
        set_bits(bits, 0, host->slots - 1);
    else if (!in->is_all && in->bits)
        memcpy(bits, in->bits, sizeof bits);
    for (size_t k = 0; k < WORDS; k++) {
        uint64_t minus = out->bits ? out->bits[k] : 0;
        bits[k] = is_every ? minus : bits[k] & ~minus;
        any |= bits[k];
    }
    bool is_whole = in->is_all && !out->bits;
    *chosen = (struct host_slots){NULL, is_every && any};
    if (any && !is_whole)
        chosen->bits = mem_dup(bits, sizeof bits);
    return any || is_every;
}

static void free_picks(struct pick *picks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(picks[i].bits);
    free(picks);
}

/* Both readings of the list become its new state, unless nothing is left. */
static int conclude(struct host_list *list, const struct pick *in, const struct pick *out,
                    struct host_fault *fault, struct err *e)
{
    struct host_slots *chosen = mem_alloc(list->n, sizeof *chosen);
    bool *is_kept = mem_alloc(list->n, sizeof *is_kept), is_any = false;
    for (size_t i = 0; i < list->n; i++) {
        is_kept[i] = choose(&list->hosts[i], &in[i], &out[i], &chosen[i]);
        is_any = is_any || is_kept[i];
    }
    if (is_any) {
        for (size_t i = 0; i < list->n; i++) {
            free(list->hosts[i].chosen.bits);
            list->hosts[i].chosen = chosen[i];
        }
        host_list_keep_only(list, is_kept);
    }
    free(chosen);
    free(is_kept);
    struct host_source src = {
        .name = list->source, .is_option = list->is_option, .fault = fault, .e = e};
    return is_any ? 0
                  : host_fail(&src, HOST_E_EMPTY, NULL,
                              "no host is left after --include and --exclude; leave at least "
                              "one slot");
}

int host_filter_apply(struct host_list *list, const char *include, const char *exclude,
                      struct host_fault *fault, struct err *e)
{
    const size_t n = list->n;
    struct filter in = {
        {.name = "--include", .is_option = true, .number = 1, .fault = fault, .e = e},
        list,
        mem_alloc(n, sizeof(struct pick))};
    struct filter out = in;
    out.src.name = "--exclude";
    out.picks = mem_alloc(n, sizeof(struct pick));
    for (size_t i = 0; i < n; i++)
        in.picks[i].is_all = !include;
    int rc = include ? read_value(&in, include) : 0;
    if (rc == 0 && exclude)
        rc = read_value(&out, exclude);
    if (rc == 0)
        rc = conclude(list, in.picks, out.picks, fault, e);
    free_picks(in.picks, n);
    free_picks(out.picks, n);
    return rc;
}

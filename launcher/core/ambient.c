#include "launcher/core/ambient.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str skip_space(struct str s)
{
    while (s.n && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    return s;
}

static bool is_uuid_word(struct str s)
{
    return str_starts(s, "GPU-") || str_starts(s, "MIG-");
}

/* One entry of an integer list. */
struct number {
    uint32_t value;
    struct str text; /* sign and digits */
    bool junk;       /* other text follows */
};

/* As strtoull in base 10, of which the driver keeps the low 32 bits. */
static bool entry_number(struct str entry, struct number *out)
{
    struct str s = skip_space(entry);
    size_t i = 0;
    bool minus = s.n && s.p[0] == '-', overflow = false;
    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        i++;
    size_t digits_at = i;
    uint64_t v = 0;
    for (; i < s.n && is_digit(s.p[i]); i++)
        overflow |= __builtin_mul_overflow(v, 10, &v)
                    || __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v);
    if (i == digits_at)
        return false;
    if (overflow)
        v = UINT64_MAX;
    else if (minus)
        v = 0 - v;
    out->value = (uint32_t)v;
    out->text = (struct str){s.p, i};
    out->junk = skip_space((struct str){s.p + i, s.n - i}).n > 0;
    return true;
}

/* How the driver's numbers map to devices; places in the inventory, n of them. */
struct base_order {
    int *place;
    int n;
};

static void order_from_probe(const struct inventory *inv, struct base_order *b)
{
    b->n = 0;
    for (int i = 0; i < inv->nprobe; i++)
        for (int d = 0; d < inv->ndevices; d++)
            if (b->n < inv->ndevices && strcmp(inv->probe[i], inv->devices[d].uuid) == 0)
                b->place[b->n++] = d;
}

static int check_order_name(const struct ambient *amb, struct gpu_fault *f)
{
    const char *o = amb->order;
    if (!o || !strcmp(o, "PCI_BUS_ID") || !strcmp(o, "FASTEST_FIRST"))
        return 0;
    return gpu_fail(f, GPU_E_AMBIENT_BAD,
                    "CUDA_DEVICE_ORDER=\"%.40s\": every CUDA program here would fail (error "
                    "101); it must be PCI_BUS_ID or FASTEST_FIRST, or unset it",
                    o);
}

static int make_order(const struct ambient *amb, const struct inventory *inv,
                      struct visible *out, struct base_order *b, struct gpu_fault *f)
{
    b->place = mem_alloc((size_t)inv->ndevices, sizeof *b->place);
    b->n = inv->ndevices;
    device_pci_order(inv, b->place);
    if (out->by_uuid || out->blank || !device_is_mixed(inv))
        return 0;
    if (!amb->order)
        out->order_guessed = true;
    if (!amb->order || strcmp(amb->order, "FASTEST_FIRST") != 0)
        return 0;
    out->fastest_first = true;
    if (inv->probe) {
        order_from_probe(inv, b);
        return 0;
    }
    return gpu_fail(f, GPU_E_ORDER,
                    "CUDA_DEVICE_ORDER=FASTEST_FIRST with GPUs of different kinds: only CUDA "
                    "knows what the numbers mean; set CUDA_DEVICE_ORDER=PCI_BUS_ID, or list "
                    "UUIDs in CUDA_VISIBLE_DEVICES");
}

/* ---- UUID entries ---- */

struct match {
    struct gpu_unit unit;
    int count;
};

static void match_add(struct match *m, int device, int mig)
{
    m->unit = (struct gpu_unit){device, mig};
    m->count++;
}

/* u/gi/ci after "MIG-GPU-"; only a GPU with MIG on has such names. */
static void match_legacy(struct str rest, const struct inventory *inv, struct match *m)
{
    struct str uuid, gi, ci;
    uint64_t g, c;
    if (!str_split(&rest, '/', &uuid) || !str_split(&rest, '/', &gi)
        || !str_split(&rest, '/', &ci) || rest.p || str_parse_u64(gi, 0, 9999, &g) != 0
        || str_parse_u64(ci, 0, 9999, &c) != 0)
        return;
    for (int d = 0; d < inv->ndevices; d++) {
        const struct device *dev = &inv->devices[d];
        if (!dev->mig_enabled || !device_uuid_starts(dev->uuid, uuid))
            continue;
        for (int i = 0; i < dev->nmig; i++)
            if (dev->mig[i].gi == (int)g && dev->mig[i].ci == (int)c)
                match_add(m, d, i);
    }
}

static struct match match_uuid(struct str entry, const struct inventory *inv)
{
    struct match m = {.count = 0};
    if (!is_uuid_word(entry))
        return m;
    struct str rest = {entry.p + 4, entry.n - 4};
    bool mig_word = entry.p[0] == 'M';
    if (mig_word && str_starts(rest, "GPU-")) {
        match_legacy((struct str){rest.p + 4, rest.n - 4}, inv, &m);
        return m;
    }
    for (int d = 0; d < inv->ndevices; d++) {
        const struct device *dev = &inv->devices[d];
        if ((!mig_word || !dev->mig_enabled) && device_uuid_starts(dev->uuid, rest))
            match_add(&m, d, -1);
        for (int i = 0; mig_word && i < dev->nmig; i++)
            if (device_uuid_starts(dev->mig[i].uuid, rest))
                match_add(&m, d, i);
    }
    return m;
}

/* ---- the list ---- */

static bool find_entry(struct str entry, const struct inventory *inv,
                       const struct base_order *b, struct visible *out, struct gpu_unit *u)
{
    if (out->by_uuid) {
        struct match m = match_uuid(entry, inv);
        *u = m.unit;
        return m.count == 1;
    }
    struct number num;
    if (!entry_number(entry, &num) || num.value >= (uint32_t)b->n)
        return false;
    if (num.junk && !out->sloppy.p)
        out->sloppy = entry;
    *u = (struct gpu_unit){b->place[num.value], -1};
    return true;
}

static int fail_twice(struct gpu_fault *f, const char *cvd, struct str entry)
{
    return gpu_fail(f, GPU_E_AMBIENT_BAD,
                    "CUDA_VISIBLE_DEVICES=\"%.80s\" names one GPU twice (again at \"%.*s\"): "
                    "every CUDA program here would fail (error 101); name it once",
                    cvd, entry.n < 50 ? (int)entry.n : 50, entry.p);
}

static int read_list(const char *cvd, struct str rest, const struct inventory *inv,
                     const struct base_order *b, struct visible *out, struct gpu_fault *f)
{
    struct str entry;
    size_t cap = 0;
    while (str_split(&rest, ',', &entry)) {
        struct gpu_unit u;
        if (!find_entry(entry, inv, b, out, &u)) {
            out->tail = entry.p;
            return 0;
        }
        for (int i = 0; i < out->nunits; i++)
            if (gpu_unit_eq(out->units[i], u))
                return fail_twice(f, cvd, entry);
        array_grow(out->units, (size_t)out->nunits, cap);
        out->units[out->nunits++] = u;
    }
    return 0;
}

int ambient_enumerate(const struct ambient *amb, const struct inventory *inv,
                      struct visible *out, struct gpu_fault *f)
{
    *out = (struct visible){0};
    if (check_order_name(amb, f) != 0)
        return -1;
    struct str list = skip_space(str_from(amb->cvd));
    out->by_uuid = is_uuid_word(list);
    out->blank = amb->cvd && !list.n;
    struct base_order base;
    int rc = make_order(amb, inv, out, &base, f);
    if (rc == 0 && amb->cvd && !out->blank) {
        rc = read_list(amb->cvd, list, inv, &base, out, f);
    } else if (rc == 0 && !amb->cvd) {
        out->units = mem_alloc((size_t)base.n, sizeof *out->units);
        for (; out->nunits < base.n; out->nunits++)
            out->units[out->nunits] = (struct gpu_unit){base.place[out->nunits], -1};
    }
    free(base.place);
    if (rc != 0)
        visible_fini(out);
    return rc;
}

void visible_fini(struct visible *v)
{
    free(v->units);
    *v = (struct visible){0};
}

/* ---- without an inventory ---- */

/* An entry as it may be handed on: number or name, without blanks and junk; NULL = malformed.
 */
static char *entry_text(struct str entry, bool by_uuid, struct str *sloppy)
{
    struct number num;
    if (by_uuid) {
        size_t i = 4;
        while (i < entry.n && !is_space(entry.p[i]))
            i++;
        if (!is_uuid_word(entry) || i == 4 || i < entry.n)
            return NULL;
        return mem_printf("%.*s", STR_ARG(entry));
    }
    if (!entry_number(entry, &num) || num.value > 0xffff)
        return NULL;
    if (num.junk && !sloppy->p)
        *sloppy = entry;
    return mem_printf("%u", (unsigned)num.value);
}

static int read_text(const char *cvd, struct str rest, struct visible_text *out,
                     struct gpu_fault *f)
{
    struct str entry;
    size_t cap = 0;
    bool by_uuid = is_uuid_word(rest);
    while (str_split(&rest, ',', &entry)) {
        char *text = entry_text(entry, by_uuid, &out->sloppy);
        if (!text) {
            out->tail = entry.p;
            return 0;
        }
        array_grow(out->entries, (size_t)out->nentries, cap);
        out->entries[out->nentries++] = text;
        for (int i = 0; i < out->nentries - 1; i++)
            if (!strcmp(out->entries[i], text))
                return fail_twice(f, cvd, entry);
    }
    return 0;
}

int ambient_read_text(const struct ambient *amb, struct visible_text *out, struct gpu_fault *f)
{
    *out = (struct visible_text){0};
    if (check_order_name(amb, f) != 0)
        return -1;
    struct str list = skip_space(str_from(amb->cvd));
    out->blank = amb->cvd && !list.n;
    int rc = list.n ? read_text(amb->cvd, list, out, f) : 0;
    if (rc != 0)
        visible_text_fini(out);
    return rc;
}

void visible_text_fini(struct visible_text *v)
{
    for (int i = 0; i < v->nentries; i++)
        free(v->entries[i]);
    free(v->entries);
    *v = (struct visible_text){0};
}

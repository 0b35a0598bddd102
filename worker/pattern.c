#include "worker/pattern.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

static const struct {
    const char *name;
    enum type_kind kind;
    unsigned bits;
} types[] = {
#define X(name, text, bytes, kind, bits) [TYPE_##name] = {text, KIND_##kind, bits},
    TYPE_TABLE(X)
#undef X
};
static_assert(sizeof types / sizeof types[0] == TYPE_COUNT, "one row a type");

static const char *const ops[] = {
#define X(name, text) [OP_##name] = text,
    OP_TABLE(X)
#undef X
};
static_assert(sizeof ops / sizeof ops[0] == OP_COUNT, "one row an operation");

const char *type_name(enum type type)
{
    return types[type].name;
}

const char *op_name(enum op op)
{
    return ops[op];
}

size_t type_bytes(enum type type)
{
    return pattern_size((int)type);
}

/* The largest power of two <= v, less one; v >= 1. */
static uint64_t mask_within(uint64_t v)
{
    uint64_t power = 1;
    while (power <= v / 2)
        power *= 2;
    return power - 1;
}

static void init_float_sum(struct pattern *p, unsigned bits)
{
    uint64_t all = 1ull << bits, k = p->nranks;
    while (k * (k - 1) / 2 > all / 2)
        k--;
    uint64_t limit = (all - k * (k - 1) / 2) / k; /* |c| <= limit */
    p->mode = PATTERN_SUM;
    p->k = (uint32_t)k;
    p->mask = mask_within(2 * limit);
    p->low = -(int64_t)((p->mask + 1) / 2);
}

static int init_avg_single(struct pattern *p, enum type_kind kind, unsigned bits, struct err *e)
{
    p->mode = PATTERN_SINGLE;
    p->low = 1;
    if (kind == KIND_FLOAT) {
        p->mask = (1ull << (bits - 1)) - 1;
        p->tolerance = 2;
        return 0;
    }
    uint64_t most = ((1ull << (bits > 62 ? 62 : bits)) - 1) / p->nranks;
    if (most == 0)
        return err_set(e, ERR_USAGE, "avg of %s cannot be checked with %u ranks",
                       types[p->type].name, p->nranks);
    p->scale = p->nranks;
    p->mask = mask_within(most);
    return 0;
}

static void init_range(struct pattern *p, enum pattern_mode mode, enum type_kind kind,
                       unsigned bits)
{
    uint64_t half = 1ull << (bits - 1);
    p->mode = (int)mode;
    p->k = p->nranks - 1 < half ? p->nranks - 1 : (uint32_t)(half - 1);
    p->mask = kind == KIND_UNSIGNED ? half - 1 : half - 1 + half;
    p->low = kind == KIND_UNSIGNED ? 0 : -(int64_t)half;
}

int pattern_init(struct pattern *p, uint64_t seed, uint32_t round, uint32_t nranks,
                 enum type type, enum op op, struct err *e)
{
    enum type_kind kind = types[type].kind;
    unsigned bits = types[type].bits;
    memset(p, 0, sizeof *p);
    p->key = pattern_mix(seed + pattern_mix(round + 1));
    p->nranks = nranks;
    p->scale = 1;
    p->type = (int)type;
    p->op = (int)op;
    switch (op) {
    case OP_SUM:
        if (kind == KIND_FLOAT)
            init_float_sum(p, bits);
        else
            p->mode = PATTERN_SUM_WRAP;
        return 0;
    case OP_PROD:
        init_range(p, PATTERN_SINGLE, kind, bits);
        return 0;
    case OP_MAX:
    case OP_MIN:
        init_range(p, PATTERN_EXTREME, kind, bits);
        return 0;
    case OP_AVG:
        if (kind != KIND_FLOAT || (nranks & (nranks - 1)))
            return init_avg_single(p, kind, bits, e);
        init_float_sum(p, bits);
        return 0;
    case OP_COUNT:
        break;
    }
    return err_set(e, ERR_INTERNAL, "no operation %d", (int)op);
}

bool pattern_can(uint32_t nranks, enum type type, enum op op)
{
    struct pattern p;
    return pattern_init(&p, 0, 0, nranks, type, op, NULL) == 0;
}

void pattern_init_bits(struct pattern *p, uint64_t seed, uint32_t round, uint32_t nranks,
                       enum type type)
{
    *p = (struct pattern){
        .key = pattern_mix(seed + pattern_mix(round + 1)),
        .nranks = nranks,
        .type = (int)type,
        .mode = PATTERN_BITS,
    };
}

void pattern_tally_init(struct pattern_tally *t)
{
    *t = (struct pattern_tally){.first = UINT64_MAX};
}

static void tally_wrong(struct pattern_tally *t, uint64_t i)
{
    t->wrong++;
    if (i < t->first)
        t->first = i;
    if (i > t->last)
        t->last = i;
}

static void store_bits(size_t size, void *base, uint64_t i, uint64_t bits)
{
    /* Little-endian machines only: the low bytes come first. */
    memcpy((char *)base + i * size, &bits, size);
}

uint64_t pattern_load(enum type type, const void *base, uint64_t i)
{
    size_t size = pattern_size((int)type);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)base + i * size, size);
    return bits;
}

void pattern_fill(const struct pattern *p, const struct pattern_span *span, void *base)
{
    size_t size = pattern_size(p->type);
    for (uint64_t i = span->begin; i < span->end; i++)
        store_bits(size, base, i, pattern_value(p, i + span->shift, (uint32_t)span->source));
}

void pattern_check(const struct pattern *p, const struct pattern_span *span, const void *base,
                   struct pattern_tally *t)
{
    for (uint64_t i = span->begin; i < span->end; i++) {
        uint64_t got = pattern_load((enum type)p->type, base, i);
        t->hash += pattern_hash(got, i);
        if (!pattern_equal(p, got, pattern_wanted(p, i + span->shift, span->source)))
            tally_wrong(t, i);
    }
}

static unsigned char poison_byte(uint64_t i)
{
    return (unsigned char)(PATTERN_POISON >> (8 * (i % 8)));
}

void pattern_poison(void *base, uint64_t begin, uint64_t end)
{
    unsigned char *bytes = base;
    const uint64_t word = PATTERN_POISON;
    uint64_t i = begin;
    for (; i < end && i % 8; i++)
        bytes[i] = poison_byte(i);
    for (; i + 8 <= end; i += 8)
        memcpy(bytes + i, &word, 8);
    for (; i < end; i++)
        bytes[i] = poison_byte(i);
}

void pattern_poison_check(const void *base, uint64_t begin, uint64_t end,
                          struct pattern_tally *t)
{
    const unsigned char *bytes = base;
    const uint64_t word = PATTERN_POISON;
    for (uint64_t i = begin; i < end;) {
        if (i % 8 == 0 && i + 8 <= end && memcmp(bytes + i, &word, 8) == 0) {
            i += 8;
            continue;
        }
        if (bytes[i] != poison_byte(i))
            tally_wrong(t, i);
        i++;
    }
}

static double widen(uint64_t bits, int ebits, int mbits)
{
    int bias = (1 << (ebits - 1)) - 1;
    int exponent = (int)(bits >> mbits) & ((1 << ebits) - 1);
    double mantissa = (double)(bits & ((1ull << mbits) - 1)) / (double)(1ull << mbits);
    double sign = (bits >> (ebits + mbits)) & 1 ? -1 : 1;
    bool special = exponent == (1 << ebits) - 1;
    if (special && ebits == 4 && (bits & 7) != 7)
        special = false; /* e4m3 has numbers in its last binade, no infinity */
    if (special)
        return mantissa > 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias);
    return sign * ldexp(1 + mantissa, exponent - bias);
}

double pattern_decode(enum type type, uint64_t bits)
{
    switch (type) {
    case TYPE_INT8:
        return (int8_t)bits;
    case TYPE_UINT8:
    case TYPE_UINT32:
    case TYPE_UINT64:
        return (double)bits;
    case TYPE_INT32:
        return (int32_t)bits;
    case TYPE_INT64:
        return (double)(int64_t)bits;
    case TYPE_HALF:
        return widen(bits, 5, 10);
    case TYPE_FLOAT:
        return widen(bits, 8, 23);
    case TYPE_DOUBLE:
        return widen(bits, 11, 52);
    case TYPE_BFLOAT16:
        return widen(bits, 8, 7);
    case TYPE_F8E4M3:
        return widen(bits, 4, 3);
    case TYPE_F8E5M2:
        return widen(bits, 5, 2);
    case TYPE_COUNT:
        break;
    }
    return 0;
}

/* The rank that has position pos at an element. */
static int64_t rank_of(const struct pattern *p, uint64_t random, uint64_t pos)
{
    uint64_t n = p->nranks;
    return (int64_t)((pos + n - pattern_shift(p, random)) % n);
}

static int64_t suspect_sum(const struct pattern *p, uint64_t i, uint64_t got)
{
    uint64_t random = pattern_random(p, i);
    double divisor = p->op == OP_AVG ? p->nranks : 1;
    double missing = (pattern_decode((enum type)p->type, pattern_expected(p, i))
                      - pattern_decode((enum type)p->type, got))
                     * divisor;
    double pos = missing - (double)pattern_c(p, random);
    if (!(pos >= 0 && pos < p->k) || pos != floor(pos))
        return -1;
    return rank_of(p, random, (uint64_t)pos);
}

int64_t pattern_suspect(const struct pattern *p, uint64_t i, uint64_t got)
{
    uint64_t random = pattern_random(p, i), expected = pattern_expected(p, i);
    if (got == expected)
        return -1;
    switch ((enum pattern_mode)p->mode) {
    case PATTERN_SUM_WRAP: {
        uint64_t pos = pattern_truncate(p->type, expected - got - random);
        return pos < p->nranks ? rank_of(p, random, pos) : -1;
    }
    case PATTERN_SUM:
        return suspect_sum(p, i, got);
    case PATTERN_EXTREME: {
        uint64_t pos = p->op == OP_MAX ? p->nranks - 1 : 0;
        int64_t next = pattern_c(p, random) + (p->op == OP_MAX ? (int64_t)p->k - 1 : 1);
        return got == pattern_encode(p->type, next) ? rank_of(p, random, pos) : -1;
    }
    case PATTERN_SINGLE:
        if (got != pattern_encode(p->type, p->op == OP_PROD))
            return -1;
        return rank_of(p, random, 0);
    case PATTERN_BITS:
        break;
    }
    return -1;
}

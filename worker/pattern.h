/* pattern.h - the data of the test: what each rank sends and what all must receive.
 *
 * Both are functions of (seed, round, absolute element index, rank), so that no expected buffer
 * is kept: the same code fills and checks in C and in kernels.cu, which includes this header.
 * Pure. Does not know buffers of the GPU, offsets of an operation or what to do about an error.
 *
 * With H(i) a 64-bit hash of the index, c(i) its low bits as a number, h(i) its high bits
 * scaled to [0, n) and pos = (rank + h(i)) mod n:
 *
 *   sum of integers: rank gives H + pos, all get n*H + n(n-1)/2, wrapping.
 *
 *   sum of floats: c + pos for pos < k, else 0: k*c + k(k-1)/2; k and the range of c are such
 *   that every partial sum is an exact integer in any order.
 *
 *   max, min: c + pos, squeezed into 2^(p-1) steps so that one rank alone holds the result.
 *
 *   prod: the rank with pos 0 gives c, the others 1.
 *
 *   avg: floats and n a power of two: as sum, divided by n, exact. Else the rank with pos 0
 *   gives a number, the others 0; floats may be off by 2 units in the last place, the only
 *   tolerance there is.
 *
 *   data that is only moved: all bits random, another hash for each rank; compared as bits.
 */
#ifndef MUSTER_WORKER_PATTERN_H
#define MUSTER_WORKER_PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "worker/types.h"

#ifdef __CUDACC__
#define PATTERN_FN static __host__ __device__ __forceinline__
#else
#define PATTERN_FN static inline
#endif

/* What unused memory holds: not a number in every float type, never zero. */
#define PATTERN_POISON 0xfff7fff5fff3fff1ull

enum pattern_mode {
    PATTERN_SUM_WRAP, /* every rank gives H + pos; integers wrap */
    PATTERN_SUM,      /* ranks with pos < k give c + pos, the others 0 */
    PATTERN_EXTREME,  /* c + the share of pos, from 0 to k */
    PATTERN_SINGLE,   /* the rank with pos 0 gives scale * c, the others the identity */
    PATTERN_BITS,     /* moved, not reduced: random bits of (rank, index) */
};

/* Filled by pattern_init; passed to kernels by value. */
struct pattern {
    uint64_t key;  /* of seed and round */
    uint64_t mask; /* c = (H & mask) + low */
    int64_t low;
    uint32_t nranks;
    uint32_t k; /* sum: ranks that contribute; extreme: the largest share */
    uint32_t scale;
    uint32_t tolerance; /* in units in the last place */
    int type, op, mode;
};

/* Elements [begin, end) of a buffer and what is in them: elements begin + shift, ... of the
 * pattern (wrapping), as rank source sends them or, with source < 0, reduced over all ranks. */
struct pattern_span {
    uint64_t begin, end, shift;
    int64_t source;
};

/* What a check found; also the layout that the check kernels fill. */
struct pattern_tally {
    uint64_t wrong;       /* elements (bytes / 8 for poison) that differ */
    uint64_t first, last; /* absolute indices of wrong ones; first = UINT64_MAX if none */
    uint64_t hash;        /* of all elements read, independent of order */
};

PATTERN_FN uint64_t pattern_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* H(i); the mixing is that of SplitMix64 (Steele, Lea, Flood 2014). */
PATTERN_FN uint64_t pattern_random(const struct pattern *p, uint64_t i)
{
    return pattern_mix(p->key + i * 0x9e3779b97f4a7c15ull);
}

PATTERN_FN uint32_t pattern_shift(const struct pattern *p, uint64_t random)
{
    return (uint32_t)(((random >> 32) * p->nranks) >> 32);
}

PATTERN_FN int64_t pattern_c(const struct pattern *p, uint64_t random)
{
    return (int64_t)(random & p->mask) + p->low;
}

PATTERN_FN size_t pattern_size(int type)
{
    switch ((enum type)type) {
#define X(name, text, bytes, kind, bits)                                                       \
    case TYPE_##name:                                                                          \
        return bytes;
        TYPE_TABLE(X)
#undef X
    case TYPE_COUNT:
        break;
    }
    return 0;
}

/* f in a format of ebits exponent and mbits mantissa bits (IEEE 754 bias), to nearest even,
 * with subnormals; |f| must be below the format's largest number. */
PATTERN_FN uint64_t pattern_narrow(float f, int ebits, int mbits)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    uint32_t sign = (u >> 31) << (ebits + mbits), magnitude = u & 0x7fffffffu;
    if (magnitude == 0)
        return sign;
    int exponent = (int)(magnitude >> 23) - 127 + (1 << (ebits - 1)) - 1;
    int shift = 23 - mbits;
    if (exponent < 1) {
        shift += 1 - exponent;
        exponent = 1;
    }
    if (shift > 25)
        return sign;
    uint32_t m = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t q = m >> shift, rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
    q += (uint32_t)(rest > half || (rest == half && (q & 1)));
    return sign | ((((uint32_t)exponent - 1) << mbits) + q);
}

/* The bits of a number in a type; the type can hold it. */
PATTERN_FN uint64_t pattern_encode(int type, int64_t v)
{
    float f = (float)v;
    double d = (double)v;
    uint32_t u;
    uint64_t bits;
    switch ((enum type)type) {
    case TYPE_INT8:
    case TYPE_UINT8:
        return (uint64_t)v & 0xff;
    case TYPE_INT32:
    case TYPE_UINT32:
        return (uint64_t)v & 0xffffffffu;
    case TYPE_INT64:
    case TYPE_UINT64:
        return (uint64_t)v;
    case TYPE_HALF:
        return pattern_narrow(f, 5, 10);
    case TYPE_BFLOAT16:
        return pattern_narrow(f, 8, 7);
    case TYPE_F8E4M3:
        return pattern_narrow(f, 4, 3);
    case TYPE_F8E5M2:
        return pattern_narrow(f, 5, 2);
    case TYPE_FLOAT:
        memcpy(&u, &f, sizeof u);
        return u;
    case TYPE_DOUBLE:
        memcpy(&bits, &d, sizeof bits);
        return bits;
    case TYPE_COUNT:
        break;
    }
    return 0;
}

PATTERN_FN int pattern_is_float(int type)
{
    switch ((enum type)type) {
#define X(name, text, bytes, kind, bits)                                                       \
    case TYPE_##name:                                                                          \
        return KIND_##kind == KIND_FLOAT;
        TYPE_TABLE(X)
#undef X
    case TYPE_COUNT:
        break;
    }
    return 0;
}

/* The bits of v / n in a float type, to nearest. */
PATTERN_FN uint64_t pattern_ratio(int type, int64_t v, uint32_t n)
{
    float f = (float)v / (float)n;
    if (type == TYPE_HALF)
        return pattern_narrow(f, 5, 10);
    if (type == TYPE_BFLOAT16)
        return pattern_narrow(f, 8, 7);
    if (type == TYPE_F8E4M3)
        return pattern_narrow(f, 4, 3);
    if (type == TYPE_F8E5M2)
        return pattern_narrow(f, 5, 2);
    if (type == TYPE_DOUBLE) {
        double d = (double)v / (double)n;
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        return bits;
    }
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

PATTERN_FN uint64_t pattern_truncate(int type, uint64_t v)
{
    return pattern_size(type) == 8 ? v : v & ((1ull << (8 * pattern_size(type))) - 1);
}

/* The bits that a rank sends as element i. */
PATTERN_FN uint64_t pattern_value(const struct pattern *p, uint64_t i, uint32_t rank)
{
    uint64_t random = pattern_random(p, i);
    uint32_t pos = rank + pattern_shift(p, random);
    if (pos >= p->nranks)
        pos -= p->nranks;
    switch ((enum pattern_mode)p->mode) {
    case PATTERN_SUM_WRAP:
        return pattern_truncate(p->type, random + pos);
    case PATTERN_SUM:
        return pos < p->k ? pattern_encode(p->type, pattern_c(p, random) + pos) : 0;
    case PATTERN_EXTREME: {
        uint32_t last = p->nranks - 1, share = pos < p->k ? pos : p->k;
        if (p->op == OP_MAX)
            share = last - pos < p->k ? p->k - (last - pos) : 0;
        return pattern_encode(p->type, pattern_c(p, random) + share);
    }
    case PATTERN_SINGLE:
        if (pos == 0)
            return pattern_encode(p->type, pattern_c(p, random) * p->scale);
        return pattern_encode(p->type, p->op == OP_PROD);
    case PATTERN_BITS:
        return pattern_truncate(p->type,
                                pattern_mix(random + (rank + 1ull) * 0xd1342543de82ef95ull));
    }
    return 0;
}

/* The bits that every rank must receive as element i of a reduction. */
PATTERN_FN uint64_t pattern_expected(const struct pattern *p, uint64_t i)
{
    uint64_t random = pattern_random(p, i), n = p->nranks, k = p->k;
    int64_t c = pattern_c(p, random);
    int is_ratio = p->op == OP_AVG && pattern_is_float(p->type);
    switch ((enum pattern_mode)p->mode) {
    case PATTERN_SUM_WRAP:
        return pattern_truncate(p->type, n * random + n * (n - 1) / 2);
    case PATTERN_SUM: {
        int64_t sum = (int64_t)k * c + (int64_t)(k * (k - 1) / 2);
        return is_ratio ? pattern_ratio(p->type, sum, p->nranks) : pattern_encode(p->type, sum);
    }
    case PATTERN_EXTREME:
        return pattern_encode(p->type, p->op == OP_MAX ? c + (int64_t)k : c);
    case PATTERN_SINGLE:
        return is_ratio ? pattern_ratio(p->type, c, p->nranks) : pattern_encode(p->type, c);
    case PATTERN_BITS:
        break;
    }
    return 0;
}

/* The bits of element i of the pattern, of a rank (source >= 0) or reduced. */
PATTERN_FN uint64_t pattern_wanted(const struct pattern *p, uint64_t i, int64_t source)
{
    return source < 0 ? pattern_expected(p, i) : pattern_value(p, i, (uint32_t)source);
}

PATTERN_FN int pattern_equal(const struct pattern *p, uint64_t got, uint64_t expected)
{
    uint64_t apart = got > expected ? got - expected : expected - got;
    return apart <= p->tolerance;
}

/* One element's share of pattern_tally.hash. */
PATTERN_FN uint64_t pattern_hash(uint64_t bits, uint64_t i)
{
    return pattern_mix(bits + (i + 1) * 0x9e3779b97f4a7c15ull);
}

#ifndef __CUDACC__
#include <stdbool.h>

#include "base/err.h"

/* Whether the type can tell the ranks apart in this operation, as avg of 8-bit integers cannot
 * from 128 (signed) or 256 ranks on. */
bool pattern_can(uint32_t nranks, enum type type, enum op op);

/* -1 with ERR_USAGE where pattern_can says no. nranks >= 1. */
int pattern_init(struct pattern *p, uint64_t seed, uint32_t round, uint32_t nranks,
                 enum type type, enum op op, struct err *e);

/* For data that is only moved: any type, any number of ranks. */
void pattern_init_bits(struct pattern *p, uint64_t seed, uint32_t round, uint32_t nranks,
                       enum type type);

/* The C side of the kernels, on elements of the array at base. fill writes what the span says
 * (source >= 0); check adds to a tally that pattern_tally_init prepared, whose first, last and
 * hash go by the place in the array. */
void pattern_tally_init(struct pattern_tally *t);
void pattern_fill(const struct pattern *p, const struct pattern_span *span, void *base);
void pattern_check(const struct pattern *p, const struct pattern_span *span, const void *base,
                   struct pattern_tally *t);

/* Bytes [begin, end) of base; the pattern repeats every 8 bytes from base. wrong counts bytes,
 * first and last are byte indices, hash is unused. */
void pattern_poison(void *base, uint64_t begin, uint64_t end);
void pattern_poison_check(const void *base, uint64_t begin, uint64_t end,
                          struct pattern_tally *t);

/* The element's bits in an array of that type. */
uint64_t pattern_load(enum type type, const void *base, uint64_t i);

/* Bits as a number, for messages; integers above 2^53 lose digits. */
double pattern_decode(enum type type, uint64_t bits);

/* The rank whose share is missing if element i holds got, -1 if the difference fits no rank. */
int64_t pattern_suspect(const struct pattern *p, uint64_t i, uint64_t got);

/* As the command line spells them, static text; and the bytes of one element. */
const char *type_name(enum type type);
const char *op_name(enum op op);
size_t type_bytes(enum type type);
#endif

#endif

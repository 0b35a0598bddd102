#include "worker/host_math.h"

/* X(type, C type to compare, C type to add and multiply: unsigned, so that integers wrap, C
 * type to divide by: it holds any number of ranks) */
#define NATIVE(X)                                                                              \
    X(FLOAT, float, float, float)                                                              \
    X(DOUBLE, double, double, double)                                                          \
    X(INT8, int8_t, uint8_t, int64_t)                                                          \
    X(UINT8, uint8_t, uint8_t, int64_t)                                                        \
    X(INT32, int32_t, uint32_t, int64_t)                                                       \
    X(UINT32, uint32_t, uint32_t, int64_t)                                                     \
    X(INT64, int64_t, uint64_t, int64_t)                                                       \
    X(UINT64, uint64_t, uint64_t, uint64_t)

/* X(type, exponent bits, mantissa bits) */
#define NARROW(X)                                                                              \
    X(HALF, 5, 10)                                                                             \
    X(BFLOAT16, 8, 7)                                                                          \
    X(F8E4M3, 4, 3)                                                                            \
    X(F8E5M2, 5, 2)

#define X(name, compare, add, divisor)                                                         \
    static void reduce_##name(enum op op, void *into, const void *from, size_t n)              \
    {                                                                                          \
        add *total = into;                                                                     \
        const add *term = from;                                                                \
        compare *best = into;                                                                  \
        const compare *other = from;                                                           \
        for (size_t i = 0; i < n && (op == OP_SUM || op == OP_AVG); i++)                       \
            total[i] = (add)(total[i] + term[i]);                                              \
        for (size_t i = 0; i < n && op == OP_PROD; i++)                                        \
            total[i] = (add)(total[i] * term[i]);                                              \
        for (size_t i = 0; i < n && op == OP_MIN; i++)                                         \
            best[i] = other[i] < best[i] ? other[i] : best[i];                                 \
        for (size_t i = 0; i < n && op == OP_MAX; i++)                                         \
            best[i] = other[i] > best[i] ? other[i] : best[i];                                 \
    }                                                                                          \
    static void divide_##name(void *data, size_t n, uint32_t nranks)                           \
    {                                                                                          \
        compare *total = data;                                                                 \
        for (size_t i = 0; i < n; i++)                                                         \
            total[i] = (compare)(total[i] / (divisor)nranks);                                  \
    }
NATIVE(X)
#undef X

static float combine(enum op op, float a, float b)
{
    switch (op) {
    case OP_SUM:
    case OP_AVG:
        return a + b;
    case OP_PROD:
        return a * b;
    case OP_MIN:
        return b < a ? b : a;
    case OP_MAX:
        return b > a ? b : a;
    case OP_COUNT:
        break;
    }
    return a;
}

static float narrow_load(enum type type, const void *base, size_t i)
{
    return (float)pattern_decode(type, pattern_load(type, base, i));
}

static void narrow_store(size_t size, void *base, size_t i, uint64_t bits)
{
    memcpy((char *)base + i * size, &bits, size);
}

#define X(name, ebits, mbits)                                                                  \
    static void reduce_##name(enum op op, void *into, const void *from, size_t n)              \
    {                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                       \
            float v = combine(op, narrow_load(TYPE_##name, into, i),                           \
                              narrow_load(TYPE_##name, from, i));                              \
            narrow_store((1 + ebits + mbits) / 8, into, i, pattern_narrow(v, ebits, mbits));   \
        }                                                                                      \
    }                                                                                          \
    static void divide_##name(void *data, size_t n, uint32_t nranks)                           \
    {                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                       \
            float v = narrow_load(TYPE_##name, data, i) / (float)nranks;                       \
            narrow_store((1 + ebits + mbits) / 8, data, i, pattern_narrow(v, ebits, mbits));   \
        }                                                                                      \
    }
NARROW(X)
#undef X

static const struct {
    void (*reduce)(enum op op, void *into, const void *from, size_t n);
    void (*divide)(void *data, size_t n, uint32_t nranks);
} table[TYPE_COUNT] = {
#define X(name, ...) [TYPE_##name] = {reduce_##name, divide_##name},
    NATIVE(X) NARROW(X)
#undef X
};

void host_reduce(enum type type, enum op op, void *into, const void *from, size_t n)
{
    table[type].reduce(op, into, from, n);
}

void host_finish(enum type type, enum op op, void *data, size_t n, uint32_t nranks)
{
    if (op == OP_AVG)
        table[type].divide(data, n, nranks);
}

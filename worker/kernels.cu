// Device side of pattern.h: fill, check and poison of whole buffers, one entry point a type.
//
// Every thread takes 16-byte words in a grid stride; only the words at the two ends of a range
// are taken element by element. Buffers begin on 16 bytes. The check kernels add to a
// pattern_tally with one group of atomics a block.

#include "worker/pattern.h"

#include <cuda_runtime.h>

namespace
{

// The unsigned integer that holds an element's bits.
template <int Bytes> struct word_of;
template <> struct word_of<1> {
    typedef uint8_t type;
};
template <> struct word_of<2> {
    typedef uint16_t type;
};
template <> struct word_of<4> {
    typedef uint32_t type;
};
template <> struct word_of<8> {
    typedef uint64_t type;
};

__device__ uint64_t thread_index()
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ uint64_t thread_count()
{
    return (uint64_t)gridDim.x * blockDim.x;
}

__device__ void tally_add(pattern_tally &t, uint64_t i)
{
    t.wrong++;
    t.first = i < t.first ? i : t.first;
    t.last = i > t.last ? i : t.last;
}

// Combines the threads' tallies; 256 threads a block at most.
__device__ void tally_commit(pattern_tally t, pattern_tally *out)
{
    __shared__ pattern_tally warps[8];
    for (int step = 16; step > 0; step /= 2) {
        uint64_t first = __shfl_down_sync(0xffffffffu, (unsigned long long)t.first, step);
        uint64_t last = __shfl_down_sync(0xffffffffu, (unsigned long long)t.last, step);
        t.wrong += __shfl_down_sync(0xffffffffu, (unsigned long long)t.wrong, step);
        t.hash += __shfl_down_sync(0xffffffffu, (unsigned long long)t.hash, step);
        t.first = first < t.first ? first : t.first;
        t.last = last > t.last ? last : t.last;
    }
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = t;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (unsigned w = 1; w < blockDim.x / 32; w++) {
        t.wrong += warps[w].wrong;
        t.hash += warps[w].hash;
        t.first = warps[w].first < t.first ? warps[w].first : t.first;
        t.last = warps[w].last > t.last ? warps[w].last : t.last;
    }
    atomicAdd((unsigned long long *)&out->hash, (unsigned long long)t.hash);
    if (t.wrong == 0)
        return;
    atomicAdd((unsigned long long *)&out->wrong, (unsigned long long)t.wrong);
    atomicMin((unsigned long long *)&out->first, (unsigned long long)t.first);
    atomicMax((unsigned long long *)&out->last, (unsigned long long)t.last);
}

// Elements i, ... of the pattern that share eight bytes.
template <int Type, int Bytes>
__device__ __forceinline__ uint64_t half_word(const pattern &p, uint64_t i, uint32_t rank)
{
    uint64_t bits = 0;
#pragma unroll 2
    for (int j = 0; j < 8 / Bytes; j++)
        bits |= pattern_value(&p, i + j, rank) << (8 * Bytes * j);
    return bits;
}

template <int Type, int Bytes>
__device__ void fill(void *base, pattern_span s, pattern p)
{
    typedef typename word_of<Bytes>::type T;
    const uint64_t per = 16 / Bytes;
    const uint32_t rank = (uint32_t)s.source;
    p.type = Type;
    for (uint64_t w = s.begin / per + thread_index(); w * per < s.end; w += thread_count()) {
        uint64_t i = w * per;
        if (i >= s.begin && i + per <= s.end) {
            ulonglong2 both;
            both.x = half_word<Type, Bytes>(p, i + s.shift, rank);
            both.y = half_word<Type, Bytes>(p, i + s.shift + per / 2, rank);
            ((ulonglong2 *)base)[w] = both;
            continue;
        }
        for (uint64_t j = i < s.begin ? s.begin : i; j < i + per && j < s.end; j++)
            ((T *)base)[j] = (T)pattern_value(&p, j + s.shift, rank);
    }
}

// got is element i of the array.
__device__ __forceinline__ void check_one(const pattern &p, const pattern_span &s, uint64_t got,
                                          uint64_t i, pattern_tally &t)
{
    t.hash += pattern_hash(got, i);
    if (!pattern_equal(&p, got, pattern_wanted(&p, i + s.shift, s.source)))
        tally_add(t, i);
}

template <int Bytes>
__device__ __forceinline__ void check_half(const pattern &p, const pattern_span &s, uint64_t bits,
                                           uint64_t i, pattern_tally &t)
{
    const uint64_t mask = ~0ull >> (64 - 8 * Bytes);
#pragma unroll 2
    for (int j = 0; j < 8 / Bytes; j++)
        check_one(p, s, (bits >> (8 * Bytes * j)) & mask, i + j, t);
}

template <int Type, int Bytes>
__device__ void check(const void *base, pattern_span s, pattern p, pattern_tally *out)
{
    typedef typename word_of<Bytes>::type T;
    const uint64_t per = 16 / Bytes;
    pattern_tally t = {0, UINT64_MAX, 0, 0};
    p.type = Type;
    for (uint64_t w = s.begin / per + thread_index(); w * per < s.end; w += thread_count()) {
        uint64_t i = w * per;
        if (i >= s.begin && i + per <= s.end) {
            ulonglong2 both = ((const ulonglong2 *)base)[w];
            check_half<Bytes>(p, s, both.x, i, t);
            check_half<Bytes>(p, s, both.y, i + per / 2, t);
            continue;
        }
        for (uint64_t j = i < s.begin ? s.begin : i; j < i + per && j < s.end; j++)
            check_one(p, s, ((const T *)base)[j], j, t);
    }
    tally_commit(t, out);
}

__device__ uint8_t poison_byte(uint64_t i)
{
    return (uint8_t)(PATTERN_POISON >> (8 * (i % 8)));
}

__device__ uint4 poison_quad()
{
    const uint32_t low = (uint32_t)PATTERN_POISON, high = (uint32_t)(PATTERN_POISON >> 32);
    return make_uint4(low, high, low, high);
}

} // namespace

#define X(name, text, bytes, kind, bits)                                                       \
    extern "C" __global__ void __launch_bounds__(256)                                          \
        mw_fill_##name(void *base, pattern_span s, pattern p)                                  \
    {                                                                                          \
        fill<TYPE_##name, bytes>(base, s, p);                                                  \
    }                                                                                          \
    extern "C" __global__ void __launch_bounds__(256)                                          \
        mw_check_##name(const void *base, pattern_span s, pattern p, pattern_tally *out)       \
    {                                                                                          \
        check<TYPE_##name, bytes>(base, s, p, out);                                            \
    }
TYPE_TABLE(X)
#undef X

// Bytes [begin, end).
extern "C" __global__ void __launch_bounds__(256)
    mw_poison(void *base, uint64_t begin, uint64_t end)
{
    for (uint64_t w = begin / 16 + thread_index(); w * 16 < end; w += thread_count()) {
        uint64_t i = w * 16;
        if (i >= begin && i + 16 <= end) {
            ((uint4 *)base)[w] = poison_quad();
            continue;
        }
        for (uint64_t j = i < begin ? begin : i; j < i + 16 && j < end; j++)
            ((uint8_t *)base)[j] = poison_byte(j);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    mw_poison_check(const void *base, uint64_t begin, uint64_t end, pattern_tally *out)
{
    pattern_tally t = {0, UINT64_MAX, 0, 0};
    const uint4 clean = poison_quad();
    for (uint64_t w = begin / 16 + thread_index(); w * 16 < end; w += thread_count()) {
        uint64_t i = w * 16;
        if (i >= begin && i + 16 <= end) {
            uint4 q = ((const uint4 *)base)[w];
            if (q.x == clean.x && q.y == clean.y && q.z == clean.z && q.w == clean.w)
                continue;
        }
        for (uint64_t j = i < begin ? begin : i; j < i + 16 && j < end; j++)
            if (((const uint8_t *)base)[j] != poison_byte(j))
                tally_add(t, j);
    }
    tally_commit(t, out);
}

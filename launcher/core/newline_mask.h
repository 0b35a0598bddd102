/* newline_mask.h - which bytes of a block are newlines, all of them at once. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_NEWLINE_MASK_H
#define MUSTER_LAUNCHER_CORE_NEWLINE_MASK_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { NEWLINE_MASK_BYTES = 64 }; /* of a block */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");

/* Bit i: byte i of the eight at p is a newline. What is added to the low seven bits of a byte
 * reaches its top bit unless they are zero, and never the next byte (Hacker's Delight, 6-1);
 * the product moves the eight top bits together. */
static inline uint64_t newline_mask_of_word(const char *p)
{
    const uint64_t ones = UINT64_MAX / 0xff, lows = ones * 0x7f;
    uint64_t v;
    memcpy(&v, p, sizeof v);
    v ^= ones * '\n';
    uint64_t tops = ~(((v & lows) + lows) | v | lows);
    return (tops >> 7) * 0x0102040810204080 >> 56;
}

/* What newline_mask is where there are no vectors of 16 bytes. */
static inline uint64_t newline_mask_by_words(const char *p)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < NEWLINE_MASK_BYTES; i += sizeof mask)
        mask |= newline_mask_of_word(p + i) << i;
    return mask;
}

/* Bit i: p[i] is a newline. p: NEWLINE_MASK_BYTES of them, anywhere. */
static inline uint64_t newline_mask(const char *p)
{
#ifdef __SSE2__
    const __m128i newline = _mm_set1_epi8('\n');
    uint64_t mask = 0;
    for (unsigned i = 0; i < NEWLINE_MASK_BYTES; i += sizeof newline) {
        __m128i bytes = _mm_loadu_si128((const void *)(p + i));
        int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, newline));
        mask |= (uint64_t)(unsigned)found << i;
    }
    return mask;
#else
    return newline_mask_by_words(p);
#endif
}

#endif

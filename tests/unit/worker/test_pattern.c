/* The patterns against emulated collectives: ranks' values reduced in the type's own arithmetic
 * must give what pattern_expected says, for every type, operation and up to 16 ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <stdbool.h>
#include <cmocka.h>

#include "worker/host_math.h"
#include "worker/pattern.h"

enum { ELEMENTS = 64 };

/* a op b, rounded to the type after every step, as a collective may do it. */
static uint64_t round_to(enum type type, double v)
{
    float f = (float)v;
    uint32_t u;
    uint64_t bits;
    switch (type) {
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
    default:
        memcpy(&bits, &v, sizeof bits);
        return bits;
    }
}

static uint64_t mask_of(enum type type)
{
    return type_bytes(type) == 8 ? UINT64_MAX : (1ull << (8 * type_bytes(type))) - 1;
}

static uint64_t reduce_int(enum type type, enum op op, uint64_t a, uint64_t b)
{
    bool is_signed = type == TYPE_INT8 || type == TYPE_INT32 || type == TYPE_INT64;
    unsigned shift = (unsigned)(64 - 8 * type_bytes(type));
    bool less = is_signed ? (int64_t)(a << shift) < (int64_t)(b << shift) : a < b;
    switch (op) {
    case OP_SUM:
    case OP_AVG:
        return (a + b) & mask_of(type);
    case OP_PROD:
        return (a * b) & mask_of(type);
    case OP_MAX:
        return less ? b : a;
    case OP_MIN:
        return less ? a : b;
    case OP_COUNT:
        break;
    }
    return 0;
}

static uint64_t reduce(enum type type, enum op op, uint64_t a, uint64_t b)
{
    if (!pattern_is_float((int)type))
        return reduce_int(type, op, a, b);
    double x = pattern_decode(type, a), y = pattern_decode(type, b);
    switch (op) {
    case OP_SUM:
    case OP_AVG:
        return round_to(type, x + y);
    case OP_PROD:
        return round_to(type, x * y);
    case OP_MAX:
        return x < y ? b : a;
    case OP_MIN:
        return x < y ? a : b;
    case OP_COUNT:
        break;
    }
    return 0;
}

/* avg as NCCL does it: floats are scaled by 1/n before the sum, integers divided after it. */
static uint64_t share(const struct pattern *p, uint64_t i, uint32_t rank)
{
    enum type type = (enum type)p->type;
    uint64_t v = pattern_value(p, i, rank);
    if (p->op != OP_AVG || !pattern_is_float(p->type))
        return v;
    double scale = pattern_decode(type, round_to(type, 1.0 / p->nranks));
    return round_to(type, pattern_decode(type, v) * scale);
}

static uint64_t collective(const struct pattern *p, uint64_t i, uint32_t start, int64_t without)
{
    uint64_t sum = 0;
    bool begun = false;
    for (uint32_t r = 0; r < p->nranks; r++) {
        uint32_t rank = (start + r) % p->nranks;
        if (rank == without)
            continue;
        uint64_t v = share(p, i, rank);
        sum = begun ? reduce((enum type)p->type, (enum op)p->op, sum, v) : v;
        begun = true;
    }
    bool divides = p->op == OP_AVG && !pattern_is_float(p->type) && p->nranks > 0;
    return divides ? sum / p->nranks : sum;
}

static void all_types_and_ops_reduce_to_the_expected_value(void **state)
{
    (void)state;
    for (int type = 0; type < TYPE_COUNT; type++)
        for (int op = 0; op < OP_COUNT; op++)
            for (uint32_t n = 1; n <= 16; n++) {
                struct pattern p;
                struct err e;
                assert_int_equal(pattern_init(&p, 7, 3, n, (enum type)type, (enum op)op, &e),
                                 0);
                for (uint64_t i = 1000; i < 1000 + ELEMENTS; i++) {
                    uint64_t got = collective(&p, i, (uint32_t)(i % n), -1);
                    if (!pattern_equal(&p, got, pattern_expected(&p, i)))
                        fail_msg("%s %s n=%u i=%llu: got %g expected %g",
                                 type_name((enum type)type), op_name((enum op)op), n,
                                 (unsigned long long)i, pattern_decode((enum type)type, got),
                                 pattern_decode((enum type)type, pattern_expected(&p, i)));
                }
            }
}

/* Leaving one rank out must be seen, and blamed on that rank where the arithmetic allows it. */
static void a_missing_share_is_seen_and_named(void **state)
{
    (void)state;
    for (int type = 0; type < TYPE_COUNT; type++)
        for (int op = 0; op < OP_COUNT; op++)
            for (uint32_t n = 2; n <= 16; n++)
                for (uint32_t without = 0; without < n; without += 3) {
                    struct pattern p;
                    assert_int_equal(
                        pattern_init(&p, 9, 1, n, (enum type)type, (enum op)op, NULL), 0);
                    unsigned seen = 0, named = 0, misnamed = 0;
                    for (uint64_t i = 0; i < 512; i++) {
                        uint64_t got = collective(&p, i, 0, without);
                        if (pattern_equal(&p, got, pattern_expected(&p, i)))
                            continue;
                        seen++;
                        int64_t suspect = pattern_suspect(&p, i, got);
                        named += suspect == without;
                        misnamed += suspect >= 0 && suspect != without;
                    }
                    if (seen == 0 || named == 0 || misnamed > 0)
                        fail_msg("%s %s n=%u without %u: seen %u named %u misnamed %u",
                                 type_name((enum type)type), op_name((enum op)op), n, without,
                                 seen, named, misnamed);
                }
}

static void floats_sum_exactly_with_a_thousand_ranks(void **state)
{
    (void)state;
    const enum type all[] = {TYPE_HALF, TYPE_FLOAT, TYPE_DOUBLE, TYPE_BFLOAT16, TYPE_F8E4M3};
    for (size_t t = 0; t < sizeof all / sizeof all[0]; t++) {
        struct pattern p;
        assert_int_equal(pattern_init(&p, 1, 0, 1024, all[t], OP_SUM, NULL), 0);
        for (uint64_t i = 0; i < 8; i++)
            assert_int_equal(collective(&p, i, 17, -1), pattern_expected(&p, i));
    }
}

static void narrow_formats_have_their_known_bits(void **state)
{
    (void)state;
    assert_int_equal(pattern_encode(TYPE_HALF, 1), 0x3c00);
    assert_int_equal(pattern_encode(TYPE_HALF, -2048), 0xe800);
    assert_int_equal(pattern_ratio(TYPE_HALF, 1, 3), 0x3555);
    assert_int_equal(pattern_narrow(ldexpf(1, -24), 5, 10), 1);
    assert_int_equal(pattern_narrow(ldexpf(3, -16), 5, 10), 0x0300);
    assert_int_equal(pattern_narrow(ldexpf(1, -14), 5, 10), 0x0400);
    assert_int_equal(pattern_encode(TYPE_BFLOAT16, -3), 0xc040);
    assert_int_equal(pattern_encode(TYPE_F8E4M3, 16), 0x58);
    assert_int_equal(pattern_encode(TYPE_F8E4M3, 1), 0x38);
    assert_int_equal(pattern_encode(TYPE_F8E5M2, -8), 0xc8);
    for (int v = -15; v <= 16; v++)
        assert_true(pattern_decode(TYPE_F8E4M3, pattern_encode(TYPE_F8E4M3, v)) == v);
    for (int v = -2048; v <= 2048; v++)
        assert_true(pattern_decode(TYPE_HALF, pattern_encode(TYPE_HALF, v)) == v);
}

static void check_finds_what_was_changed(void **state)
{
    (void)state;
    uint16_t data[300];
    struct pattern p;
    struct pattern_tally clean, dirty;
    assert_int_equal(pattern_init(&p, 5, 0, 1, TYPE_HALF, OP_SUM, NULL), 0);
    const struct pattern_span sent = {3, 299, 40, 0}, all = {3, 299, 40, -1};
    pattern_fill(&p, &sent, data);
    pattern_tally_init(&clean);
    pattern_check(&p, &all, data, &clean);
    assert_int_equal(clean.wrong, 0);
    data[7] ^= 1;
    data[200] ^= 0x8000;
    pattern_tally_init(&dirty);
    pattern_check(&p, &all, data, &dirty);
    assert_int_equal(dirty.wrong, 2);
    assert_int_equal(dirty.first, 7);
    assert_int_equal(dirty.last, 200);
    assert_true(dirty.hash != clean.hash);
}

/* Bits that are only moved tell rank and place: another rank's, or shifted ones, are wrong. */
static void moved_data_tells_its_source(void **state)
{
    (void)state;
    for (int type = 0; type < TYPE_COUNT; type++) {
        uint64_t data[64];
        struct pattern p;
        struct pattern_tally t;
        const struct pattern_span sent = {0, 64, 7, 2}, other = {0, 64, 7, 1},
                                  shifted = {0, 64, 8, 2};
        pattern_init_bits(&p, 5, 0, 4, (enum type)type);
        pattern_fill(&p, &sent, data);
        pattern_tally_init(&t);
        pattern_check(&p, &sent, data, &t);
        assert_int_equal(t.wrong, 0);
        pattern_check(&p, &other, data, &t);
        assert_true(t.wrong > 48);
        pattern_tally_init(&t);
        pattern_check(&p, &shifted, data, &t);
        assert_true(t.wrong > 48);
    }
}

static void poison_shows_every_byte_written(void **state)
{
    (void)state;
    unsigned char data[100] = {0};
    struct pattern_tally t;
    pattern_poison(data, 5, 95);
    pattern_tally_init(&t);
    pattern_poison_check(data, 5, 95, &t);
    assert_int_equal(t.wrong, 0);
    assert_int_equal(data[4], 0);
    assert_int_equal(data[95], 0);
    for (size_t i = 5; i < 95; i++) {
        data[i] ^= 0x10;
        pattern_tally_init(&t);
        pattern_poison_check(data, 5, 95, &t);
        assert_int_equal(t.wrong, 1);
        assert_int_equal(t.first, i);
        assert_int_equal(t.last, i);
        data[i] ^= 0x10;
    }
}

static void avg_of_bytes_is_refused_where_it_says_nothing(void **state)
{
    (void)state;
    struct pattern p;
    struct err e;
    assert_int_equal(pattern_init(&p, 0, 0, 127, TYPE_INT8, OP_AVG, &e), 0);
    assert_int_equal(pattern_init(&p, 0, 0, 128, TYPE_INT8, OP_AVG, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
}

/* The host backend divides by numbers of ranks that the type itself does not hold. */
static void avg_of_bytes_divides_by_many_ranks(void **state)
{
    (void)state;
    uint8_t large[] = {255, 7};
    int8_t small[] = {-100, 127};
    host_finish(TYPE_UINT8, OP_AVG, large, 2, 256);
    assert_int_equal(large[0], 0);
    host_finish(TYPE_INT8, OP_AVG, small, 2, 128);
    assert_int_equal(small[0], 0);
    assert_int_equal(small[1], 0);
    assert_true(pattern_can(127, TYPE_INT8, OP_AVG) && !pattern_can(128, TYPE_INT8, OP_AVG));
    assert_true(pattern_can(255, TYPE_UINT8, OP_AVG) && !pattern_can(256, TYPE_UINT8, OP_AVG));
    assert_true(pattern_can(4096, TYPE_F8E5M2, OP_AVG) && pattern_can(4096, TYPE_INT8, OP_SUM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_and_ops_reduce_to_the_expected_value),
        cmocka_unit_test(a_missing_share_is_seen_and_named),
        cmocka_unit_test(floats_sum_exactly_with_a_thousand_ranks),
        cmocka_unit_test(narrow_formats_have_their_known_bits),
        cmocka_unit_test(check_finds_what_was_changed),
        cmocka_unit_test(moved_data_tells_its_source),
        cmocka_unit_test(poison_shows_every_byte_written),
        cmocka_unit_test(avg_of_bytes_is_refused_where_it_says_nothing),
        cmocka_unit_test(avg_of_bytes_divides_by_many_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

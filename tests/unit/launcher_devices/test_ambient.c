/* ambient: every row of ambient.tsv, and what the table does not say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "launcher/core/ambient.h"
#include "vector.h"

static char *units_text(const struct inventory *inv, const struct visible *seen)
{
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i < seen->nunits; i++) {
        if (i)
            buf_addc(&b, ',');
        gpu_unit_format(inv, seen->units[i], &b);
    }
    return buf_steal(&b);
}

static void check_row(const struct vector *v, int row, const struct inventory *inv)
{
    struct ambient amb = {vector_get(v, row, "cvd"), vector_get(v, row, "order"), false};
    struct visible seen;
    struct err e;
    struct gpu_fault f = {.e = &e};
    const char *error = vector_get(v, row, "error");
    int rc = ambient_enumerate(&amb, inv, &seen, &f);
    if (error) {
        assert_int_equal(rc, -1);
        assert_string_equal(gpu_error_name(f.class), error);
        assert_int_equal(e.code, ERR_GPU_REQUEST);
        assert_int_equal(vector_int(v, row, "cuinit", -1), 101);
        return;
    }
    assert_int_equal(rc, 0);
    char *units = units_text(inv, &seen);
    assert_string_equal(units, vector_get(v, row, "units"));
    free(units);
    assert_int_equal(vector_int(v, row, "cuinit", -1), seen.nunits ? 0 : 100);
    const char *warnings = vector_get(v, row, "warnings");
    assert_int_equal(seen.tail != NULL, strstr(warnings, "W_TRUNC") != NULL);
    assert_int_equal(seen.sloppy.p != NULL, strstr(warnings, "W_SLOPPY") != NULL);
    if (seen.tail)
        assert_string_equal(seen.tail, vector_get(v, row, "tail"));
    visible_fini(&seen);
}

static void agrees_with_every_row(void **state)
{
    (void)state;
    struct vector *v = vector_open("ambient.tsv");
    assert_int_equal(v->nrows, 60);
    for (int row = 0; row < v->nrows; row++) {
        print_message("%s (%d of %d)\n", vector_get(v, row, "id"), row + 1, v->nrows);
        struct inventory inv = vector_inventory(vector_get(v, row, "inventory"));
        check_row(v, row, &inv);
        inventory_fini(&inv);
    }
    vector_close(v);
}

static char *enumerate(const char *inventory, const char *cvd)
{
    struct inventory inv = vector_inventory(inventory);
    struct visible seen;
    struct gpu_fault f = {0};
    struct ambient amb = {.cvd = cvd};
    if (ambient_enumerate(&amb, &inv, &seen, &f) != 0) {
        inventory_fini(&inv);
        return strdup(gpu_error_name(f.class));
    }
    char *units = units_text(&inv, &seen);
    visible_fini(&seen);
    inventory_fini(&inv);
    return units;
}

static void names_mig_instances(void **state)
{
    (void)state;
    static const struct {
        const char *cvd, *units;
    } rows[] = {
        {"MIG-bbbb", "0:1"},
        {"MIG-cccc0003,MIG-aaaa0001", "0:2,0:0"},
        {"MIG-bbbb,MIG-bbbb0002", "E_AMBIENT_BAD"},
        {"MIG-GPU-1f0a55c3-0000-4000-8000-00000000000a/9/0", "0:2"},
        {"MIG-GPU-1f0a55c3-0000-4000-8000-00000000000a/9/1", ""},
        {"MIG-GPU-1f0a55c3-0000-4000-8000-00000000000a/9", ""},
        {"MIG-1f0a55c3", ""}, /* the parent, whose MIG mode is on */
        {"MIG-7c22aa01", "1"},
        {"GPU-1f0a55c3", "0"},
        {"1,0", "1,0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *units = enumerate("NMIG", rows[i].cvd);
        assert_string_equal(units, rows[i].units);
        free(units);
    }
}

static void numbers_wrap_as_strtoull(void **state)
{
    (void)state;
    static const struct {
        const char *cvd, *units;
    } rows[] = {
        {"-18446744073709551615", "1"}, /* minus (2^64 - 1) is 1 */
        {"-18446744073709551616", ""},  /* saturated */
        {"18446744069414584322", "2"},  /* 2^64 - 2^32 + 2 */
        {"-4294967295", "1"},           {"+-1", ""}, {"- 1", ""}, {"\v\f\r1", "1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *units = enumerate("N4", rows[i].cvd);
        assert_string_equal(units, rows[i].units);
        free(units);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_every_row),
        cmocka_unit_test(names_mig_instances),
        cmocka_unit_test(numbers_wrap_as_strtoull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

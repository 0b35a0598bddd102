/* gpus_view, gpus_words, gpus_render, and the JSON of the same: over the inventories of the
 * vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/gpus_render.h"
#include "launcher/io/gpus_json.h"
#include "vector.h"

static const char *const no_environment[] = {NULL};

struct fixture {
    struct inventory inv;
    struct facts facts;
    struct options opt;
    struct gpus_view view;
    struct buf text;
};

/* args: option words up to NULL. inventory NULL = none. */
static void look(struct fixture *f, const char *inventory, const char *const *environment,
                 const char *const *args, unsigned width)
{
    struct err e;
    *f = (struct fixture){0};
    if (inventory)
        f->inv = vector_inventory(inventory);
    f->facts = (struct facts){
        .host = "h", .environment = environment, .inventory = inventory ? &f->inv : NULL};
    const struct gpus_source source = {
        .name = inventory ? "NVML" : NULL, .why = "NVML: it is away", .nbus = -1};
    assert_int_equal(options_parse_command(OPTIONS_GPUS, (char *const *)(uintptr_t)args,
                                           no_environment, &f->opt, &e),
                     0);
    gpus_view_init(&f->view, &f->opt, &f->facts, &source);
    buf_init(&f->text, 0);
    gpus_render(&f->view, width, &f->text);
}

static void drop(struct fixture *f)
{
    buf_fini(&f->text);
    gpus_view_fini(&f->view);
    inventory_fini(&f->inv);
}

static size_t longest_line(const char *text)
{
    struct str rest = str_from(text), line;
    size_t n = 0;
    while (str_split(&rest, '\n', &line))
        n = line.n > n ? line.n : n;
    return n;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Every field is there at every width; what does not fit goes to the second line of a GPU. */
static void columns_move_and_none_is_cut(void **state)
{
    (void)state;
    static const char *const uuids[] = {"GPU-1f0a55c3-0000-4000-8000-00000000000a",
                                        "GPU-e5d4bb02-0000-4000-8000-00000000000d",
                                        "00000000:CA:00.0", "NVIDIA H200", "411 / 143771"};
    static const unsigned widths[] = {20, 60, 80, 100, 132, 300};
    const char *const args[] = {NULL};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct fixture f;
        look(&f, "N4", no_environment, args, widths[i]);
        for (size_t k = 0; k < sizeof uuids / sizeof *uuids; k++)
            assert_non_null(strstr(buf_str(&f.text), uuids[k]));
        if (widths[i] >= 80)
            assert_true(longest_line(buf_str(&f.text)) <= widths[i]);
        size_t lines = widths[i] >= 132 ? 5 : 10; /* a title and four GPUs */
        assert_true(strstr(buf_str(&f.text), "\n\n") != NULL);
        size_t table = (size_t)(strstr(buf_str(&f.text), "\n\n") - buf_str(&f.text)) + 1;
        char *head = mem_printf("%.*s", (int)table, buf_str(&f.text));
        assert_int_equal(count_lines(head), lines);
        free(head);
        drop(&f);
    }
}

static void rows_know_place_and_ranks(void **state)
{
    (void)state;
    const char *const environment[] = {"CUDA_VISIBLE_DEVICES=2,0,1", NULL};
    const char *const args[] = {"--gpus", "0,2", "--procs-per-gpu", "2", NULL};
    struct fixture f;
    look(&f, "N4", environment, args, 100);
    static const int position[] = {1, 2, 0, -1};
    static const char *const ranks[] = {NULL, "2,3", "0,1", NULL};
    assert_int_equal(f.view.nrows, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f.view.rows[i].position, position[i]);
        if (ranks[i])
            assert_string_equal(f.view.rows[i].ranks, ranks[i]);
        else
            assert_null(f.view.rows[i].ranks);
    }
    assert_int_equal(gpus_view_status(&f.view), 0);
    drop(&f);
}

static void statuses(void **state)
{
    (void)state;
    const char *const none[] = {NULL}, *const nine[] = {"--gpus", "9", NULL};
    const char *const twice[] = {"CUDA_VISIBLE_DEVICES=0,0", NULL};
    struct fixture f;
    look(&f, "N4", no_environment, nine, 100);
    assert_int_equal(gpus_view_status(&f.view), 2);
    drop(&f);
    look(&f, "N4", twice, none, 100); /* nothing was asked for: it is an answer */
    assert_int_equal(gpus_view_status(&f.view), 0);
    assert_false(f.view.has_seen);
    drop(&f);
    look(&f, NULL, no_environment, none, 100);
    assert_int_equal(gpus_view_status(&f.view), 78);
    assert_non_null(strstr(buf_str(&f.text), "NVML: it is away"));
    drop(&f);
}

/* Every ambient vector: what the words say of a dropped rest, of 100 and of 101 is the table's.
 */
static void words_of_every_ambient_value(void **state)
{
    (void)state;
    struct vector *v = vector_open("ambient.tsv");
    for (int row = 0; row < v->nrows; row++) {
        const char *cvd = vector_get(v, row, "cvd"), *order = vector_get(v, row, "order");
        const char *tail = vector_get(v, row, "tail");
        int cuinit = vector_int(v, row, "cuinit", -1);
        char *a = cvd ? mem_printf("CUDA_VISIBLE_DEVICES=%s", cvd) : NULL;
        char *b = order ? mem_printf("CUDA_DEVICE_ORDER=%s", order) : NULL;
        const char *const environment[] = {a ? a : b, a ? b : NULL, NULL};
        const char *const args[] = {NULL};
        struct fixture f;
        struct buf json;
        look(&f, vector_get(v, row, "inventory"), environment, args, 1000);
        const char *text = buf_str(&f.text);
        assert_int_equal(strstr(text, "error 101") != NULL, cuinit == 101);
        assert_int_equal(strstr(text, "error 100") != NULL, cuinit == 100);
        if (tail && !f.view.seen.blank)
            assert_non_null(strstr(text, "stops reading CUDA_VISIBLE_DEVICES at"));
        buf_init(&json, 0);
        gpus_json(&f.view, &json);
        char *expected = mem_printf("\"cuinit\": %d,", cuinit);
        assert_non_null(strstr(buf_str(&json), expected));
        for (const char *p = text; *p; p++)
            assert_true((unsigned char)*p >= ' ' || *p == '\n');
        free(expected);
        buf_fini(&json);
        drop(&f);
        free(a);
        free(b);
    }
    assert_true(v->nrows >= 60);
    vector_close(v);
}

/* No inventory and option brings it down, whatever they are. */
static void every_inventory_and_binding(void **state)
{
    (void)state;
    static const char *const inventories[] = {"N1",    "N4",    "N8",    "NMIG", "NHET",
                                              "NBUSY", "NLOST", "NPROH", "NEXCL"};
    static const char *const bindings[] = {"shared", "isolated", "isolated-virtual", "rotated",
                                           "none"};
    for (size_t i = 0; i < sizeof inventories / sizeof *inventories; i++) {
        for (size_t k = 0; k < sizeof bindings / sizeof *bindings; k++) {
            const char *const args[] = {"--binding", bindings[k], NULL};
            struct fixture f;
            struct buf json;
            look(&f, inventories[i], no_environment, args, 100);
            buf_init(&json, 0);
            gpus_json(&f.view, &json);
            assert_non_null(strstr(buf_str(&json), "\"schema\": \"muster-gpus/1\""));
            buf_fini(&json);
            drop(&f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_move_and_none_is_cut),
        cmocka_unit_test(rows_know_place_and_ranks),
        cmocka_unit_test(statuses),
        cmocka_unit_test(words_of_every_ambient_value),
        cmocka_unit_test(every_inventory_and_binding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

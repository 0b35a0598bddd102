/* device_select: every row of resolve.tsv. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/core/device_select.h"
#include "vector.h"

/* A row's inputs, with what has to be released. */
struct input {
    struct request req;
    struct ambient amb;
    struct inventory inv;
    bool has_inventory;
    struct gpu_spec spec;
    struct require require;
    const char *probe[VECTOR_LIST];
};

static void read_request(const struct vector *v, int row, struct request *req)
{
    const char *flags = vector_get(v, row, "flags");
    req->n = vector_int(v, row, "n", 0);
    req->procs_per_gpu = vector_int(v, row, "procs_per_gpu", 0);
    req->gpus_per_proc = vector_int(v, row, "gpus_per_proc", 0);
    req->ignore_visible = strstr(flags, "ignore_visible") != NULL;
    req->strict_env = strstr(flags, "strict_env") != NULL;
    req->skip_unhealthy = strstr(flags, "skip_unhealthy") != NULL;
    assert_int_equal(dist_parse(str_from(vector_get(v, row, "dist")), &req->dist), 0);
    assert_int_equal(binding_parse(str_from(vector_get(v, row, "binding")), &req->binding), 0);
    assert_int_equal(gpu_format_parse(str_from(vector_get(v, row, "format")), &req->format), 0);
}

/* 0, or -1 where the text of --gpus or --gpu-require is already wrong. */
static int read_input(const struct vector *v, int row, struct input *in, struct err *e)
{
    *in = (struct input){0};
    read_request(v, row, &in->req);
    in->amb = (struct ambient){vector_get(v, row, "cvd"), vector_get(v, row, "order"),
                               vector_int(v, row, "mps", 0) == 1};
    const char *name = vector_get(v, row, "inventory");
    if (name) {
        in->inv = vector_inventory(name);
        in->has_inventory = true;
    }
    int n = vector_list(v, row, "probe", ',', false, in->probe);
    if (n >= 0) {
        in->inv.probe = in->probe;
        in->inv.nprobe = n;
    }
    const char *gpus = vector_get(v, row, "gpus"), *require = vector_get(v, row, "require");
    if (gpus) {
        if (gpu_spec_parse(gpus, &in->spec, e) != 0)
            return -1;
        in->req.spec = &in->spec;
    }
    if (require) {
        if (gpu_require_parse(require, &in->require, e) != 0)
            return -1;
        in->req.require = &in->require;
    }
    return 0;
}

static void free_input(struct input *in)
{
    gpu_spec_fini(&in->spec);
    inventory_fini(&in->inv);
}

static void check_texts(const struct vector *v, int row, const char *text)
{
    const char *want[VECTOR_LIST];
    int n = vector_list(v, row, "text", '|', false, want);
    for (int i = 0; i < n; i++)
        if (!strstr(text, want[i]))
            fail_msg("\"%s\" lacks \"%s\"", text, want[i]);
}

static void check_selection(const struct vector *v, int row, const struct input *in,
                            const struct device_choice *c)
{
    const char *want = vector_get(v, row, "selection");
    if (!want) {
        assert_false(c->units_known);
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i < c->nunits; i++) {
        buf_adds(&b, i ? "," : "");
        gpu_unit_format(&in->inv, c->units[i], &b);
    }
    assert_true(c->units_known);
    assert_string_equal(buf_str(&b), want);
    buf_fini(&b);
}

static void check_text_or_null(const char *got, const char *want)
{
    assert_int_equal(got != NULL, want != NULL);
    if (want)
        assert_string_equal(got, want);
}

static void check_ranks(const struct vector *v, int row, const struct input *in,
                        const struct device_choice *c)
{
    const char *cvd[VECTOR_LIST], *dev[VECTOR_LIST], *local[VECTOR_LIST];
    int n = vector_list(v, row, "local_rank_by_rank", '|', true, local);
    assert_int_equal(c->nranks, n);
    assert_int_equal(vector_list(v, row, "cvd_by_rank", '|', true, cvd), n);
    assert_int_equal(vector_list(v, row, "dev_by_rank", '|', true, dev), n);
    for (int r = 0; r < n; r++) {
        const struct rank_device *rd = &c->ranks[r];
        check_text_or_null(rd->cvd ? rd->cvd : in->amb.cvd, cvd[r]);
        check_text_or_null(rd->order ? rd->order : in->amb.order,
                           vector_get(v, row, "device_order"));
        assert_int_equal(rd->dev, atoi(dev[r]));
        assert_int_equal(rd->local_rank, atoi(local[r]));
    }
}

static void check_warnings(const struct vector *v, int row, const struct device_choice *c)
{
    const char *want[VECTOR_LIST];
    int n = vector_list(v, row, "warnings", ',', false, want);
    struct buf text;
    buf_init(&text, 0);
    for (int i = 0; i < c->nnotes; i++) {
        bool found = false;
        for (int j = 0; j < n; j++)
            found |= !strcmp(want[j], gpu_warning_name(c->notes[i].kind));
        if (!found)
            fail_msg("unexpected %s", gpu_warning_name(c->notes[i].kind));
        buf_addf(&text, "%s\n", c->notes[i].text);
        print_message("    %s: %s\n", gpu_warning_name(c->notes[i].kind), c->notes[i].text);
    }
    assert_int_equal(c->nnotes, n);
    check_texts(v, row, buf_str(&text));
    buf_fini(&text);
}

static void check_row(const struct vector *v, int row)
{
    struct input in;
    struct device_choice c = {.error = GPU_E_SYNTAX}; /* what a parse failure is */
    struct err e;
    int rc = read_input(v, row, &in, &e);
    if (rc == 0)
        rc = device_resolve(&in.req, &in.amb, in.has_inventory ? &in.inv : NULL, &c, &e);
    const char *error = vector_get(v, row, "error");
    if (rc != 0)
        print_message("    %s\n", e.text);
    assert_int_equal(rc, error ? -1 : 0);
    if (error) {
        assert_string_equal(gpu_error_name(c.error), error);
        assert_int_equal(err_exit_status(e.code), 2);
        assert_null(strpbrk(e.text, "\n\t"));
        assert_in_range(strlen(e.text), 20, sizeof e.text - 2); /* never cut */
        check_texts(v, row, e.text);
    } else {
        check_selection(v, row, &in, &c);
        check_ranks(v, row, &in, &c);
        check_warnings(v, row, &c);
        device_choice_fini(&c);
    }
    free_input(&in);
}

static void agrees_with_every_row(void **state)
{
    (void)state;
    struct vector *v = vector_open("resolve.tsv");
    assert_int_equal(v->nrows, 91); /* R01-R85, R40 is R40a-R40g */
    for (int row = 0; row < v->nrows; row++) {
        print_message("%s (%d of %d)\n", vector_get(v, row, "id"), row + 1, v->nrows);
        check_row(v, row);
    }
    vector_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

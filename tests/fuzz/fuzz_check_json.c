/* A worker's result, whatever it says, is refused or read; then it is judged, shown in every
 * way and written, and what was written can be read again. */
#include <stdlib.h>

#include "launcher/core/check_html.h"
#include "launcher/core/check_judge.h"
#include "launcher/core/check_junit.h"
#include "launcher/core/check_table.h"
#include "launcher/io/check_json.h"

static void show(const struct check_result *r)
{
    static void (*const renderers[])(const struct check_result *, struct buf *) = {
        check_table, check_nccl_tests, check_csv, check_junit, check_html};
    for (size_t i = 0; i < sizeof renderers / sizeof renderers[0]; i++) {
        struct buf text;
        buf_init(&text, 0);
        renderers[i](r, &text);
        buf_fini(&text);
    }
}

static void write_and_read(const struct check_result *r, const char *text, size_t size)
{
    struct check_result again;
    struct buf out;
    struct err e;
    buf_init(&out, 0);
    check_json_write(r, text, size, &out);
    check_result_init(&again);
    if (check_json_read(out.data, out.len, &again, &e) < 0 || again.nrows != r->nrows)
        abort();
    check_result_fini(&again);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct check_limits limits = {
        .warn_below = 0.9, .fail_below = 0.8, .expected = {370, true}, .has_gpus = true};
    const struct check_end end = {0};
    struct check_result r;
    struct err e;
    check_result_init(&r);
    if (check_json_read((const char *)data, size, &r, &e) == 0) {
        check_judge(&r, &limits, &end);
        show(&r);
        write_and_read(&r, (const char *)data, size);
    }
    check_result_fini(&r);
    return 0;
}

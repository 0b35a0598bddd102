/* Words and numbers of the result: the last line, the JSON object, what is hidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "worker/result.h"
#include "worker/status.h"

static struct result sample(uint32_t world_size)
{
    struct result r;
    result_init(&r);
    r.world_size = world_size;
    r.nodes = 1;
    r.job_id = "a \"job\"";
    r.backend = "host";
    r.why = "--backend host";
    r.nccl_version = r.nccl_path = "";
    r.ranks = mem_alloc(world_size, sizeof *r.ranks);
    for (uint32_t i = 0; i < world_size; i++) {
        r.ranks[i].rank = i;
        r.ranks[i].device = -1;
    }
    for (int place = 0; place < 2; place++) {
        struct result_row *row = result_add_row(&r);
        row->type = TYPE_FLOAT;
        row->op = OP_SUM;
        row->bytes = 64;
        row->count = 16;
        row->in_place = place;
        row->is_checked = true;
        row->busbw = row->algbw = 2.5;
    }
    r.compared_bytes = 128;
    return r;
}

static void has(const struct buf *text, const char *part)
{
    if (!strstr(buf_str(text), part))
        fail_msg("no \"%s\" in: %s", part, buf_str(text));
}

static void hasnt(const struct buf *text, const char *part)
{
    if (strstr(buf_str(text), part))
        fail_msg("\"%s\" in: %s", part, buf_str(text));
}

static void the_verdict_says_what_was_found(void **state)
{
    (void)state;
    struct buf text;
    struct result r = sample(2);
    buf_init(&text, 0);
    result_verdict(&r, &text);
    assert_string_equal(buf_str(&text),
                        "verified: 0 wrong of 128 bytes compared; peak busbw 2.50 GB/s");
    buf_reset(&text);
    r.wrong = 3;
    result_verdict(&r, &text);
    has(&text, "WRONG DATA: 3 wrong elements");
    result_fini(&r);
    r = sample(1);
    buf_reset(&text);
    result_verdict(&r, &text);
    has(&text, "busbw not applicable");
    result_fini(&r);
    buf_fini(&text);
}

static void nothing_tested_is_said(void **state)
{
    (void)state;
    struct buf text;
    struct result r;
    result_init(&r);
    buf_init(&text, 0);
    result_verdict(&r, &text);
    assert_string_equal(buf_str(&text), "nothing was tested");
    buf_fini(&text);
    result_fini(&r);
}

static void json_has_its_keys_and_hides_secrets(void **state)
{
    (void)state;
    char *environment[] = {(char[]){"NCCL_DEBUG=WARN"}, (char[]){"MUSTER_API_TOKEN=abc123"},
                           (char[]){"HOME=/home/someone"}, (char[]){"CUDA_X=\x01"}, NULL};
    struct buf text;
    struct result r = sample(2);
    r.env = environment;
    buf_adds(&r.errors, "one\ntwo\n");
    buf_init(&text, 0);
    result_json(&r, &text);
    has(&text, "{\"schema\":\"muster.check/1\",");
    has(&text, "\"job\":{\"id\":\"a \\\"job\\\"\",\"world_size\":2,");
    has(&text, "\"nccl\":null,\"cuda\":null");
    has(&text, "\"NCCL_DEBUG\":\"WARN\"");
    has(&text, "\"MUSTER_API_TOKEN\":\"***\"");
    has(&text, "\"CUDA_X\":\"\\u0001\"");
    hasnt(&text, "abc123");
    hasnt(&text, "someone");
    has(&text, "\"errors\":[\"one\",\"two\"]");
    has(&text, "\"placement\":\"in-place\"");
    has(&text, "\"wrong\":0,\"verdict\":\"ok\"");
    r.rows[0].is_checked = false;
    buf_reset(&text);
    result_json(&r, &text);
    has(&text, "\"wrong\":null,\"verdict\":\"unchecked\"");
    buf_fini(&text);
    result_fini(&r);
}

static void one_rank_has_no_bus(void **state)
{
    (void)state;
    struct buf text;
    struct result r = sample(1);
    buf_init(&text, 0);
    result_json(&r, &text);
    has(&text, "\"busbw\":null");
    buf_reset(&text);
    result_line(&r, &r.rows[0], &r.rows[1], &text);
    has(&text, "n/a");
    buf_fini(&text);
    result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verdict_says_what_was_found),
        cmocka_unit_test(nothing_tested_is_said),
        cmocka_unit_test(json_has_its_keys_and_hides_secrets),
        cmocka_unit_test(one_rank_has_no_bus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* First bytes, and what the decoder reports when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "rendezvous/tcpstore_wire.h"

struct row {
    const char *bytes;
    size_t n;
    enum wire_client who;
    enum wire_reason why;
};

#define ROW(text, client, reason)                                                              \
    {                                                                                          \
        (text), sizeof(text) - 1, WIRE_CLIENT_##client, WIRE_BAD_##reason                      \
    }
#define LEN(byte) byte "\0\0\0\0\0\0\0"

static const struct row rows[] = {
    ROW("", UNDECIDED, NONE),
    ROW("\0", UNDECIDED, NONE),
    ROW("\0\xce\xf7\x85", UNDECIDED, NONE),
    ROW("\0\xce\xf7\x85\x3c", MODERN, NONE),
    ROW("\0\xce\xf7\x85\x3c\x0d", MODERN, NONE),
    ROW("\0\x3c\x85\xf7\xce", REFUSED, BYTE_ORDER),
    ROW("\xce\xf7\x85", UNDECIDED, NONE),
    ROW("\xce\xf7\x85\x3c", REFUSED, DEV_2023),
    ROW("M", LINK, NONE),
    ROW("MSTR", LINK, NONE),
    ROW("\x06", LEGACY, NONE),
    ROW("\0" LEN("\x02") "/", LEGACY, NONE),
    ROW("\0" LEN("\xce") "/", LEGACY, NONE),
    ROW("\0\xff\x1f\0\0\0\0\0\0/", LEGACY, NONE),
    ROW("\0\x01\x20\0", REFUSED, NOT_C10D),
    ROW("\0\0\0\0\x2f", REFUSED, NOT_C10D),
    ROW("\x03" LEN("\x05"), UNDECIDED, NONE),
    ROW("\x03" LEN("\x05") "init", UNDECIDED, NONE),
    ROW("\x03" LEN("\x05") "init/", LEGACY, NONE),
    ROW("\x03" LEN("\x06") "init/", REFUSED, NOT_C10D),
    ROW("\x03" LEN("\x05") "inix", REFUSED, NOT_C10D),
    ROW("\x02" LEN("\0"), REFUSED, NOT_C10D),
    ROW("\x05" LEN("\0"), LEGACY, NONE),
    ROW("\x04" LEN("\x01") LEN("\x03") "/", LEGACY, NONE),
    ROW("\x05\x01\0\x02", REFUSED, NOT_C10D),
    ROW("\x07", REFUSED, LEGACY_QUERY),
    ROW("\x12", REFUSED, LEGACY_QUERY),
    ROW("\x13", REFUSED, NOT_C10D),
    ROW("GET / HTTP/1.1", REFUSED, NOT_C10D),
};

static void first_bytes(void **state)
{
    struct wire_limits limits = wire_limits_default();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum wire_reason why;
        enum wire_client who = wire_detect(rows[i].bytes, rows[i].n, &limits, true, &why);
        if (who != rows[i].who || (who == WIRE_CLIENT_REFUSED && why != rows[i].why))
            fail_msg("row %zu: %d, %s", i, (int)who, wire_reason_text(why));
    }
}

static void legacy_can_be_off(void **state)
{
    struct wire_limits limits = wire_limits_default();
    enum wire_reason why;
    (void)state;
    assert_int_equal(wire_detect("\x06", 1, &limits, false, &why), WIRE_CLIENT_REFUSED);
    assert_int_equal(why, WIRE_BAD_LEGACY_OFF);
}

static void query_byte_comes_first(void **state)
{
    struct wire_limits limits = wire_limits_default();
    struct wire_decoder d;
    const struct wire_request *r;
    struct str in = STR_LIT("\x04");
    (void)state;
    wire_decoder_init(&d, WIRE_LEGACY, &limits);
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_BEGUN);
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_MORE);
    assert_true(wire_is_partial(&d));
    in = (struct str){LEN("\x01") LEN("\x02") "/a", 18};
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_REQUEST);
    assert_int_equal(r->query, WIRE_CHECK);
    assert_int_equal(r->count, 1);
    assert_memory_equal(r->items[0].key.p, "/a", 2);
    assert_null(r->items[0].key.blob); /* in place */
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_MORE);
    assert_false(wire_is_partial(&d));
    wire_decoder_fini(&d);
}

/* Two that are there at once, and a third in two pieces. */
static void whole_request_comes_without_its_beginning(void **state)
{
    struct wire_limits limits = wire_limits_default();
    struct wire_decoder d;
    const struct wire_request *r;
    struct str in =
        STR_LIT("\x03" LEN("\x02") "/n\5\0\0\0\0\0\0\0"
                                   "\x05" LEN("\x01")
                                       LEN("\x02") "/a"
                                                   "\0" LEN("\x02") "/b" LEN("\x02") "x");
    (void)state;
    wire_decoder_init(&d, WIRE_LEGACY, &limits);
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_REQUEST);
    assert_int_equal(r->query, WIRE_ADD);
    assert_int_equal(r->number, 5);
    assert_int_equal(r->items[0].value.n, 0);
    assert_false(wire_is_partial(&d));
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_REQUEST);
    assert_int_equal(r->query, WIRE_WAIT);
    assert_int_equal(r->number, 0);
    assert_int_equal(r->count, 1);
    assert_memory_equal(r->items[0].key.p, "/a", 2);
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_BEGUN);
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_MORE);
    in = (struct str){"y", 1};
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_REQUEST);
    assert_int_equal(r->query, WIRE_SET);
    assert_memory_equal(r->items[0].key.p, "/b", 2);
    assert_int_equal(r->items[0].value.n, 2);
    assert_memory_equal(r->items[0].value.p, "xy", 2);
    wire_decoder_fini(&d);
}

static void large_value_needs_no_second_copy(void **state)
{
    enum { SIZE = 1 << 20, PIECE = 4096 };
    struct wire_limits limits = wire_limits_default();
    struct wire_decoder d;
    const struct wire_request *r;
    char *piece = mem_alloc(PIECE, 1);
    struct str in = STR_LIT("\0" LEN("\x02") "/a\0\0\x10\0\0\0\0\0");
    (void)state;
    wire_decoder_init(&d, WIRE_LEGACY, &limits);
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_BEGUN);
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_MORE);
    for (int i = 0; i < SIZE / PIECE; i++) {
        memset(piece, i, PIECE);
        in = (struct str){piece, PIECE};
        assert_int_equal(wire_decode(&d, &in, &r),
                         i == SIZE / PIECE - 1 ? WIRE_REQUEST : WIRE_MORE);
    }
    assert_non_null(r->items[0].value.blob);
    assert_int_equal(r->items[0].value.blob->len, SIZE);
    assert_true(r->items[0].value.blob->cap <= SIZE);
    assert_int_equal((unsigned char)r->items[0].value.p[SIZE - 1], SIZE / PIECE - 1);
    wire_decoder_fini(&d);
    free(piece);
}

/* All but the first pieces go where the decoder wants them, and no further than the value. */
static void large_value_is_read_to_where_it_stays(void **state)
{
    enum { SIZE = 100000, PIECE = 4096 };
    struct wire_limits limits = wire_limits_default();
    struct wire_decoder d;
    const struct wire_request *r;
    char piece[PIECE];
    size_t room = 0, copied = 0;
    struct str in = STR_LIT("\0" LEN("\x02") "/a\xa0\x86\x01\0\0\0\0\0");
    enum wire_event ev = WIRE_MORE;
    (void)state;
    wire_decoder_init(&d, WIRE_LEGACY, &limits);
    assert_null(wire_room(&d, &room));
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_BEGUN);
    assert_int_equal(wire_decode(&d, &in, &r), WIRE_MORE);
    for (size_t at = 0, n; at < SIZE; at += n) {
        char *to = wire_room(&d, &room);
        n = to ? room : PIECE;
        n = n < SIZE - at ? n : SIZE - at;
        assert_true(!to || room <= SIZE - at);
        to = to ? to : piece;
        copied += to == piece ? n : 0;
        for (size_t i = 0; i < n; i++)
            to[i] = (char)((at + i) % 251);
        in = (struct str){to, n};
        ev = wire_decode(&d, &in, &r);
        assert_int_equal(in.n, 0);
    }
    assert_int_equal(ev, WIRE_REQUEST);
    assert_true(copied <= 6 * PIECE); /* one for each time that the value had to grow */
    assert_int_equal(r->items[0].value.n, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal((unsigned char)r->items[0].value.p[i], i % 251);
    assert_null(wire_room(&d, &room));
    wire_decoder_fini(&d);
}

static enum wire_reason reason_of(const char *p, size_t n, const struct wire_limits *limits)
{
    struct wire_decoder d;
    const struct wire_request *r;
    struct str in = {p, n};
    enum wire_event ev;
    wire_decoder_init(&d, WIRE_LEGACY, limits);
    do
        ev = wire_decode(&d, &in, &r);
    while (ev != WIRE_MORE && ev != WIRE_BAD);
    enum wire_reason why = wire_bad(&d);
    wire_decoder_fini(&d);
    return why;
}
#define REASON(text, limits) reason_of((text), sizeof(text) - 1, (limits))

static void limits_hold_when_a_number_is_read(void **state)
{
    struct wire_limits few = {
        .max_key = 10, .max_value = 100, .max_keys = 3, .max_request = 105};
    (void)state;
    assert_int_equal(REASON("\0" LEN("\x0a"), &few), WIRE_BAD_NONE);
    assert_int_equal(REASON("\2" LEN("\x0b") "/abcdefghij", &few), WIRE_BAD_KEY_LENGTH);
    assert_int_equal(REASON("\0" LEN("\x0b"), &few), WIRE_BAD_KEY_LENGTH);
    assert_int_equal(REASON("\0" LEN("\x01") "/" LEN("\x65"), &few), WIRE_BAD_VALUE_LENGTH);
    assert_int_equal(REASON("\0" LEN("\x06") "/abcde" LEN("\x64"), &few),
                     WIRE_BAD_REQUEST_SIZE);
    assert_int_equal(REASON("\x05" LEN("\x04"), &few), WIRE_BAD_LIST_LENGTH);
    assert_int_equal(REASON("\x07", &few), WIRE_BAD_LEGACY_QUERY);
    assert_int_equal(REASON("\x63", &few), WIRE_BAD_NO_QUERY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_bytes),
        cmocka_unit_test(legacy_can_be_off),
        cmocka_unit_test(query_byte_comes_first),
        cmocka_unit_test(whole_request_comes_without_its_beginning),
        cmocka_unit_test(large_value_needs_no_second_copy),
        cmocka_unit_test(large_value_is_read_to_where_it_stays),
        cmocka_unit_test(limits_hold_when_a_number_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

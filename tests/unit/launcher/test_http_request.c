/* http_request: which heads are understood, which are refused and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/http_request.h"

#define HOST "\r\nHost: a\r\n\r\n"

static void understood(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path;
        bool is_head;
    } rows[] = {
        {"GET /metrics HTTP/1.1" HOST, "/metrics", false},
        {"HEAD /metrics HTTP/1.1" HOST, "/metrics", true},
        {"GET /metrics HTTP/1.0\r\n\r\n", "/metrics", false},
        {"GET /metrics HTTP/1.0" HOST, "/metrics", false},
        {"GET /metrics?name[]=x HTTP/1.1" HOST, "/metrics", false},
        {"GET /? HTTP/1.1" HOST, "/", false},
        {"GET http://n1:9400/metrics HTTP/1.1" HOST, "/metrics", false},
        {"GET HTTP://n1/?q HTTP/1.1" HOST, "/", false},
        {"GET /metrics HTTP/1.1\r\nhOsT:a\r\nAccept: */*;q=0.1,\ttext/plain\r\nX:\r\n\r\n",
         "/metrics", false},
        {"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "/metrics", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_request r;
        enum http_status why;
        print_message("%s\n", rows[i].text);
        assert_int_equal(http_request_read(str_from(rows[i].text), &r, &why), HTTP_WHOLE);
        assert_true(str_eq(r.path, rows[i].path));
        assert_int_equal(r.is_head, rows[i].is_head);
    }
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum http_status why;
    } rows[] = {
        {"\r\n", HTTP_BAD_REQUEST},
        {"GET\r\n", HTTP_BAD_REQUEST},
        {"GET /metrics\r\n", HTTP_BAD_REQUEST},
        {"GET  /metrics HTTP/1.1" HOST, HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1 " HOST, HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/11" HOST, HTTP_BAD_REQUEST},
        {"GET /metrics http/1.1" HOST, HTTP_BAD_REQUEST},
        {"GET /met\001rics HTTP/1.1" HOST, HTTP_BAD_REQUEST},
        {"GET metrics HTTP/1.1" HOST, HTTP_BAD_REQUEST},
        {"GET ?metrics HTTP/1.1" HOST, HTTP_BAD_REQUEST},
        {"GET http://n1 HTTP/1.1" HOST, HTTP_BAD_REQUEST},
        {"G(T /metrics HTTP/1.1" HOST, HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1\n", HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1\r\r\n", HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST}, /* no Host */
        {"GET /metrics HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1\r\nHost : a\r\n", HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1\r\nHost\r\n", HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1\r\n: a\r\n", HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1\r\nX: a\r\n b\r\n", HTTP_BAD_REQUEST}, /* folded */
        {"GET /metrics HTTP/1.1\r\nX: a\033b\r\n", HTTP_BAD_REQUEST},
        {"GET /metrics HTTP/1.1\r\nX: a\n", HTTP_BAD_REQUEST},
        {"POST /metrics HTTP/1.1\r\n", HTTP_BAD_METHOD},
        {"get /metrics HTTP/1.1\r\n", HTTP_BAD_METHOD},
        {"OPTIONS * HTTP/1.1\r\n", HTTP_BAD_METHOD},
        {"GET /metrics HTTP/2.0\r\n", HTTP_BAD_VERSION},
        {"GET /metrics HTTP/0.9\r\n", HTTP_BAD_VERSION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_request r;
        enum http_status why = HTTP_OK;
        print_message("%s\n", rows[i].text);
        assert_int_equal(http_request_read(str_from(rows[i].text), &r, &why), HTTP_REFUSED);
        assert_int_equal(why, rows[i].why);
    }
}

/* Byte by byte: nothing is decided before its time. */
static void in_pieces(void **state)
{
    (void)state;
    static const char text[] = "GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
    struct http_request r;
    enum http_status why;
    for (size_t n = 0; n < sizeof text - 1; n++)
        assert_int_equal(http_request_read((struct str){text, n}, &r, &why), HTTP_MORE);
    assert_int_equal(http_request_read((struct str){text, sizeof text - 1}, &r, &why),
                     HTTP_WHOLE);
}

/* A head of exactly the limit is served, one more byte is not. */
static void the_limit(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        struct buf text;
        buf_init(&text, 0);
        buf_adds(&text, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
        while (text.len < HTTP_HEAD_MAX + more - 4)
            buf_addc(&text, 'a');
        buf_adds(&text, "\r\n\r\n");
        struct http_request r;
        enum http_status why = HTTP_OK;
        assert_int_equal(http_request_read((struct str){text.data, text.len}, &r, &why),
                         more ? HTTP_REFUSED : HTTP_WHOLE);
        assert_int_equal(why, more ? HTTP_TOO_LARGE : HTTP_OK);
        assert_int_equal(
            http_request_read((struct str){text.data, HTTP_HEAD_MAX - 1}, &r, &why), HTTP_MORE);
        buf_fini(&text);
    }
}

static void answers(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 0);
    http_answer_format(HTTP_OK, "text/plain", 12, "Sun, 06 Nov 1994 08:49:37 GMT", &out);
    assert_string_equal(buf_str(&out), "HTTP/1.1 200 OK\r\n"
                                       "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                       "Content-Type: text/plain\r\n"
                                       "Content-Length: 12\r\n"
                                       "Connection: close\r\n\r\n");
    buf_reset(&out);
    http_answer_format(HTTP_BAD_METHOD, "text/plain", 0, "x", &out);
    assert_non_null(strstr(buf_str(&out), "HTTP/1.1 405 Method Not Allowed\r\n"));
    assert_non_null(strstr(buf_str(&out), "\r\nAllow: GET, HEAD\r\n\r\n"));
    assert_string_equal(http_status_text(HTTP_NOT_FOUND), "404 Not Found");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(understood), cmocka_unit_test(refused), cmocka_unit_test(in_pieces),
        cmocka_unit_test(the_limit),  cmocka_unit_test(answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* head_links: what is said of a node whose link the head closes itself, through real sockets of
 * one loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <uv.h>
#include <cmocka.h>

#include "base/log.h"
#include "launcher/io/head_links.h"
#include "rendezvous/port.h"

struct scene {
    uv_loop_t loop;
    struct port *port;
    struct head_links *links;
    struct str message; /* of the node, once its link is open */
    unsigned nlost;
    char lost[256];
};

static void on_link(void *ctx, struct uv_tcp_s *tcp, struct str first)
{
    struct scene *s = ctx;
    head_links_accept(s->links, tcp, first, -1);
}

static void on_frame(void *ctx, uint32_t link, const struct frame *frame)
{
    (void)ctx;
    (void)link;
    (void)frame;
    fail_msg("a frame");
}

static void on_lost(void *ctx, uint32_t link, const struct err *err)
{
    struct scene *s = ctx;
    (void)link;
    s->nlost++;
    strcpy(s->lost, err->text);
}

static void on_unproven(void *ctx, const struct peer_ip *ip, bool is_named,
                        const struct err *why)
{
    (void)ctx;
    (void)ip;
    (void)is_named;
    fail_msg("%s", why->text);
}

static void on_open(void *ctx, struct link *link, const struct link_peer *peer)
{
    const struct scene *s = ctx;
    (void)peer;
    link_send(link, s->message);
}

static void on_closed(void *ctx, struct link *link, const struct err *why)
{
    (void)ctx;
    (void)link;
    (void)why;
}

/* What the head says of the loss of a node that sends this. */
static void lose(struct scene *s, struct str message)
{
    struct err e;
    struct link_key *key = link_key_from_id("job", &e);
    *s = (struct scene){.message = message};
    log_set_level(LOG_ERROR);
    assert_int_equal(uv_loop_init(&s->loop), 0);
    const struct head_links_events events = {
        .ctx = s, .on_frame = on_frame, .on_lost = on_lost, .on_unproven = on_unproven};
    s->links = head_links_new(&s->loop, key, 1, &events);
    struct port_options port = port_options_default();
    port.address = "127.0.0.1";
    port.ctx = s;
    port.on_link = on_link;
    s->port = port_open(&s->loop, &port, &e);
    assert_non_null(s->port);
    struct addr head = {.host = "127.0.0.1", .port = port_number(s->port)};
    struct link_options node = link_options_default();
    node.key = key;
    node.ctx = s;
    node.on_open = on_open;
    node.on_closed = on_closed;
    assert_non_null(link_dial(&s->loop, &head, 1, &node, &e));
    while (!s->nlost)
        uv_run(&s->loop, UV_RUN_ONCE);
    head_links_close(s->links);
    port_close(s->port, NULL, NULL);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    link_key_free(key);
    assert_int_equal(s->nlost, 1);
}

static void test_other_version(void **state)
{
    (void)state;
    struct scene s;
    lose(&s, (struct str){"\xff\x01", 2});
    assert_non_null(strstr(s.lost, "messages have version 255"));
    assert_non_null(strstr(s.lost, "127.0.0.1"));
}

static void test_not_a_nodes_message(void **state)
{
    (void)state;
    struct scene s;
    struct buf more;
    buf_init(&more, 0);
    link_wire_more(&more); /* nobody has standard input for this one */
    lose(&s, (struct str){more.data, more.len});
    assert_non_null(strstr(s.lost, "a message that a node does not send"));
    buf_fini(&more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_not_a_nodes_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

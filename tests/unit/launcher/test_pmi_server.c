/* A rank that speaks PMI-1 without end: the loop has its turns all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "launcher/io/pmi_server.h"

static void gather(void *ctx, const struct gather *piece, mpi_gathered *done, void *done_ctx)
{
    (void)ctx;
    done(done_ctx, piece->data.p, piece->data.n);
}

static void forget(void *ctx)
{
    (void)ctx;
}

static void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Until the socket holds no more; a part of a spawn has no answer. */
static void flood(int fd)
{
    static const char part[] = "mcmd=spawn\ntotspawns=2\nspawnssofar=1\nendcmd\n";
    char text[100 * (sizeof part - 1)];
    for (size_t i = 0; i < 100; i++)
        memcpy(text + i * (sizeof part - 1), part, sizeof part - 1);
    while (send(fd, text, sizeof text, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof text)
        ;
}

static int unread(int fd)
{
    int n = -1;
    assert_int_equal(ioctl(fd, SIOCOUTQ, &n), 0);
    return n;
}

static void a_rank_without_end_is_heard_a_part_at_a_time(void **state)
{
    (void)state;
    const struct mpi_peers peers = {NULL, gather, forget};
    const struct mpi_node node = {"a", 0, 1};
    const struct mpi_layout layout = {&node, 1, 1};
    const struct mpi_world world = {"muster-test-0", &layout, 0};
    struct mpi_ticket ticket = {.fd = -1};
    struct err e;
    uv_loop_t loop;
    char answer[256];
    int code;
    uv_loop_init(&loop);
    struct mpi_context context = {
        .loop = &loop, .watches = watch_set_new(&loop, &e), .peers = &peers};
    void *service = pmi_service.open(&context, &e);
    assert_int_equal(pmi_service.begin(service, &world, &e), 0);
    assert_int_equal(pmi_service.join(service, 0, &ticket, &e), 0);
    send_text(ticket.fd, "cmd=init pmi_version=1 pmi_subversion=1\n");
    uv_run(&loop, UV_RUN_ONCE);
    assert_true(recv(ticket.fd, answer, sizeof answer, MSG_DONTWAIT) > 0);
    flood(ticket.fd);
    int most = unread(ticket.fd);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_in_range(unread(ticket.fd), 1, most - 1);
    assert_int_equal(pmi_service.state(service, 0, &code), MPI_STATE_INSIDE);
    assert_int_equal(unread(ticket.fd), 0);
    pmi_service.close(service);
    mpi_ticket_fini(&ticket);
    watch_set_close(context.watches);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_without_end_is_heard_a_part_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

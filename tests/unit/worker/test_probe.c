/* NCCL's RAS service, asked: a fake one that answers in pieces, one that says nothing, none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "worker/probe.h"

/* Takes one connection, reads the request and writes the answer a few bytes at a time. */
static pid_t start_ras(uint16_t *port, const char *answer)
{
    struct err e;
    int listener = probe_listen("127.0.0.1", port, &e);
    assert_true(listener >= 0);
    pid_t pid = fork();
    if (pid != 0) {
        close(listener);
        return pid;
    }
    alarm(60);
    char request[64] = "";
    int fd = accept(listener, NULL, NULL);
    size_t n = 0;
    while (!memchr(request, '\n', n)) {
        ssize_t got = read(fd, request + n, sizeof request - 1 - n);
        if (got <= 0)
            _exit(2);
        n += (size_t)got;
    }
    for (const char *at = answer; *at; at += strnlen(at, 5))
        if (write(fd, at, strnlen(at, 5)) < 0)
            _exit(3);
    _exit(strcmp(request, "VERBOSE STATUS\n") != 0);
}

static int ended_with(pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

static void the_answer_is_taken_whole_and_as_text(void **state)
{
    (void)state;
    struct buf answer;
    struct err e;
    uint16_t port;
    pid_t ras = start_ras(&port, "Job summary\n  1 node, 2 ranks\n  rank 1 \x1b[31mmissing\n");
    buf_init(&answer, 0);
    assert_int_equal(probe_ras(port, &answer, &e), 0);
    assert_string_equal(buf_str(&answer),
                        "Job summary\n  1 node, 2 ranks\n  rank 1 ?[31mmissing\n");
    assert_int_equal(ended_with(ras), 0);
    buf_fini(&answer);
}

static void a_service_that_says_nothing_is_an_error(void **state)
{
    (void)state;
    struct buf answer;
    struct err e;
    uint16_t port;
    pid_t ras = start_ras(&port, "");
    buf_init(&answer, 0);
    assert_int_equal(probe_ras(port, &answer, &e), -1);
    assert_int_equal(answer.len, 0);
    assert_int_equal(ended_with(ras), 0);
    assert_int_equal(probe_ras(port, &answer, &e), -1); /* nobody listens now */
    buf_fini(&answer);
}

static void only_addresses_of_this_machine_have_a_port(void **state)
{
    (void)state;
    assert_int_equal(probe_ras_port("localhost:28028"), 28028);
    assert_int_equal(probe_ras_port("127.0.0.1:5"), 5);
    assert_int_equal(probe_ras_port("[::1]:5"), 5);
    assert_int_equal(probe_ras_port("node7:28028"), 0);
    assert_int_equal(probe_ras_port("localhost"), 0);
    assert_int_equal(probe_ras_port("localhost:99999"), 0);
    assert_int_equal(probe_ras_port(""), 0);
    assert_int_equal(probe_ras_port(NULL), 0);
}

static void the_address_in_an_id_is_read(void **state)
{
    (void)state;
    /* u64 magic, then a sockaddr_in: AF_INET, port 58409, 127.0.0.1 */
    unsigned char id[128] = {1, 2, 3, 4, 5, 6, 7, 8, 2, 0, 0xe4, 0x29, 127, 0, 0, 1};
    char ip[PROBE_ADDRESS_MAX], interface[PROBE_INTERFACE_MAX];
    struct err e;
    uint16_t port;
    assert_int_equal(probe_root_address(id, sizeof id, ip, &port, interface, &e), 0);
    assert_string_equal(ip, "127.0.0.1");
    assert_int_equal(port, 58409);
    assert_string_equal(interface, "lo");
    id[8] = 77;
    assert_int_equal(probe_root_address(id, sizeof id, ip, &port, interface, &e), -1);
    assert_int_equal(probe_root_address(id, 12, ip, &port, interface, &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_taken_whole_and_as_text),
        cmocka_unit_test(a_service_that_says_nothing_is_an_error),
        cmocka_unit_test(only_addresses_of_this_machine_have_a_port),
        cmocka_unit_test(the_address_in_an_id_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

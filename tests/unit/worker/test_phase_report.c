/* What is said of a phase that takes long: who is awaited, and nobody where all are at work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "worker/phase_report.h"
#include "worker/status.h"

static const struct phase_wait at_point = {.point = "init_done", .what = "NCCL's start"},
                               in_collective = {.point = "bench.0",
                                                .enter = "bench-enter.0",
                                                .what = "all_reduce of 64K float sum",
                                                .can_hang = true};

static void expect(const struct phase_wait *w, uint64_t nabsent, uint64_t nmissing,
                   const char *want)
{
    const struct phase_count n = {4, nabsent, nmissing};
    struct buf words;
    buf_init(&words, 0);
    phase_report_words(w, &n, 10100, "rank 2 (host b)", &words);
    assert_string_equal(buf_str(&words), want);
    buf_fini(&words);
}

static void who_is_behind_is_named(void **state)
{
    (void)state;
    expect(&at_point, 0, 1,
           "after 10 s 1 of 4 ranks have not reached init_done, among them rank 2 (host b)");
    expect(&in_collective, 3, 4,
           "after 10 s 3 of 4 ranks have not entered the all_reduce of 64K float sum, among "
           "them rank 2 (host b)");
}

static void nobody_is_named_where_all_are_at_work(void **state)
{
    (void)state;
    expect(&at_point, 0, 4, "after 10 s all 4 ranks are still on their way to init_done");
    expect(&in_collective, 0, 4,
           "after 10 s 4 of 4 ranks are still in the all_reduce of 64K float sum");
    expect(&in_collective, 0, 1,
           "after 10 s 1 of 4 ranks are still in the all_reduce of 64K float sum");
}

static void nothing_is_said_once_all_are_through(void **state)
{
    (void)state;
    expect(&at_point, 0, 0, "");
    expect(&in_collective, 0, 0, "");
}

/* A store that is gone as soon as it has answered to the greeting; its port. */
static uint16_t greet_once(pid_t *child)
{
    enum { GREETING = 10, NONCE = 4 };
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    *child = fork();
    if (*child == 0) {
        char said[GREETING];
        alarm(60);
        int client = accept(fd, NULL, NULL);
        bool is_greeted = recv(client, said, GREETING, MSG_WAITALL) == GREETING
                          && send(client, said + GREETING - NONCE, NONCE, 0) == NONCE;
        _exit(is_greeted ? 0 : 1);
    }
    close(fd);
    return ntohs(a.sin_port);
}

static void nobody_is_blamed_without_the_store(void **state)
{
    (void)state;
    const struct phase_wait *const waits[] = {&at_point, &in_collective};
    for (int i = 0; i < 2; i++) {
        pid_t child;
        int status;
        const struct env env = {.world_size = 2,
                                .master_addr = "127.0.0.1",
                                .master_port = greet_once(&child),
                                .job_id = ""};
        assert_int_equal(phase_report_deadline(&env, waits[i], 30000), STATUS_PHASE);
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_behind_is_named),
        cmocka_unit_test(nobody_is_named_where_all_are_at_work),
        cmocka_unit_test(nothing_is_said_once_all_are_through),
        cmocka_unit_test(nobody_is_blamed_without_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

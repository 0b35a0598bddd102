/* What a failed ssh says against whether it is tried again, and the pauses between tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/core/remote_failure.h"

static const struct {
    int exit_code;
    const char *complaint;
    enum remote_failure want;
    bool is_again;
} rows[] = {
    {255, "ssh: connect to host n1 port 22: Connection refused\r\n", REMOTE_FAILURE_REFUSED,
     true},
    {255, "kex_exchange_identification: Connection closed by remote host\n",
     REMOTE_FAILURE_CLOSED, true},
    {255, "kex_exchange_identification: read: Connection reset by peer\n",
     REMOTE_FAILURE_CLOSED, true},
    {255, "Connection reset by 10.0.0.7 port 22\n", REMOTE_FAILURE_CLOSED, true},
    {255, "ssh_exchange_identification: Connection closed by remote host\n",
     REMOTE_FAILURE_CLOSED, true},
    {255, "ssh: Could not resolve hostname n1: Name or service not known\n",
     REMOTE_FAILURE_NAME, true},
    {255, "ssh: Could not resolve hostname n1: Temporary failure in name resolution\n",
     REMOTE_FAILURE_NAME, true},
    {255, "ssh: connect to host n1 port 22: Connection timed out\n", REMOTE_FAILURE_TIMEOUT,
     true},
    {255, "Connection timed out during banner exchange\n", REMOTE_FAILURE_TIMEOUT, true},
    {255, "root@n1: Permission denied (publickey).\r\n", REMOTE_FAILURE_AUTHENTICATION, false},
    {255,
     "Received disconnect from 10.0.0.7 port 22:2: Too many authentication failures\n"
     "Disconnected from 10.0.0.7 port 22\n",
     REMOTE_FAILURE_AUTHENTICATION, false},
    {255, "Host key verification failed.\n", REMOTE_FAILURE_HOST_KEY, false},
    {255, "No ED25519 host key is known for n1 and you have requested strict checking.\n",
     REMOTE_FAILURE_HOST_KEY, false},
    /* a refused key also closes the connection */
    {255, "Host key verification failed.\nConnection closed by 10.0.0.7 port 22\n",
     REMOTE_FAILURE_HOST_KEY, false},
    {255, "ssh: connect to host n1 port 22: No route to host\n", REMOTE_FAILURE_SSH, false},
    {255, "", REMOTE_FAILURE_SSH, false},
    {126, "sh: 1: exec: /m: Permission denied\n", REMOTE_FAILURE_NOT_EXECUTABLE, false},
    {127, "sh: 1: exec: /m: not found\n", REMOTE_FAILURE_NOT_FOUND, false},
    /* words of another program than ssh mean nothing */
    {1, "Connection refused\n", REMOTE_FAILURE_OTHER, false},
    {-1, "Connection refused\n", REMOTE_FAILURE_OTHER, false},
};

static void what_ssh_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum remote_failure got =
            remote_failure_of(rows[i].exit_code, str_from(rows[i].complaint));
        print_message("%d %s", rows[i].exit_code, rows[i].complaint);
        assert_int_equal(got, rows[i].want);
        assert_int_equal(remote_failure_pause_ms(got, 1, 0) > 0, rows[i].is_again);
        assert_int_equal(remote_failure_is_way(got), rows[i].exit_code == 255);
    }
}

static void in_words(void **state)
{
    (void)state;
    static const struct {
        struct remote_end end;
        const char *want;
    } ends[] = {
        {{"ssh",
          255,
          0,
          {"banner\nssh: Connection refused\r\n",
           sizeof "banner\nssh: Connection refused\r\n" - 1},
          false,
          false},
         "ssh: Connection refused"},
        {{"ssh",
          255,
          0,
          {"root@n1: denied\n\n  ---\n", sizeof "root@n1: denied\n\n  ---\n" - 1},
          false,
          false},
         "root@n1: denied"},
        {{"srun",
          1,
          0,
          {"srun: error: n3: down\nsrun: error: Aborting\n",
           sizeof "srun: error: n3: down\nsrun: error: Aborting\n" - 1},
          false,
          true},
         "srun: error: n3: down"},
        {{"ssh",
          127,
          0,
          {"sh: 1: exec: /m: not found\n", sizeof "sh: 1: exec: /m: not found\n" - 1},
          false,
          false},
         "muster is not there, or not under this path (--remote-muster): "
         "sh: 1: exec: /m: not found"},
        {{"ssh",
          127,
          0,
          {"sh: 1: worker: not found\n", sizeof "sh: 1: worker: not found\n" - 1},
          true,
          false},
         "sh: 1: worker: not found"}, /* it was there */
        {{"mpirun", 127, 0, {"mpirun: no\n", sizeof "mpirun: no\n" - 1}, false, true},
         "mpirun: no"},
        {{"ssh", -1, 9, {"words\n", sizeof "words\n" - 1}, false, false},
         "ssh ended by signal 9"},
        {{"./myssh", 3, 0, {" \n123\n", sizeof " \n123\n" - 1}, false, false},
         "./myssh ended with 3 and said nothing"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct err why;
        remote_failure_describe(&ends[i].end, &why);
        assert_int_equal(why.code, ERR_UNAVAILABLE);
        assert_string_equal(why.text, ends[i].want);
    }
}

static void pauses(void **state)
{
    (void)state;
    static const uint64_t least[] = {500, 1000, 2000, 4000};
    for (uint32_t tries = 1; tries < REMOTE_TRIES; tries++)
        for (uint64_t random = 0; random <= UINT32_MAX; random += 12345677) {
            uint64_t ms =
                remote_failure_pause_ms(REMOTE_FAILURE_REFUSED, tries, (uint32_t)random);
            assert_in_range(ms, least[tries - 1], least[tries - 1] * 3 / 2);
        }
    assert_int_not_equal(remote_failure_pause_ms(REMOTE_FAILURE_REFUSED, 1, 1),
                         remote_failure_pause_ms(REMOTE_FAILURE_REFUSED, 1, 2));
    assert_int_equal(remote_failure_pause_ms(REMOTE_FAILURE_REFUSED, REMOTE_TRIES, 7), 0);
    assert_int_equal(remote_failure_pause_ms(REMOTE_FAILURE_HOST_KEY, 1, 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ssh_says),
        cmocka_unit_test(in_words),
        cmocka_unit_test(pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

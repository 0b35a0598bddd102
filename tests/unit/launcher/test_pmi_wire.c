/* pmi_wire: requests from any chunking, refusals, replies as Hydra words them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "launcher/core/pmi_wire.h"

static struct err err;

static int decode(const char *text, struct pmi_request *out, size_t *left)
{
    struct str in = str_from(text);
    int rc = pmi_request_decode(&in, out, &err);
    *left = in.n;
    return rc;
}

static void requests(void **state)
{
    (void)state;
    struct pmi_request r;
    size_t left;
    assert_int_equal(decode("cmd=init pmi_version=1 pmi_subversion=1\n", &r, &left), 1);
    assert_int_equal(r.command, PMI_INIT);
    assert_true(str_eq(r.version, "1"));
    assert_int_equal(decode("cmd=put kvsname=k key=-bcast-1-0 value=2F=41\nrest", &r, &left),
                     1);
    assert_int_equal(r.command, PMI_PUT);
    assert_true(str_eq(r.kvsname, "k") && str_eq(r.key, "-bcast-1-0"));
    assert_true(str_eq(r.value, "2F=41")); /* the first "=" divides */
    assert_int_equal(left, 4);
    assert_int_equal(decode("cmd=abort exitcode=-3\n", &r, &left), 1);
    assert_int_equal(r.exit_code, -3);
    assert_int_equal(decode("cmd=lookup_name service=a b  c\n", &r, &left), 1);
    assert_int_equal(r.command, PMI_LOOKUP_NAME);
}

static void every_command(void **state)
{
    (void)state;
    for (int i = 0; i < PMI_COMMAND_COUNT; i++) {
        char line[64] = "cmd=";
        struct pmi_request r;
        size_t left;
        strcat(strcat(line, pmi_command_name((enum pmi_command)i)), "\n");
        assert_int_equal(decode(line, &r, &left), i == PMI_SPAWN ? -1 : 1);
        assert_true(i == PMI_SPAWN || (int)r.command == i);
    }
}

static void spawn(void **state)
{
    (void)state;
    struct pmi_request r;
    size_t left;
    static const char first[] =
        "mcmd=spawn\nnprocs=2\nexecname=a b\ntotspawns=2\nspawnssofar=1\n";
    assert_int_equal(decode(first, &r, &left), 0);
    assert_int_equal(left, sizeof first - 1);
    assert_int_equal(
        decode("mcmd=spawn\ntotspawns=2\nspawnssofar=1\nendcmd\nmcmd=spawn\n", &r, &left), 1);
    assert_int_equal(r.command, PMI_SPAWN);
    assert_false(r.is_last);
    assert_int_equal(left, strlen("mcmd=spawn\n"));
    assert_int_equal(decode("mcmd=spawn\ntotspawns=2\nspawnssofar=2\nendcmd\n", &r, &left), 1);
    assert_true(r.is_last);
    assert_int_equal(decode("mcmd=spawn\nendcmd\n", &r, &left), 1);
    assert_true(r.is_last);
}

static void refusals(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\n",        "cmd=\n", "cmd=jump\n",         "init\n",
        "key=cmd\n", " \n",    "GET / HTTP/1.1\r\n", "mcmd=spawn \n"};
    struct pmi_request r;
    size_t left;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(decode(bad[i], &r, &left), -1);
        assert_int_equal(err.code, ERR_PROTOCOL);
        assert_int_equal(left, strlen(bad[i]));
    }
    assert_int_equal(decode("\x01 \x7f\n", &r, &left), -1);
    assert_string_equal(err.text, "PMI-1: '? ?' is no request");
}

static void limits(void **state)
{
    (void)state;
    static char text[PMI_REQUEST_MAX + 1];
    struct pmi_request r;
    size_t left;
    memset(text, 'a', PMI_REQUEST_MAX - 1);
    assert_int_equal(decode(text, &r, &left), 0);
    text[PMI_REQUEST_MAX - 1] = 'a';
    assert_int_equal(decode(text, &r, &left), -1);
    assert_true(pmi_is_word(str_from("a=b(,)"), 7));
    assert_false(pmi_is_word(str_from("a=b(,)"), 6));
    assert_false(pmi_is_word(str_from("a b"), 9));
    assert_false(pmi_is_word(str_from("a\n"), 9));
}

static void replies(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 0);
    pmi_reply_init(&out, true);
    pmi_reply_init(&out, false);
    pmi_reply_maxes(&out);
    pmi_reply_appnum(&out, 0);
    pmi_reply_kvsname(&out, "muster-1-0");
    pmi_reply_universe_size(&out, 4);
    pmi_reply_put(&out, NULL);
    pmi_reply_put(&out, "duplicate_key");
    pmi_reply_get(&out, "(vector,(0,1,4))", STR_LIT("PMI_process_mapping"));
    pmi_reply_get(&out, NULL, STR_LIT("no"));
    pmi_reply_barrier(&out);
    pmi_reply_finalize(&out);
    pmi_reply_refused(&out, PMI_SPAWN);
    assert_string_equal(buf_str(&out),
                        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
                        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"
                        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
                        "cmd=appnum appnum=0\n"
                        "cmd=my_kvsname kvsname=muster-1-0\n"
                        "cmd=universe_size size=4\n"
                        "cmd=put_result rc=0 msg=success\n"
                        "cmd=put_result rc=-1 msg=duplicate_key\n"
                        "cmd=get_result rc=0 msg=success value=(vector,(0,1,4))\n"
                        "cmd=get_result rc=-1 msg=key_no_not_found value=unknown\n"
                        "cmd=barrier_out\n"
                        "cmd=finalize_ack\n"
                        "cmd=spawn_result rc=-1 info=not_supported msg=not_supported\n");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests), cmocka_unit_test(every_command), cmocka_unit_test(spawn),
        cmocka_unit_test(refusals), cmocka_unit_test(limits),        cmocka_unit_test(replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

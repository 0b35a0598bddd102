/* The boot record: there and back, what is refused, and the tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/boot_parse.h"

#define ZEROES "0000000000000000000000000000000000000000000000000000000000000000"
#define START "muster-boot=1\njob=j\nsecret=" ZEROES "\naddress=10.0.0.1:41234\n"

static void fill(struct boot_record *r)
{
    boot_record_init(r);
    r->job = mem_strdup("job 7");
    for (size_t i = 0; i < BOOT_SECRET_SIZE; i++)
        r->secret[i] = (uint8_t)(i * 8 + 1);
    boot_record_add_address(r, "10.0.0.1", 41234);
    boot_record_add_address(r, "fd00::1", 41234);
    boot_record_add_address(r, "head.example.com", 1);
    r->node = 3;
    r->parent = 0;
    r->radix = 32;
    r->muster = mem_strdup("/opt/muster 1/bin/muster");
    r->ssh = mem_strdup("/usr/bin/ssh");
    boot_record_add_ssh_arg(r, "-J");
    boot_record_add_ssh_arg(r, "key=value here");
    boot_record_add_child(r, 4, NULL, "n4", 0);
    boot_record_add_child(r, 5, "u", "fd00::5", 2222);
}

static const char full[] =
    "muster-boot=1\njob=job 7\n"
    "secret=0109111921293139414951596169717981899199a1a9b1b9c1c9d1d9e1e9f1f9\n"
    "address=10.0.0.1:41234\naddress=[fd00::1]:41234\naddress=head.example.com:1\nnode=3\n"
    "parent=0\nradix=32\nmuster=/opt/muster "
    "1/bin/muster\nssh=/usr/bin/ssh\nssh-arg=-J\nssh-arg=key=value here\nchild=4 n4\n"
    "child=5 u@[fd00::5]:2222\n\n";

static void there_and_back(void **state)
{
    (void)state;
    struct boot_record r, back;
    struct buf text, again;
    struct err e = {ERR_OK, 0, ""};
    buf_init(&text, 0);
    buf_init(&again, 0);
    fill(&r);
    assert_int_equal(boot_record_encode(&r, &text, &e), 0);
    assert_string_equal(buf_str(&text), full);
    assert_int_equal(boot_parse((struct str){text.data, text.len}, &back, &e), 0);
    assert_memory_equal(back.secret, r.secret, BOOT_SECRET_SIZE);
    assert_string_equal(back.addresses[1].host, "fd00::1");
    assert_null(back.children[0].user);
    assert_int_equal(back.children[1].port, 2222);
    assert_int_equal(boot_record_encode(&back, &again, &e), 0);
    assert_string_equal(buf_str(&again), full);
    boot_record_fini(&r);
    boot_record_fini(&back);
    buf_fini(&text);
    buf_fini(&again);
}

/* No growing on the way: the buffer has its size before the secret is written. */
static void the_secret_is_written_once(void **state)
{
    (void)state;
    struct boot_record r;
    struct buf text;
    struct err e;
    fill(&r);
    for (uint32_t i = 0; i < 1000; i++)
        boot_record_add_child(&r, i, "somebody", "a-rather-long-name.of.a.host.example.com",
                              2222);
    buf_init(&text, 0);
    mem_fail_at(2); /* the second allocation would end the program */
    assert_int_equal(boot_record_encode(&r, &text, &e), 0);
    mem_fail_at(0);
    boot_record_wipe(text.data, text.len);
    for (size_t i = 0; i < text.len; i++)
        assert_int_equal(text.data[i], 0);
    buf_fini(&text);
    boot_record_fini(&r);
}

static void the_end_is_an_empty_line(void **state)
{
    (void)state;
    struct err e = {ERR_OK, 0, ""};
    size_t length;
    size_t n = strlen(full);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(boot_parse_end((struct str){full, i}, &length, &e), 0);
        assert_int_equal(length, 0);
    }
    char *more = mem_printf("%srest", full);
    assert_int_equal(boot_parse_end(str_from(more), &length, &e), 0);
    assert_int_equal(length, n);
    free(more);
    assert_int_equal(boot_parse_end(STR_LIT("\nx"), &length, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    char *endless = mem_alloc(BOOT_TEXT_MAX + 1, 1);
    memset(endless, 'x', BOOT_TEXT_MAX + 1);
    assert_int_equal(boot_parse_end((struct str){endless, BOOT_TEXT_MAX}, &length, &e), 0);
    assert_int_equal(boot_parse_end((struct str){endless, BOOT_TEXT_MAX + 1}, &length, &e), -1);
    free(endless);
}

static void the_least_that_is_needed(void **state)
{
    (void)state;
    struct boot_record r;
    struct err e;
    assert_int_equal(boot_parse(STR_LIT(START "\n"), &r, &e), 0);
    assert_int_equal(r.node, BOOT_NODE_ANY);
    assert_int_equal(r.nchildren, 0);
    boot_record_fini(&r);
}

static void what_is_not_right_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "empty line"},
        {START, "empty line"},
        {START "\nmore", "something else"},
        {START "\n\n", "something else"},
        {"job=j\n\n", "first"},
        {"muster-boot=2\n\n", "version 1"},
        {"muster-boot=1\nmuster-boot=1\n\n", "first"},
        {"muster-boot=1\n\n", "job is missing"},
        {"muster-boot=1\njob=j\n\n", "secret is missing"},
        {"muster-boot=1\njob=j\nsecret=" ZEROES "\n\n", "address is missing"},
        {START "unknown=1\n\n", "line 5: no key"},
        {START "no equals sign\n\n", "line 5: no key"},
        {START "=\n\n", "line 5: no key"},
        {START "job=k\n\n", "job: it stands twice"},
        {START "secret=" ZEROES "\n\n", "secret: it stands twice"},
        {START "node=-1\n\n", "node"},
        {START "node=65536\n\n", "node"},
        {START "node=1 \n\n", "node"},
        {START "node=\n\n", "node"},
        {START "node=1\r\n\n", "control"},
        {START "radix=0\n\n", "radix"},
        {START "address=10.0.0.1\n\n", "needs a port"},
        {START "address=10.0.0.1:0\n\n", "port"},
        {START "address=10.0.0.1:65536\n\n", "port"},
        {START "address=fd00::1\n\n", "needs a port"},
        {START "address=[fd00::x]:1\n\n", "address"},
        {START "address=-oX:1\n\n", "option"},
        {START "address=a b:1\n\n", "address"},
        {START "child=1\n\n", "child"},
        {START "child=x n1\n\n", "child"},
        {START "child=1 -oX\n\n", "option"},
        {START "child=1 -l@n1\n\n", "option"},
        {START "child=1 n[1-2]\n\n", "child"},
        {START "child=1 n1:0\n\n", "port"},
        {START "ssh-arg=a\tb\n\n", "control"},
        {"muster-boot=1\njob=j\nsecret=00\n\n", "64"},
        {"muster-boot=1\njob=j\nsecret=0" ZEROES "\n\n", "64"},
        {"muster-boot=1\njob=j\nsecret=SECRETX0000000000000000000000000000000000000000000000"
         "0000000000\n\n",
         "64"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct boot_record r;
        struct err e = {ERR_OK, 0, ""};
        if (boot_parse(str_from(rows[i].text), &r, &e) != -1)
            fail_msg("accepted: %s", rows[i].text);
        print_message("%s\n", e.text);
        assert_int_equal(e.code, ERR_PROTOCOL);
        assert_non_null(strstr(e.text, rows[i].says));
        assert_null(strstr(e.text, "SECRETX"));
        assert_null(strstr(e.text, "00000000"));
    }
}

static void values_that_cannot_travel(void **state)
{
    (void)state;
    static const char *const jobs[] = {"", "a\nsecret=x", "a\x7f"};
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct boot_record r;
        struct buf text;
        struct err e = {ERR_OK, 0, ""};
        buf_init(&text, 0);
        fill(&r);
        free(r.job);
        r.job = mem_strdup(jobs[i]);
        assert_int_equal(boot_record_encode(&r, &text, &e), -1);
        assert_int_equal(e.code, ERR_USAGE);
        assert_int_equal(text.len, 0);
        boot_record_fini(&r);
        buf_fini(&text);
    }
}

static void expect_child(const struct boot_record *r, uint32_t i, const char *tree)
{
    struct boot_record child;
    struct buf text;
    struct err e;
    buf_init(&text, 0);
    boot_record_for_child(r, i, &child);
    assert_int_equal(child.node, boot_record_child(r, i)->node);
    assert_int_equal(boot_record_encode(&child, &text, &e), 0);
    const char *rest = strstr(buf_str(&text), "node=");
    assert_non_null(rest);
    assert_string_equal(rest, tree);
    assert_memory_equal(child.secret, r->secret, BOOT_SECRET_SIZE);
    assert_string_equal(child.addresses[2].host, r->addresses[2].host);
    assert_int_equal(child.naddresses, r->naddresses);
    boot_record_fini(&child);
    buf_fini(&text);
}

/* The same job, and of the tree what is below that child. */
static void the_record_of_a_child(void **state)
{
    (void)state;
#define REST                                                                                   \
    "parent=3\nradix=2\nmuster=/opt/muster 1/bin/muster\nssh=/usr/bin/ssh\n"                   \
    "ssh-arg=-J\nssh-arg=key=value here\n"
    struct boot_record r;
    fill(&r);
    r.radix = 2;
    for (uint32_t i = 6; i < 9; i++)
        boot_record_add_child(&r, i, NULL, "n6", 0);
    assert_int_equal(boot_record_nchildren(&r), 2);
    assert_string_equal(boot_record_child(&r, 0)->host, "n4");
    expect_child(&r, 0, "node=4\n" REST "child=5 u@[fd00::5]:2222\nchild=6 n6\n\n");
    expect_child(&r, 1, "node=7\n" REST "child=8 n6\n\n");
    struct boot_record child, grandchild;
    boot_record_for_child(&r, 1, &child);
    boot_record_for_child(&child, 0, &grandchild);
    assert_int_equal(grandchild.parent, 7);
    assert_int_equal(boot_record_nchildren(&grandchild), 0);
    boot_record_fini(&grandchild);
    boot_record_fini(&child);
    boot_record_fini(&r);
}

/* Whoever lacks something that starting takes starts nobody. */
static void who_starts_nobody(void **state)
{
    (void)state;
    struct boot_record r;
    fill(&r);
    assert_int_equal(boot_record_nchildren(&r), 2);
    r.radix = 0;
    assert_int_equal(boot_record_nchildren(&r), 0);
    r.radix = 2;
    r.node = BOOT_NODE_ANY;
    assert_int_equal(boot_record_nchildren(&r), 0);
    r.node = 3;
    free(r.muster);
    r.muster = NULL;
    assert_int_equal(boot_record_nchildren(&r), 0);
    boot_record_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(the_secret_is_written_once),
        cmocka_unit_test(the_end_is_an_empty_line),
        cmocka_unit_test(the_least_that_is_needed),
        cmocka_unit_test(what_is_not_right_is_refused),
        cmocka_unit_test(values_that_cannot_travel),
        cmocka_unit_test(the_record_of_a_child),
        cmocka_unit_test(who_starts_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

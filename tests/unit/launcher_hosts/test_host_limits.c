/* Host lists beyond the vectors: limits, places in long lines, what the resolver would misread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "launcher/core/host_filter.h"
#include "launcher/core/hostfile.h"

static enum host_error parse(struct buf *text, struct host_list *list, struct host_fault *f)
{
    struct err e;
    host_fault_init(f);
    int rc = hostfile_parse((struct str){text->data, text->len}, "hosts.txt", list, f, &e);
    assert_int_equal(rc, f->class == HOST_OK ? 0 : -1);
    return f->class;
}

static enum host_error class_of(const char *line)
{
    struct buf text;
    struct host_list list;
    struct host_fault f;
    buf_init(&text, 0);
    buf_adds(&text, line);
    enum host_error class = parse(&text, &list, &f);
    if (class == HOST_OK)
        host_list_fini(&list);
    host_fault_fini(&f);
    buf_fini(&text);
    return class;
}

static void what_the_resolver_would_misread(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum host_error class;
    } rows[] = {
        {"0x10", HOST_E_HOSTNAME},
        {"0X1f", HOST_E_HOSTNAME},
        {"0x", HOST_E_HOSTNAME},
        {"10.0.0.0x1", HOST_E_HOSTNAME},
        {"n1.12", HOST_E_HOSTNAME},
        {"0xg", HOST_OK},
        {"n0x10", HOST_OK},
        {"1n", HOST_OK},
        {"n[10-12]", HOST_OK},
        {"[10-12]", HOST_E_HOSTNAME},
        {"10.0.0.[254-257]", HOST_E_HOSTNAME},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(class_of(rows[i].line), rows[i].class);
}

static void which_variables_may_be_set(void **state)
{
    (void)state;
    assert_int_equal(class_of("n1 env.OMP_NUM_THREADS=4"), HOST_OK); /* a default of ours */
    assert_int_equal(class_of("n1 env.MASTER_ADDR=x"), HOST_E_OPTION);
    assert_int_equal(class_of("n1 env.SLURM_PROCID=1"), HOST_E_OPTION);
    assert_int_equal(class_of("n1 env.PMI_RANK=1"), HOST_E_OPTION);
    assert_int_equal(class_of("n1 env.MUSTER_ANYTHING=1"), HOST_E_OPTION);
    assert_int_equal(class_of("n1 env.SLURM_JOB_NAME=1"), HOST_OK);
}

static void as_many_lines_as_slots(void **state)
{
    (void)state;
    struct buf text;
    struct host_list list;
    struct host_fault f;
    buf_init(&text, 0);
    for (int i = 0; i < HOST_SLOTS_MAX; i++)
        buf_adds(&text, "n1\n");
    assert_int_equal(parse(&text, &list, &f), HOST_OK);
    assert_int_equal(list.hosts[0].slots, HOST_SLOTS_MAX);
    host_list_fini(&list);
    host_fault_fini(&f);
    buf_adds(&text, "n1\n");
    assert_int_equal(parse(&text, &list, &f), HOST_E_RANGE);
    assert_int_equal(f.line, HOST_SLOTS_MAX + 1);
    host_fault_fini(&f);
    buf_fini(&text);
}

static void joined_gpus_have_an_end(void **state)
{
    (void)state;
    struct buf text;
    struct host_list list;
    struct host_fault f;
    buf_init(&text, 0);
    for (int i = 0; i < 4096; i++)
        buf_adds(&text, "n1 gpus=0\n");
    assert_int_equal(parse(&text, &list, &f), HOST_E_RANGE);
    assert_int_equal(f.col, 9);
    host_fault_fini(&f);
    buf_fini(&text);
}

/* The caret stands below the byte, however long the line and whatever came before. */
static void the_caret_finds_its_byte(void **state)
{
    (void)state;
    for (int blanks = 0; blanks < 400; blanks += 37) {
        struct buf text;
        struct host_list list;
        struct host_fault f;
        buf_init(&text, 0);
        buf_addf(&text, "n1\t%*s!!", blanks, "");
        for (int i = 0; i < blanks; i++)
            buf_addc(&text, 'x');
        assert_int_equal(parse(&text, &list, &f), HOST_E_SYNTAX);
        assert_int_equal(f.col, blanks + 4);
        const char *line = strchr(buf_str(&f.text), '\n') + 1, *caret = strchr(line, '\n') + 1;
        size_t at = strcspn(caret, "^");
        assert_true(at < 80 && strlen(caret) == at + 2);
        assert_memory_equal(line + at, "!!", 2);
        host_fault_fini(&f);
        buf_fini(&text);
    }
}

/* A failed filter leaves the list as it was. */
static void a_failed_filter_changes_nothing(void **state)
{
    (void)state;
    struct host_list list;
    struct err e;
    static const char *const bad[] = {"n1@n9", "n[1-2]", "n1:7", "+n0@+n9", "n1@n2"};
    assert_int_equal(hostfile_parse_option("n1:4,n2", "--hosts", &list, NULL, &e), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *exclude = bad[i];
        assert_int_equal(host_filter_apply(&list, NULL, exclude, NULL, &e), -1);
        assert_int_equal(e.code, ERR_HOSTFILE);
        assert_int_equal(list.n, 2);
        assert_null(list.hosts[0].chosen.bits);
    }
    host_list_fini(&list);
}

/* What only the host can check: which slots it has. */
static void slots_of_a_host_without_a_number(void **state)
{
    (void)state;
    struct host_list list;
    struct host_fault f;
    struct err e;
    uint32_t n;
    host_fault_init(&f);
    assert_int_equal(hostfile_parse_option("n1,n2", "--hosts", &list, NULL, &e), 0);
    assert_int_equal(host_filter_apply(&list, "n1:0,7@n2", "n2:0-1", NULL, &e), 0);
    assert_int_equal(host_workers(&list, &list.hosts[0], 8, &n, &f, &e), 0);
    assert_int_equal(n, 2);
    assert_int_equal(host_workers(&list, &list.hosts[0], 4, &n, &f, &e), -1);
    assert_int_equal(f.class, HOST_E_NOSLOT);
    assert_int_equal(host_workers(&list, &list.hosts[1], 8, &n, &f, &e), 0);
    assert_int_equal(n, 6);
    assert_int_equal(host_workers(&list, &list.hosts[1], 2, &n, &f, &e), -1);
    assert_int_equal(f.class, HOST_E_EMPTY);
    host_fault_fini(&f);
    host_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_resolver_would_misread),
        cmocka_unit_test(which_variables_may_be_set),
        cmocka_unit_test(as_many_lines_as_slots),
        cmocka_unit_test(joined_gpus_have_an_end),
        cmocka_unit_test(the_caret_finds_its_byte),
        cmocka_unit_test(a_failed_filter_changes_nothing),
        cmocka_unit_test(slots_of_a_host_without_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

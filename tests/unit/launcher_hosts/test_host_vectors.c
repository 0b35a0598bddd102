/* Every row of tests/vectors/hostfile: hostfiles, --hosts, --include and --exclude, ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_filter.h"
#include "launcher/core/host_name.h"
#include "launcher/core/hostfile.h"
#include "launcher/core/hosts_plan.h"
#include "table.h"

static void format_list(const struct host_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        if (i)
            buf_addc(out, '|');
        host_format(&list->hosts[i], out);
    }
}

/* The first line is that of struct err, and what it is about follows with a caret. */
static void check_text(const struct host_fault *f, const struct err *e)
{
    const char *text = buf_str(&f->text);
    size_t first = strcspn(text, "\n");
    assert_int_equal(e->code, ERR_HOSTFILE);
    assert_memory_equal(text, e->text, strlen(e->text) < first ? strlen(e->text) : first);
    for (size_t i = 0; i < f->text.len; i++)
        assert_true(text[i] == '\n' || (text[i] >= 0x20 && text[i] < 0x7f));
    if (f->col)
        assert_string_equal(text + f->text.len - 2, "^\n");
}

/* Compares class, place and text with the row's; false if the row has none. */
static bool check_error(struct table *t, const struct host_fault *f, const struct err *e)
{
    const char *error = table_text(t, "error");
    assert_string_equal(host_error_name(f->class), error ? error : "OK");
    if (!error)
        return false;
    check_text(f, e);
    return true;
}

static void check_parts(struct table *t, const struct host_fault *f)
{
    struct str rest = table_bytes(t, "text"), part;
    while (str_split(&rest, '|', &part)) {
        char *want = mem_printf("%.*s", STR_ARG(part));
        if (!strstr(buf_str(&f->text), want))
            fail_msg("no \"%s\" in: %s", want, buf_str(&f->text));
        free(want);
    }
}

/* Reading the canonical text again gives the same hosts. */
static void check_again(const struct host_list *list)
{
    struct buf text, again, once;
    struct host_list second;
    struct err e;
    buf_init(&text, 0);
    buf_init(&again, 0);
    buf_init(&once, 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct host *host = &list->hosts[i];
        bool is_bracketed = strchr(host->name, ':') != NULL;
        buf_reset(&once);
        host_format(host, &once);
        const char *rest = buf_str(&once) + strlen(host->name);
        if (!host->slots)
            rest += strlen(" slots=auto");
        buf_addf(&text, is_bracketed ? "[%s]%s\n" : "%s%s\n", host->name, rest);
    }
    if (hostfile_parse((struct str){text.data, text.len}, "again", &second, NULL, &e) != 0)
        fail_msg("%s", e.text);
    buf_reset(&text);
    format_list(list, &text);
    format_list(&second, &again);
    assert_string_equal(buf_str(&text), buf_str(&again));
    host_list_fini(&second);
    buf_fini(&text);
    buf_fini(&again);
    buf_fini(&once);
}

static void check_hosts(struct table *t, const struct host_list *list)
{
    struct buf got;
    const char *want = table_text(t, "hosts");
    buf_init(&got, 0);
    assert_int_equal(list->n, table_int(t, "count", -1));
    format_list(list, &got);
    if (want)
        assert_string_equal(buf_str(&got), want);
    buf_fini(&got);
    check_again(list);
}

/* With the input in memory of its own size, so that a read past it is seen. */
static int parse(struct str input, bool is_file, struct host_list *list, struct host_fault *f,
                 struct err *e)
{
    char *copy = mem_alloc(input.n + !is_file, 1);
    memcpy(copy, input.p, input.n);
    int rc = is_file ? hostfile_parse((struct str){copy, input.n}, "hosts.txt", list, f, e)
                     : hostfile_parse_option(copy, "--hosts", list, f, e);
    free(copy);
    return rc;
}

static void run_inputs(const char *name, bool is_file, int rows)
{
    struct table *t = table_open(name);
    int passed = 0;
    while (table_next(t)) {
        struct host_list list;
        struct host_fault f;
        struct err e = {ERR_OK, 0, ""};
        host_fault_init(&f);
        int rc = parse(table_bytes(t, "input"), is_file, &list, &f, &e);
        print_message("%s %s", table_text(t, "id"), rc ? buf_str(&f.text) : "\n");
        assert_int_equal(rc, f.class == HOST_OK ? 0 : -1);
        if (check_error(t, &f, &e)) {
            assert_int_equal(f.line, table_int(t, "line", -1));
            assert_int_equal(f.col, table_int(t, "col", -1));
            check_parts(t, &f);
        } else {
            check_hosts(t, &list);
            host_list_fini(&list);
        }
        host_fault_fini(&f);
        passed++;
    }
    print_message("%s: %d rows passed\n", name, passed);
    assert_int_equal(passed, rows);
    table_close(t);
}

static void hostfiles(void **state)
{
    (void)state;
    run_inputs("hostfile.tsv", true, 227);
}

static void values_of_hosts(void **state)
{
    (void)state;
    run_inputs("hosts.tsv", false, 37);
}

static void format_slots(const struct host_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->n; i++) {
        buf_addf(out, "%s%s ", i ? "|" : "", list->hosts[i].name);
        host_slots_format(&list->hosts[i], out);
    }
}

static void filters(void **state)
{
    (void)state;
    struct table *t = table_open("filter.tsv");
    int passed = 0;
    while (table_next(t)) {
        struct host_list list;
        struct host_fault f;
        struct buf slots;
        struct err e = {ERR_OK, 0, ""};
        host_fault_init(&f);
        buf_init(&slots, 0);
        assert_int_equal(hostfile_parse(table_bytes(t, "hostfile"), "hosts.txt", &list, &f, &e),
                         0);
        int rc = host_filter_apply(&list, table_text(t, "include"), table_text(t, "exclude"),
                                   &f, &e);
        print_message("%s %s", table_text(t, "id"), rc ? buf_str(&f.text) : "\n");
        if (check_error(t, &f, &e)) {
            const char *where = table_text(t, "where");
            assert_int_equal(f.col, table_int(t, "col", -1));
            check_parts(t, &f);
            if (where)
                assert_true(strncmp(buf_str(&f.text) + 2, where, strlen(where)) == 0);
        } else {
            assert_int_equal(rc, 0);
            format_slots(&list, &slots);
            assert_string_equal(buf_str(&slots), table_text(t, "slots"));
        }
        buf_fini(&slots);
        host_fault_fini(&f);
        host_list_fini(&list);
        passed++;
    }
    print_message("filter.tsv: %d rows passed\n", passed);
    assert_int_equal(passed, 69);
    table_close(t);
}

struct args {
    uint32_t nproc;
    char *include, *exclude;
};

static struct args read_args(const char *text)
{
    struct args args = {0, NULL, NULL};
    struct str rest = str_from(text), word, value;
    while (str_split(&rest, ' ', &word)) {
        uint64_t n;
        assert_true(str_split(&rest, ' ', &value));
        if (str_eq(word, "--include"))
            args.include = mem_printf("%.*s", STR_ARG(value));
        else if (str_eq(word, "--exclude"))
            args.exclude = mem_printf("%.*s", STR_ARG(value));
        else if (str_eq(word, "-n") && str_parse_u64(value, 1, 4096, &n) == 0)
            args.nproc = (uint32_t)n;
        else
            fail_msg("unknown %.*s", STR_ARG(word));
    }
    return args;
}

static bool is_known(const struct hosts_row *row)
{
    return row->first_rank != HOSTS_UNKNOWN && row->nworkers != HOSTS_UNKNOWN;
}

static void format_ranks(const struct host_list *list, const struct hosts_row *rows,
                         struct buf *out)
{
    for (size_t i = 0; i < list->n; i++)
        for (uint32_t k = 0; is_known(&rows[i]) && k < rows[i].nworkers; k++)
            buf_addf(out, "%s%s/%u/%u/%u/%zu", out->len ? "|" : "", list->hosts[i].name,
                     rows[i].first_rank + k, k, rows[i].nworkers, i);
}

static int lay_out(struct host_list *list, const struct args *args, struct buf *text,
                   uint32_t *world, struct host_fault *f, struct err *e)
{
    struct hosts_row rows[8];
    assert_true(list->n <= 8);
    if (args->nproc && host_list_set_nproc(list, args->nproc, f, e) != 0)
        return -1;
    if (host_filter_apply(list, args->include, args->exclude, f, e) != 0
        || hosts_plan_rows(list, rows, world, e) != 0)
        return -1;
    format_ranks(list, rows, text);
    return 0;
}

static void ranks(void **state)
{
    (void)state;
    struct table *t = table_open("ranks.tsv");
    int passed = 0;
    while (table_next(t)) {
        struct host_list list;
        struct host_fault f;
        struct buf text;
        struct err e = {ERR_OK, 0, ""};
        uint32_t world = 0;
        host_fault_init(&f);
        buf_init(&text, 0);
        struct args args = read_args(table_text(t, "args"));
        assert_int_equal(hostfile_parse(table_bytes(t, "hostfile"), "hosts.txt", &list, &f, &e),
                         0);
        int rc = lay_out(&list, &args, &text, &world, &f, &e);
        print_message("%s %s", table_text(t, "id"), rc ? buf_str(&f.text) : "\n");
        if (table_text(t, "error")) {
            assert_string_equal(host_error_name(f.class), table_text(t, "error"));
            assert_non_null(strstr(e.text, table_text(t, "where")));
        } else {
            assert_int_equal(rc, 0);
            assert_int_equal(world,
                             (uint32_t)table_int(t, "world_size", -1)); /* HOSTS_UNKNOWN */
            assert_string_equal(buf_str(&text), table_text(t, "ranks"));
        }
        free(args.include);
        free(args.exclude);
        buf_fini(&text);
        host_fault_fini(&f);
        host_list_fini(&list);
        passed++;
    }
    print_message("ranks.tsv: %d rows passed\n", passed);
    assert_int_equal(passed, 14);
    table_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostfiles),
        cmocka_unit_test(values_of_hosts),
        cmocka_unit_test(filters),
        cmocka_unit_test(ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

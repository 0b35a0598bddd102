/* Who would run where on the hosts of a list, before any of them was asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "launcher/core/hostfile.h"
#include "launcher/core/host_filter.h"
#include "launcher/core/hosts_plan.h"

static const char *const no_environment[] = {NULL};

struct fixture {
    struct options opt;
    struct host_list hosts;
    bool is_here[8];
    struct addr heads[1];
    char *forwarded[2];
    struct hosts_view view;
    struct hosts_row rows[8];
    uint32_t world;
};

static void make(struct fixture *f, const char *file, const char *const *environment,
                 const char *const *args)
{
    struct err e;
    *f = (struct fixture){.heads = {{"10.0.0.1", 0}}, .forwarded = {"PATH=/bin", "OMP_X=\1"}};
    if (options_parse_command(OPTIONS_PLAN, (char *const *)(uintptr_t)args, environment,
                              &f->opt, &e)
            < 0
        || hostfile_parse(str_from(file), "hosts", &f->hosts, NULL, &e) < 0
        || (f->opt.nproc && host_list_set_nproc(&f->hosts, f->opt.nproc, NULL, &e) < 0)
        || (f->opt.include && host_filter_apply(&f->hosts, f->opt.include, NULL, NULL, &e) < 0)
        || hosts_plan_rows(&f->hosts, f->rows, &f->world, &e) < 0)
        fail_msg("%s", e.text);
    f->view = (struct hosts_view){.opt = &f->opt,
                                  .hosts = &f->hosts,
                                  .is_here = f->is_here,
                                  .engine = "ssh",
                                  .head = "login",
                                  .heads = {f->heads, 1},
                                  .forwarded = f->forwarded,
                                  .nforwarded = 2};
}

static void expect_rows(const struct fixture *f, const struct hosts_row *want)
{
    for (size_t i = 0; i < f->hosts.n; i++) {
        assert_int_equal(f->rows[i].first_rank, want[i].first_rank);
        assert_int_equal(f->rows[i].nworkers, want[i].nworkers);
    }
}

static void expect_text(const struct fixture *f, const char *want)
{
    struct buf text;
    buf_init(&text, 0);
    hosts_plan_render(&f->view, f->rows, f->world, &text);
    if (!strstr(buf_str(&text), want))
        fail_msg("\"%s\" is not in\n%s", want, buf_str(&text));
    buf_fini(&text);
}

static void numbers_of_the_list(void **state)
{
    static const char *const args[] = {"--hostfile", "hosts", "train", "a b", NULL};
    static const struct hosts_row want[] = {{0, 4}, {4, 1}};
    struct fixture f;
    (void)state;
    make(&f, "# two\na slots=4 gpus=0-3\nb slots=1 addr=10.0.0.9 env.X=y\n", no_environment,
         args);
    expect_rows(&f, want);
    assert_int_equal(f.world, 5);
    f.is_here[0] = true;
    assert_false(hosts_plan_is_head_outside(&f.view));
    expect_text(&f, "5 workers on 2 hosts of hosts, agents by ssh; nothing was started");
    expect_text(&f, "program   train 'a b'\n");
    expect_text(&f, "10.0.0.1\n");
    expect_text(
        &f,
        "node  host          ranks  local  workers from  GPUs           address for others\n"
        "0     a (this one)  0-3    0-3    hosts:2       0-3 (hosts:2)  -\n"
        "1     b             4      0      hosts:3       decided on b   addr=10.0.0.9\n");
    expect_text(&f, "  PATH, OMP_X\n  on b: X=y\n");
    expect_text(&f, "--hostfile hosts ");
    host_list_fini(&f.hosts);
}

static void what_only_a_host_knows(void **state)
{
    static const char *const args[] = {"--hostfile", "hosts", "train", NULL};
    static const struct hosts_row want[] = {
        {0, 2}, {2, HOSTS_UNKNOWN}, {HOSTS_UNKNOWN, 2}, {HOSTS_UNKNOWN, HOSTS_UNKNOWN}};
    struct fixture f;
    (void)state;
    make(&f, "a slots=2\nb\nc slots=2\nd\n", no_environment, args);
    expect_rows(&f, want);
    assert_int_equal(f.world, HOSTS_UNKNOWN);
    assert_true(hosts_plan_is_head_outside(&f.view));
    expect_text(&f, "node  host  ranks       local  workers from  GPUs\n"
                    "0     a     0-1         0-1    hosts:1       decided on a\n"
                    "1     b     from 2 on   -      decided on b  decided on b\n"
                    "2     c     2, after b  0-1    hosts:3       decided on c\n"
                    "3     d     after c     -      decided on d  decided on d\n");
    host_list_fini(&f.hosts);
}

static void options_beat_the_list(void **state)
{
    static const char *const args[] = {"--hostfile", "hosts", "-n",    "3", "--include",
                                       "a:0,2@b",    "-v",    "train", NULL};
    static const char *const environment[] = {"MUSTER_GPUS=4-6", NULL};
    static const struct hosts_row want[] = {{0, 2}, {2, 3}};
    struct fixture f;
    (void)state;
    make(&f, "a slots=8 gpus=0\nb\nc\n", environment, args);
    expect_rows(&f, want);
    expect_text(&f, "0     a     0-1    slots 0,2  command line  4-6 (MUSTER_GPUS)\n"
                    "1     b     2-4    0-2        command line  4-6 (MUSTER_GPUS)\n");
    expect_text(&f, "  PATH=/bin\n  OMP_X=?\n");
    host_list_fini(&f.hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_the_list),
        cmocka_unit_test(what_only_a_host_knows),
        cmocka_unit_test(options_beat_the_list),
    };
    return cmocka_run_group_tests_name("hosts_plan", tests, NULL, NULL);
}

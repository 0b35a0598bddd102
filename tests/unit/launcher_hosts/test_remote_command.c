/* The words by which each engine starts agents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "launcher/core/remote_command.h"

#define TOKEN "0123456789abcdef"
#define OPTIONS                                                                                \
    "-T|-x|-o|BatchMode=yes|-o|ConnectTimeout=10|-o|ServerAliveInterval=5|-o|"                 \
    "ServerAliveCountMax=3|-o|ClearAllForwardings=yes|-o|ControlMaster=no|-o|"                 \
    "RemoteCommand=none|"

/* Words joined by "|", which occurs in none of them. */
static void expect(struct argv *argv, const char *want)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < argv->n; i++)
        buf_addf(&text, "%s%s", i ? "|" : "", argv->words[i]);
    assert_string_equal(buf_str(&text), want);
    assert_null(argv->words[argv->n]);
    buf_fini(&text);
    argv_fini(argv);
}

static void ssh(void **state)
{
    (void)state;
    struct argv argv;
    struct err e;
    const struct remote_ssh plain = {.host = "n1", .muster = "/opt/m/muster", .token = TOKEN};
    assert_int_equal(remote_ssh_argv(&plain, &argv, &e), 0);
    expect(&argv, "ssh|" OPTIONS "--|n1|exec '/opt/m/muster' agent --boot=" TOKEN);
    const char *const args[] = {"-oStrictHostKeyChecking=yes", "-J", "bastion", NULL};
    const struct remote_ssh full = {.ssh = "/usr/bin/ssh",
                                    .args = args,
                                    .port = 2222,
                                    .user = "u",
                                    .host = "fd00::1",
                                    .muster = "/o p/it's",
                                    .token = TOKEN};
    assert_int_equal(remote_ssh_argv(&full, &argv, &e), 0);
    expect(&argv, "/usr/bin/ssh|-oStrictHostKeyChecking=yes|-J|bastion|" OPTIONS
                  "-p|2222|-l|u|--|fd00::1|exec '/o p/it'\\''s' agent --boot=" TOKEN);
}

static void ssh_refuses_options_in_disguise(void **state)
{
    (void)state;
    static const struct remote_ssh rows[] = {
        {.host = "-oProxyCommand=x", .muster = "/m", .token = TOKEN},
        {.host = "", .muster = "/m", .token = TOKEN},
        {.host = "n1", .user = "-l", .muster = "/m", .token = TOKEN},
        {.host = "n1", .muster = "muster", .token = TOKEN},
        {.host = "n1", .muster = "/a\nb", .token = TOKEN},
        {.host = "n1", .muster = "/m", .token = "0123456789abcde;"},
        {.host = "n1", .muster = "/m", .token = "0123"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct argv argv;
        struct err e = {ERR_OK, 0, ""};
        assert_int_equal(remote_ssh_argv(&rows[i], &argv, &e), -1);
        assert_true(e.text[0]);
        assert_null(argv.words);
    }
}

static void srun(void **state)
{
    (void)state;
    struct argv argv;
    struct err e;
    const struct remote_srun plain = {.nnodes = 4, .muster = "/m", .token = TOKEN};
    assert_int_equal(remote_srun_argv(&plain, &argv, &e), 0);
    expect(&argv, "srun|--nodes=4|--ntasks=4|--ntasks-per-node=1|--mpi=none|--cpu-bind=none|"
                  "--kill-on-bad-exit=0|--overlap|/m|agent|--boot=" TOKEN);
    const struct remote_srun full = {
        .nnodes = 2, .nodelist = "n[1-2]", .gpus = 8, .muster = "/m", .token = TOKEN};
    assert_int_equal(remote_srun_argv(&full, &argv, &e), 0);
    expect(&argv, "srun|--nodes=2|--ntasks=2|--ntasks-per-node=1|--nodelist=n[1-2]|"
                  "--gres=gpu:8|--mpi=none|--cpu-bind=none|--kill-on-bad-exit=0|--overlap|/m|"
                  "agent|--boot=" TOKEN);
    assert_string_equal(remote_srun_hidden()[0], "SLURM_GPUS_PER_TASK");
}

static void mpi(void **state)
{
    (void)state;
    struct argv argv;
    struct err e;
    struct remote_mpi r = {.nnodes = 3, .muster = "/m", .boot_file = "/s/boot"};
    assert_int_equal(remote_mpi_argv(&r, &argv, &e), 0);
    expect(&argv, "mpirun|--map-by|ppr:1:node|--bind-to|none|/m|agent|--boot-file=/s/boot");
    r.is_hydra = true;
    assert_int_equal(remote_mpi_argv(&r, &argv, &e), 0);
    expect(&argv, "mpiexec.hydra|-ppn|1|-n|3|/m|agent|--boot-file=/s/boot");
    r.hosts = "n1,n2,n3";
    assert_int_equal(remote_mpi_argv(&r, &argv, &e), 0);
    expect(&argv, "mpiexec.hydra|-hosts|n1,n2,n3|-ppn|1|-n|3|/m|agent|--boot-file=/s/boot");
    r.is_hydra = false;
    assert_int_equal(remote_mpi_argv(&r, &argv, &e), 0);
    expect(&argv, "mpirun|--host|n1,n2,n3|--map-by|ppr:1:node|--bind-to|none|/m|agent|"
                  "--boot-file=/s/boot");
    r.is_hydra = true;
    r.hosts = NULL;
    r.launcher = "/opt/mpich/bin/mpiexec";
    assert_int_equal(remote_mpi_argv(&r, &argv, &e), 0);
    expect(&argv, "/opt/mpich/bin/mpiexec|-ppn|1|-n|3|/m|agent|--boot-file=/s/boot");
    r.boot_file = "boot";
    assert_int_equal(remote_mpi_argv(&r, &argv, &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ssh),
        cmocka_unit_test(ssh_refuses_options_in_disguise),
        cmocka_unit_test(srun),
        cmocka_unit_test(mpi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

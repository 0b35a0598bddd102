#include "launcher/io/agents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/boot_record.h"
#include "launcher/core/hostfile.h"
#include "launcher/core/tree_shape.h"
#include "launcher/io/spawn.h"

/* ---- before anything runs ---- */

bool agents_is_here(const struct agents *a, const struct host *host)
{
    return strcasecmp(host->name, a->host) == 0 || strcasecmp(host->name, "localhost") == 0
           || (addr_is_numeric(host->name) && netif_is_mine(a->netifs, host->name)
               && !a->opt->ssh);
}

static void find_far(struct agents *a)
{
    a->far = mem_alloc(a->hosts->n, sizeof *a->far);
    for (uint32_t i = 0; i < a->hosts->n; i++)
        if (!agents_is_here(a, &a->hosts->hosts[i]))
            a->far[a->nfar++] = i;
    a->radix = tree_shape_radix(a->nfar, a->opt->ssh_flat ? 0 : a->opt->ssh_tree);
    if (!a->opt->ssh)
        return;
    bool is_relative = a->opt->ssh[0] != '/' && strchr(a->opt->ssh, '/');
    a->ssh =
        is_relative ? mem_printf("%s/%s", a->start_dir, a->opt->ssh) : mem_strdup(a->opt->ssh);
}

static bool has_program(const char *name)
{
    struct err e;
    const struct facts facts = {.environment = (const char *const *)environ};
    char *path = spawn_find(name, &facts, &e);
    free(path);
    return path != NULL;
}

static int check_program(const char *name, struct err *e)
{
    const struct facts facts = {.environment = (const char *const *)environ};
    char *path = spawn_find(name, &facts, e);
    free(path);
    return path ? 0 : err_wrap(e, "to start muster on other hosts");
}

static int check_allocation(const struct agents *a, struct err *e)
{
    const char *nodelist = a->found->view.nodelist;
    struct host_list allocation;
    if (hostfile_parse_option(nodelist, "SLURM_JOB_NODELIST", &allocation, NULL, e) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < a->hosts->n && rc == 0; i++)
        if (!host_list_find(&allocation, a->hosts->hosts[i].name))
            rc =
                err_set(e, ERR_USAGE, "%.80s is not in this Slurm allocation, which has %.120s",
                        a->hosts->hosts[i].name, nodelist);
    host_list_fini(&allocation);
    return rc;
}

/* Open MPI and Hydra take names only. */
static int check_names(const struct agents *a, struct err *e)
{
    for (size_t i = 0; i < a->hosts->n; i++)
        if (a->hosts->hosts[i].user || a->hosts->hosts[i].port)
            return err_set(
                e, ERR_USAGE,
                "%.80s: with --engine mpi a host has no user and no port of its own; "
                "~/.ssh/config has them",
                a->hosts->hosts[i].name);
    return 0;
}

static bool is_hydra(void)
{
    return !has_program("mpirun") && has_program("mpiexec.hydra");
}

static int check_far(struct agents *a, struct err *e)
{
    find_far(a);
    return a->nfar ? check_program(a->opt->ssh ? a->opt->ssh : "ssh", e) : 0;
}

int agents_check(struct agents *a, struct err *e)
{
    switch (a->found->launch) {
    case START_SLURM:
        return check_allocation(a, e) < 0 ? -1 : check_program("srun", e);
    case START_MPI:
        return check_names(a, e) < 0
                   ? -1
                   : check_program(is_hydra() ? "mpiexec.hydra" : "mpirun", e);
    case START_SSH:
        return check_far(a, e);
    case START_AUTO:
    case START_LOCAL:
    case START_MANUAL:
    case START_COUNT:
        break;
    }
    return err_set(e, ERR_INTERNAL, "there are no agents to start");
}

uint32_t agents_commands(const struct agents *a)
{
    if (a->found->launch != START_SSH)
        return 1;
    uint32_t by_ssh = a->radix ? tree_shape_runs(a->nfar, a->radix) : a->nfar;
    return (uint32_t)a->hosts->n - a->nfar + by_ssh;
}

/* ---- the record ---- */

static const char *remote_path(const struct agents *a)
{
    return a->opt->remote_muster ? a->opt->remote_muster : a->self;
}

static void add_children(const struct agents *a, uint32_t place, uint32_t below,
                         struct boot_record *boot)
{
    boot->radix = a->radix;
    boot->muster = mem_strdup(remote_path(a));
    boot->ssh = mem_strdup(a->ssh);
    for (uint32_t i = 0; i < a->opt->ssh_args.n; i++)
        boot_record_add_ssh_arg(boot, a->opt->ssh_args.items[i]);
    for (uint32_t i = place + 1; i <= place + below; i++) {
        const struct host *host = &a->hosts->hosts[a->far[i]];
        boot_record_add_child(boot, a->far[i], host->user, host->name, host->port);
    }
}

int agents_boot(const struct agents *a, uint32_t node, uint32_t below, struct buf *out,
                struct err *e)
{
    struct boot_record boot;
    boot_record_init(&boot);
    boot.job = mem_strdup(a->opt->job_id);
    if (a->found->launch == START_SSH)
        boot.node = node;
    memcpy(boot.secret, a->secret, sizeof boot.secret);
    for (size_t i = 0; i < a->nheads; i++)
        boot_record_add_address(&boot, a->heads[i].host, a->port);
    if (below)
        add_children(a, agents_find_far(a, node), below, &boot);
    int rc = boot_record_encode(&boot, out, e);
    boot_record_fini(&boot);
    return rc;
}

static void wipe(struct buf *text)
{
    if (text->data)
        boot_record_wipe(text->data, text->len);
    buf_fini(text);
}

/* Whether records can be made at all, before anything runs. */
static int check_boot(const struct agents *a, struct err *e)
{
    struct buf text;
    uint32_t below = a->radix ? a->nfar - 1 : 0;
    buf_init(&text, 0);
    int rc = agents_boot(a, below ? a->far[0] : 0, below, &text, e);
    wipe(&text);
    if (rc < 0 && below)
        err_wrap(e, "hosts that start others (--ssh-flat needs none)");
    return rc;
}

/* ---- ssh ---- */

static void local_argv(const struct agents *a, const char *token, struct argv *out)
{
    out->n = 3;
    out->cap = 4;
    out->words = mem_alloc(out->cap, sizeof *out->words);
    out->words[0] = mem_strdup(a->self);
    out->words[1] = mem_strdup("agent");
    out->words[2] = mem_printf("--boot=%s", token);
}

/* Of our own machine: without ssh. */
static int add_here(const struct agents *a, uint32_t node, struct remotes *r, struct err *e)
{
    char token[REMOTE_TOKEN_DIGITS + 1];
    struct argv argv = {0};
    if (remotes_token(token, e) < 0)
        return -1;
    local_argv(a, token, &argv);
    const struct remote_command command = {.host = a->hosts->hosts[node].name,
                                           .node = node,
                                           .nnodes = 1,
                                           .argv = &argv,
                                           .token = token};
    remotes_add(r, &command);
    return 0;
}

static int add_all_here(const struct agents *a, struct remotes *r, struct err *e)
{
    for (uint32_t i = 0; i < a->hosts->n; i++)
        if (agents_find_far(a, i) >= a->nfar && add_here(a, i, r, e) < 0)
            return -1;
    return 0;
}

int agents_add_far(const struct agents *a, uint32_t i, struct remotes *r, struct err *e)
{
    const struct host *host = &a->hosts->hosts[a->far[i]];
    char token[REMOTE_TOKEN_DIGITS + 1];
    struct argv argv = {0};
    if (remotes_token(token, e) < 0)
        return -1;
    const struct remote_ssh ssh = {.ssh = a->opt->ssh,
                                   .args = a->opt->ssh_args.items,
                                   .port = host->port,
                                   .user = host->user,
                                   .host = host->name,
                                   .muster = remote_path(a),
                                   .token = token};
    if (remote_ssh_argv(&ssh, &argv, e) < 0)
        return err_wrap(e, "%s", host->name);
    const struct remote_command command = {.host = host->name,
                                           .node = a->far[i],
                                           .nnodes = 1,
                                           .argv = &argv,
                                           .token = token,
                                           .is_again = true};
    remotes_add(r, &command);
    return 0;
}

int agents_add_each(const struct agents *a, struct remotes *r, struct err *e)
{
    if (add_all_here(a, r, e) < 0)
        return -1;
    for (uint32_t i = 0; i < a->nfar; i++)
        if (agents_add_far(a, i, r, e) < 0)
            return -1;
    return 0;
}

uint32_t agents_find_far(const struct agents *a, uint32_t node)
{
    uint32_t low = 0, high = a->nfar;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->far[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->nfar && a->far[low] == node ? low : UINT32_MAX;
}

/* ---- srun ---- */

static void join_names(const struct agents *a, struct buf *out)
{
    for (size_t i = 0; i < a->hosts->n; i++)
        buf_addf(out, "%s%s", i ? "," : "", a->hosts->hosts[i].name);
}

static int add_step(const struct agents *a, struct remotes *r, struct err *e)
{
    char token[REMOTE_TOKEN_DIGITS + 1];
    struct buf names;
    struct argv argv = {0};
    int64_t gpus = a->found->view.gpus_on_node;
    if (remotes_token(token, e) < 0)
        return -1;
    buf_init(&names, 0);
    join_names(a, &names);
    const struct remote_srun srun = {.nnodes = (uint32_t)a->hosts->n,
                                     .nodelist = buf_str(&names),
                                     .gpus = gpus > 0 ? (uint32_t)gpus : 0,
                                     .muster = remote_path(a),
                                     .token = token};
    int rc = remote_srun_argv(&srun, &argv, e);
    struct remote_command command = {.host = "srun",
                                     .nnodes = srun.nnodes,
                                     .argv = &argv,
                                     .token = token,
                                     .is_group = true,
                                     .hidden = remote_srun_hidden()};
    if (rc == 0)
        remotes_add(r, &command);
    argv_fini(&argv);
    buf_fini(&names);
    return rc;
}

/* ---- mpirun ---- */

static int write_all(int fd, const struct buf *text)
{
    for (size_t done = 0; done < text->len;) {
        ssize_t n = write(fd, text->data + done, text->len - done);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Not durable, but whole before anybody is told its name. */
static int write_boot_file(struct agents *a, struct err *e)
{
    struct buf text;
    buf_init(&text, 0);
    int rc = agents_boot(a, 0, 0, &text, e);
    if (rc == 0) {
        a->boot_file = mem_printf("%s/.muster-boot-XXXXXX", a->dir);
        int fd = mkstemp(a->boot_file); /* mode 0600 */
        rc = fd < 0 ? -1 : write_all(fd, &text);
        int why = errno;
        if (fd >= 0 && close(fd) < 0 && rc == 0) {
            why = errno;
            rc = -1;
        }
        if (rc < 0) {
            err_set(e, ERR_UNAVAILABLE,
                    "--engine mpi: the file that tells the nodes of the job cannot be written "
                    "in %s, which they share: %s",
                    a->dir, strerror(why));
            if (fd >= 0)
                agents_forget(a);
        }
    }
    wipe(&text);
    return rc;
}

static int add_mpi(struct agents *a, struct remotes *r, struct err *e)
{
    struct buf names;
    struct argv argv = {0};
    if (write_boot_file(a, e) < 0)
        return -1;
    buf_init(&names, 0);
    join_names(a, &names);
    const struct remote_mpi mpi = {.is_hydra = is_hydra(),
                                   .nnodes = (uint32_t)a->hosts->n,
                                   .hosts = buf_str(&names),
                                   .muster = remote_path(a),
                                   .boot_file = a->boot_file};
    int rc = remote_mpi_argv(&mpi, &argv, e);
    const struct remote_command command = {.host = mpi.is_hydra ? "mpiexec.hydra" : "mpirun",
                                           .nnodes = mpi.nnodes,
                                           .argv = &argv,
                                           .is_group = true};
    if (rc == 0)
        remotes_add(r, &command);
    argv_fini(&argv);
    buf_fini(&names);
    return rc;
}

int agents_add(struct agents *a, uint16_t port, struct remotes *r, struct err *e)
{
    a->port = port;
    if (check_boot(a, e) < 0)
        return -1;
    if (a->found->launch == START_SLURM)
        return add_step(a, r, e);
    if (a->found->launch == START_MPI)
        return add_mpi(a, r, e);
    return add_all_here(a, r, e);
}

void agents_forget(struct agents *a)
{
    if (a->boot_file)
        unlink(a->boot_file);
    free(a->boot_file);
    a->boot_file = NULL;
}

void agents_fini(struct agents *a)
{
    agents_forget(a);
    free(a->far);
    free(a->ssh);
}

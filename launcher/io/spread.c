#include "launcher/io/spread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/boot_record.h"
#include "launcher/core/env_forward.h"
#include "launcher/core/host_filter.h"
#include "launcher/core/hostfile.h"
#include "launcher/io/spawn.h"
#include "rendezvous/netif.h"

enum { HOSTFILE_MAX = 16 << 20 };

struct spread {
    const struct options *opt;
    char *const *args;
    struct host_list hosts;
    struct env_list env;
    unsigned char secret[LINK_SECRET_SIZE];
    struct link_key *key;
    struct netif_list netifs;
    struct addr heads[ADDR_CANDIDATES_MAX];
    size_t nheads;
    char self[PATH_MAX], dir[PATH_MAX], host[HOST_NAME_MAX + 1];
};

/* ---- reading ---- */

static int read_file(const char *path, struct buf *out, struct err *e)
{
    char part[4096];
    ssize_t n = -1;
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, part, sizeof part)) > 0)
        buf_add(out, part, (size_t)n);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return err_set(e, ERR_USAGE, "%s: %s", path, strerror(why));
    if (out->overflowed)
        return err_set(e, ERR_USAGE, "%s is too large: more than %d MiB", path,
                       HOSTFILE_MAX >> 20);
    return 0;
}

static int read_hosts(struct spread *s, struct host_fault *fault, struct err *e)
{
    struct buf text;
    int rc;
    if (s->opt->hosts)
        return hostfile_parse_option(s->opt->hosts, "--hosts", &s->hosts, fault, e);
    buf_init(&text, HOSTFILE_MAX);
    rc = read_file(s->opt->hostfile, &text, e);
    if (rc == 0)
        rc = hostfile_parse((struct str){text.data ? text.data : "", text.len},
                            s->opt->hostfile, &s->hosts, fault, e);
    buf_fini(&text);
    return rc;
}

/* -n is for each host; then include and exclude choose. */
static int make_list(struct spread *s, struct buf *words, struct err *e)
{
    struct host_fault fault;
    host_fault_init(&fault);
    int rc = read_hosts(s, &fault, e);
    if (rc == 0 && s->opt->nproc)
        rc = host_list_set_nproc(&s->hosts, s->opt->nproc, &fault, e);
    if (rc == 0 && (s->opt->include || s->opt->exclude))
        rc = host_filter_apply(&s->hosts, s->opt->include, s->opt->exclude, &fault, e);
    if (fault.text.len)
        buf_add(words, fault.text.data, fault.text.len);
    host_fault_fini(&fault);
    return rc;
}

static int make_env(struct spread *s, struct err *e)
{
    struct buf text;
    struct str file = {NULL, 0};
    buf_init(&text, HOSTFILE_MAX);
    int rc = s->opt->env_file ? read_file(s->opt->env_file, &text, e) : 0;
    if (s->opt->env_file)
        file = (struct str){text.data ? text.data : "", text.len};
    if (rc == 0)
        rc = env_forward(s->opt, (const char *const *)environ, file, s->opt->env_file, &s->env,
                         e);
    buf_fini(&text);
    return rc;
}

static int find_self(struct spread *s, struct err *e)
{
    ssize_t n = readlink("/proc/self/exe", s->self, sizeof s->self - 1);
    if (n <= 0)
        return err_sys(e, errno, "/proc/self/exe");
    s->self[n] = '\0';
    if (gethostname(s->host, sizeof s->host - 1) < 0)
        return err_sys(e, errno, "gethostname");
    if (s->opt->chdir && !realpath(s->opt->chdir, s->dir))
        return err_set(e, ERR_USAGE, "--chdir %s: %s", s->opt->chdir, strerror(errno));
    if (!s->opt->chdir && !getcwd(s->dir, sizeof s->dir))
        return err_sys(e, errno, "the working directory");
    return 0;
}

/* Where other hosts reach this one: what the user chose, else all its addresses, loopback last.
 */
static int find_addresses(struct spread *s, struct err *e)
{
    struct addr own[ADDR_CANDIDATES_MAX], chosen[ADDR_CANDIDATES_MAX];
    size_t n = 0;
    int nchosen = 0;
    if (netif_list(&s->netifs, e) < 0)
        return -1;
    for (size_t i = 0; i < s->netifs.len && n < ADDR_CANDIDATES_MAX; i++)
        if (s->netifs.items[i].is_up)
            own[n++] = s->netifs.items[i].addr;
    if (s->opt
            ->interface && (nchosen = netif_find(&s->netifs, s->opt->interface, chosen, ADDR_CANDIDATES_MAX, e)) < 0)
        return err_wrap(e, "--interface");
    const struct addr_sources from = {.chosen = {chosen, (size_t)nchosen}, .own = {own, n}};
    s->nheads = addr_candidates(&from, 0, s->heads);
    return s->nheads ? 0 : err_set(e, ERR_UNAVAILABLE, "this machine has no address");
}

static int make_key(struct spread *s, struct err *e)
{
    if (link_secret_new(s->secret, e) < 0)
        return -1;
    s->key = link_key_from_secret(s->secret, s->opt->job_id, e);
    return s->key ? 0 : -1;
}

static int check_ssh(const struct spread *s, struct err *e)
{
    const struct facts facts = {.environment = (const char *const *)environ};
    char *path = spawn_find(s->opt->ssh ? s->opt->ssh : "ssh", &facts, e);
    free(path);
    return path ? 0 : err_wrap(e, "to start muster on other hosts");
}

/* The host is this machine, as far as can be told without asking anybody. */
static bool is_here(const struct spread *s, const struct host *host)
{
    return strcasecmp(host->name, s->host) == 0 || strcasecmp(host->name, "localhost") == 0
           || (addr_is_numeric(host->name) && netif_is_mine(&s->netifs, host->name)
               && !s->opt->ssh);
}

static bool needs_ssh(const struct spread *s)
{
    for (size_t i = 0; i < s->hosts.n; i++)
        if (!is_here(s, &s->hosts.hosts[i]))
            return true;
    return false;
}

struct spread *spread_new(const struct options *opt, char *const *args, struct buf *text,
                          struct err *e)
{
    struct spread *s = mem_alloc(1, sizeof *s);
    s->opt = opt;
    s->args = args;
    host_list_init(&s->hosts, opt->hosts ? "--hosts" : opt->hostfile, opt->hosts != NULL);
    if (make_list(s, text, e) == 0 && make_env(s, e) == 0 && find_self(s, e) == 0
        && find_addresses(s, e) == 0 && make_key(s, e) == 0
        && (!needs_ssh(s) || check_ssh(s, e) == 0))
        return s;
    spread_free(s);
    return NULL;
}

void spread_free(struct spread *s)
{
    host_list_fini(&s->hosts);
    env_list_fini(&s->env);
    netif_fini(&s->netifs);
    link_key_free(s->key);
    link_secret_wipe(s->secret, sizeof s->secret);
    free(s);
}

uint32_t spread_nodes(const struct spread *s)
{
    return (uint32_t)s->hosts.n;
}

const struct link_key *spread_key(const struct spread *s)
{
    return s->key;
}

const char *spread_reach(const struct spread *s)
{
    return s->heads[0].host;
}

const char *spread_host(const struct spread *s, uint32_t node)
{
    return s->hosts.hosts[node].name;
}

/* ---- starting ---- */

static void make_boot(const struct spread *s, uint32_t node, uint16_t port,
                      struct boot_record *boot)
{
    boot_record_init(boot);
    boot->job = mem_strdup(s->opt->job_id);
    boot->node = node;
    memcpy(boot->secret, s->secret, sizeof s->secret);
    for (size_t i = 0; i < s->nheads; i++)
        boot_record_add_address(boot, s->heads[i].host, port);
}

static int local_argv(const struct spread *s, const char *token, struct argv *out)
{
    out->n = 3;
    out->cap = 4;
    out->words = mem_alloc(out->cap, sizeof *out->words);
    out->words[0] = mem_strdup(s->self);
    out->words[1] = mem_strdup("agent");
    out->words[2] = mem_printf("--boot=%s", token);
    return 0;
}

static int make_argv(const struct spread *s, const struct host *host, const char *token,
                     struct argv *out, struct err *e)
{
    const struct remote_ssh ssh = {.ssh = s->opt->ssh,
                                   .args = s->opt->ssh_args.items,
                                   .port = host->port,
                                   .user = host->user,
                                   .host = host->name,
                                   .muster =
                                       s->opt->remote_muster ? s->opt->remote_muster : s->self,
                                   .token = token};
    *out = (struct argv){0};
    return is_here(s, host) ? local_argv(s, token, out) : remote_ssh_argv(&ssh, out, e);
}

static int add(struct spread *s, uint32_t node, uint16_t port, struct remotes *r, struct err *e)
{
    unsigned char random[REMOTE_TOKEN_DIGITS / 2];
    char token[REMOTE_TOKEN_DIGITS + 1];
    struct boot_record boot;
    struct argv argv;
    struct buf text;
    const struct host *host = &s->hosts.hosts[node];
    if (getrandom(random, sizeof random, 0) < 0)
        return err_sys(e, errno, "getrandom");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    if (make_argv(s, host, token, &argv, e) < 0)
        return err_wrap(e, "%s", host->name);
    make_boot(s, node, port, &boot);
    buf_init(&text, 0);
    int rc = boot_record_encode(&boot, &text, e);
    if (rc == 0)
        remotes_add(r, host->name, &argv, token, (struct str){text.data, text.len});
    if (text.data)
        boot_record_wipe(text.data, text.len);
    buf_fini(&text);
    boot_record_fini(&boot);
    argv_fini(&argv);
    return rc;
}

int spread_add(struct spread *s, uint16_t port, struct remotes *r, struct err *e)
{
    for (uint32_t i = 0; i < s->hosts.n; i++)
        if (add(s, i, port, r, e) < 0)
            return -1;
    return 0;
}

/* ---- what a host is told ---- */

/* The list's own words for this host; the command line is stronger, and repeated there. */
static void host_env(const struct spread *s, const struct host *host, struct env_list *env)
{
    char number[16];
    for (char **v = environ; v && *v; v++) { /* options that were given by variables */
        struct str value = str_from(*v), name;
        if (options_is_fallback(*v) && str_split(&value, '=', &name))
            env_list_set(env, name, value);
    }
    for (size_t i = 0; i < s->env.n; i++) {
        struct str value = str_from(s->env.items[i]), name;
        str_split(&value, '=', &name);
        env_list_set(env, name, value);
    }
    for (const char *const *v = host->env; v && *v; v++) {
        struct str value = str_from(*v), name;
        str_split(&value, '=', &name);
        env_list_set(env, name, value);
    }
    if (host->slots) {
        snprintf(number, sizeof number, "%u", host->slots);
        env_list_set(env, str_from("MUSTER_NPROC_PER_NODE"), str_from(number));
    }
    if (host->gpus)
        env_list_set(env, str_from("MUSTER_GPUS"), str_from(host->gpus));
}

int spread_setup(const struct spread *s, uint32_t node, struct buf *out, struct err *e)
{
    struct env_list env = {0};
    size_t nargs = 0;
    if (node >= s->hosts.n)
        return err_set(e, ERR_USAGE, "there is no host %u in the list", node);
    host_env(s, &s->hosts.hosts[node], &env);
    while (s->args[nargs])
        nargs++;
    const struct wire_setup setup = {.node = node,
                                     .host = s->hosts.hosts[node].name,
                                     .dir = s->dir,
                                     .args = (const char *const *)s->args,
                                     .nargs = nargs,
                                     .env = (const char *const *)env.items,
                                     .nenv = env.n};
    int rc = link_wire_setup(&setup, out, e);
    env_list_fini(&env);
    return rc;
}

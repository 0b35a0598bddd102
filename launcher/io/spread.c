#include "launcher/io/spread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/core/ask_record.h"
#include "launcher/core/host_filter.h"
#include "launcher/core/hostfile.h"
#include "launcher/core/open_files.h"
#include "launcher/io/head_addrs.h"
#include "rendezvous/netif.h"

enum { HOSTFILE_MAX = 16 << 20 };

struct spread {
    const struct options *opt;
    char *const *args;
    struct host_list hosts;
    bool *has_come; /* by node */
    struct agents agents;
    struct env_list env;
    unsigned char secret[LINK_SECRET_SIZE];
    struct link_key *key;
    struct netif_list netifs;
    struct addr heads[ADDR_CANDIDATES_MAX];
    size_t nheads;
    char self[PATH_MAX], dir[PATH_MAX], start_dir[PATH_MAX], host[HOST_NAME_MAX + 1];
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

static const char *source_of(const struct options *opt)
{
    if (opt->hosts)
        return opt->origin[OPTION_HOSTS] == ORIGIN_DEFAULT ? "SLURM_JOB_NODELIST" : "--hosts";
    return opt->hostfile;
}

static int read_hosts(struct spread *s, struct host_fault *fault, struct err *e)
{
    struct buf text;
    int rc;
    if (s->opt->hosts)
        return hostfile_parse_option(s->opt->hosts, source_of(s->opt), &s->hosts, fault, e);
    buf_init(&text, HOSTFILE_MAX);
    rc = read_file(s->opt->hostfile, &text, e);
    if (rc == 0)
        rc = hostfile_parse((struct str){text.data ? text.data : "", text.len},
                            s->opt->hostfile, &s->hosts, fault, e);
    buf_fini(&text);
    return rc;
}

/* --nnodes beside a list has to agree with it; of an allocation it takes the first ones. */
static int check_nnodes(struct spread *s, struct err *e)
{
    const struct options *opt = s->opt;
    enum option_origin origin = opt->origin[OPTION_NNODES];
    if (origin == ORIGIN_DEFAULT || origin == ORIGIN_PET)
        return 0;
    bool is_allocation = opt->origin[OPTION_HOSTS] == ORIGIN_DEFAULT && opt->hosts;
    if (is_allocation && s->hosts.n > opt->nnodes_max) {
        bool *is_kept = mem_alloc(s->hosts.n, sizeof *is_kept);
        memset(is_kept, 1, opt->nnodes_max);
        host_list_keep_only(&s->hosts, is_kept);
        free(is_kept);
    }
    if (s->hosts.n >= opt->nnodes_min && s->hosts.n <= opt->nnodes_max)
        return 0;
    return err_set(e, ERR_USAGE, "--nnodes says %u, but there are %zu hosts in %s%s",
                   opt->nnodes_max, s->hosts.n, s->hosts.source,
                   is_allocation ? "" : " (--include and --exclude choose some)");
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
    return rc == 0 ? check_nnodes(s, e) : rc;
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

int spread_read_hosts(const struct options *opt, struct host_list *out, struct buf *text,
                      struct err *e)
{
    struct spread s = {.opt = opt};
    int rc = make_list(&s, text, e);
    if (rc == 0)
        *out = s.hosts;
    else
        host_list_fini(&s.hosts);
    return rc;
}

int spread_read_env(const struct options *opt, struct env_list *out, struct err *e)
{
    struct spread s = {.opt = opt};
    int rc = make_env(&s, e);
    *out = s.env;
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
    if (!getcwd(s->start_dir, sizeof s->start_dir) && !s->opt->chdir)
        return err_sys(e, errno, "the working directory");
    if (!s->opt->chdir)
        memcpy(s->dir, s->start_dir, sizeof s->dir);
    else if (!realpath(s->opt->chdir, s->dir))
        return err_set(e, ERR_USAGE, "--chdir %s: %s", s->opt->chdir, strerror(errno));
    return 0;
}

static int make_key(struct spread *s, struct err *e)
{
    if (link_secret_new(s->secret, e) < 0)
        return -1;
    s->key = link_key_from_secret(s->secret, s->opt->job_id, e);
    return s->key ? 0 : -1;
}

static int make_agents(struct spread *s, const struct engine_found *found, struct err *e)
{
    if (netif_list(&s->netifs, e) < 0)
        return -1;
    s->has_come = mem_alloc(s->hosts.n, sizeof *s->has_come);
    s->agents = (struct agents){.opt = s->opt,
                                .found = found,
                                .hosts = &s->hosts,
                                .heads = s->heads,
                                .secret = s->secret,
                                .netifs = &s->netifs,
                                .self = s->self,
                                .dir = s->dir,
                                .start_dir = s->start_dir,
                                .host = s->host};
    if (agents_check(&s->agents, e) < 0
        || head_addrs_find(&s->agents, s->heads, &s->nheads, e) < 0)
        return -1;
    s->agents.nheads = s->nheads;
    return 0;
}

struct spread *spread_new(const struct options *opt, const struct engine_found *found,
                          char *const *args, struct buf *text, struct err *e)
{
    struct spread *s = mem_alloc(1, sizeof *s);
    s->opt = opt;
    s->args = args;
    if (make_list(s, text, e) == 0 && make_env(s, e) == 0 && find_self(s, e) == 0
        && make_key(s, e) == 0 && make_agents(s, found, e) == 0)
        return s;
    spread_free(s);
    return NULL;
}

void spread_free(struct spread *s)
{
    agents_fini(&s->agents);
    free(s->has_come);
    host_list_fini(&s->hosts);
    env_list_fini(&s->env);
    netif_fini(&s->netifs);
    link_key_free(s->key);
    link_secret_wipe(s->secret, sizeof s->secret);
    free(s);
}

/* A host whose number of workers is not known has at least one. */
static uint64_t count_ranks(const struct host_list *hosts)
{
    struct err e;
    uint64_t sum = 0;
    for (size_t i = 0; i < hosts->n; i++) {
        uint32_t n = 1;
        if (host_workers(hosts, &hosts->hosts[i], 0, &n, NULL, &e) < 0)
            n = 1;
        sum += n;
    }
    return sum;
}

int spread_check_files(const struct spread *s, uint64_t limit, struct err *e)
{
    const struct open_files files = {.nnodes = spread_nodes(s),
                                     .nranks = count_ranks(&s->hosts),
                                     .ncommands = agents_commands(&s->agents)};
    return open_files_check(&files, limit, e);
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

int spread_ask(struct spread *s, struct remotes *r, struct err *e)
{
    return agents_add_each(&s->agents, r, e);
}

int spread_question(struct spread *s, uint32_t node, struct buf *out, struct err *e)
{
    struct buf setup;
    buf_init(&setup, 0);
    int rc = spread_setup(s, node, &setup, e);
    if (rc == 0)
        ask_record_encode((struct str){setup.data, setup.len}, out);
    buf_fini(&setup);
    return rc;
}

const char *spread_host(const struct spread *s, uint32_t node)
{
    return s->hosts.hosts[node].name;
}

const struct host_list *spread_hosts(const struct spread *s)
{
    return &s->hosts;
}

bool spread_is_here(const struct spread *s, uint32_t node)
{
    return agents_is_here(&s->agents, &s->hosts.hosts[node]);
}

struct addr_list spread_heads(const struct spread *s)
{
    return (struct addr_list){s->heads, s->nheads};
}

const struct env_list *spread_env(const struct spread *s)
{
    return &s->env;
}

/* ---- starting ---- */

struct agents *spread_agents(struct spread *s)
{
    return &s->agents;
}

void spread_started(struct spread *s)
{
    agents_forget(&s->agents);
}

bool spread_has_come(const struct spread *s, uint32_t node)
{
    return node < s->hosts.n && s->has_come[node];
}

int spread_place(struct spread *s, const struct wire_who *who, uint32_t *node, struct err *e)
{
    const struct host *found = host_list_find(&s->hosts, who->host);
    *node = who->node;
    if (who->node == WIRE_NONE)
        *node = found ? (uint32_t)(found - s->hosts.hosts) : who->task;
    if (*node >= s->hosts.n)
        return err_set(e, ERR_USAGE, "it is none of the %zu hosts of this job", s->hosts.n);
    if (s->has_come[*node])
        return err_set(e, ERR_USAGE, "another node is %s already", spread_host(s, *node));
    s->has_come[*node] = true;
    return 0;
}

/* ---- what a host is told ---- */

/* The list's own words for this host. The command line is stronger, and repeated there; our
 * environment is stronger, too. */
static void host_env(const struct spread *s, const struct host *host, struct env_list *env)
{
    char number[16];
    if (s->opt->hosts && s->opt->origin[OPTION_HOSTS] == ORIGIN_DEFAULT) /* an allocation */
        env_list_set(env, str_from("MUSTER_HOSTS"), str_from(s->opt->hosts));
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
    if (host->gpus && s->opt->origin[OPTION_GPUS] == ORIGIN_DEFAULT)
        env_list_set(env, str_from("MUSTER_GPUS"), str_from(host->gpus));
}

int spread_setup(const struct spread *s, uint32_t node, struct buf *out, struct err *e)
{
    const struct host *host = &s->hosts.hosts[node];
    bool is_overruled = s->opt->interface && agents_is_here(&s->agents, host);
    struct env_list env = {0};
    struct buf slots, line;
    size_t nargs = 0;
    host_env(s, host, &env);
    buf_init(&slots, 0);
    buf_init(&line, 0);
    buf_addf(&line, "%s:%u", s->hosts.source, host->line);
    if (host->chosen.bits)
        host_slots_format(host, &slots);
    while (s->args[nargs])
        nargs++;
    const struct wire_setup setup = {.node = node,
                                     .host = host->name,
                                     .dir = s->dir,
                                     .slots = buf_str(&slots),
                                     .addr = is_overruled ? NULL : host->addr,
                                     .iface = is_overruled ? NULL : host->iface,
                                     .line = buf_str(&line),
                                     .args = (const char *const *)s->args,
                                     .nargs = nargs,
                                     .env = (const char *const *)env.items,
                                     .nenv = env.n};
    int rc = link_wire_setup(&setup, out, e);
    buf_fini(&slots);
    buf_fini(&line);
    env_list_fini(&env);
    return rc;
}

#include "launcher/cmd/meet.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "launcher/io/driver_agent.h"
#include "launcher/io/resolve.h"
#include "rendezvous/netif.h"

enum { ENDPOINT_PORT = 29400 }; /* torchrun's */

struct place {
    struct addr endpoint;                   /* as the user wrote it */
    struct addr found[ADDR_CANDIDATES_MAX]; /* its numeric addresses */
    size_t n;
    const struct addr *mine; /* the one that is this machine's; NULL = none */
    struct addr told;        /* --local-addr as a numeric address; host "" = not given */
};

static int find_place(const struct options *opt, struct place *p, struct err *e)
{
    struct netif_list own;
    const char *text = opt->rdzv_endpoint;
    if (!text) /* torchrun's static rendezvous */
        text = opt->master_addr ? opt->master_addr : "127.0.0.1";
    if (addr_parse(str_from(text), opt->master_port ? opt->master_port : ENDPOINT_PORT,
                   &p->endpoint, e)
        < 0)
        return err_wrap(e, "--rdzv-endpoint");
    if (!p->endpoint.port)
        return err_set(e, ERR_USAGE,
                       "--rdzv-endpoint: port 0 is no place to meet; it should be "
                       "HOST:PORT");
    int n = resolve(&p->endpoint, opt->join_timeout_ms, p->found, ADDR_CANDIDATES_MAX, e);
    if (n < 0 || netif_list(&own, e) < 0)
        return err_wrap(e, "--rdzv-endpoint");
    p->n = (size_t)n;
    for (size_t i = 0; i < p->n && !p->mine; i++)
        if (netif_is_mine(&own, p->found[i].host))
            p->mine = &p->found[i];
    netif_fini(&own);
    return 0;
}

/* Where the head's store is, as the user wants others to be told. */
static int find_told(const struct options *opt, struct place *p, struct err *e)
{
    if (!opt->local_addr)
        return 0;
    struct addr where = {.port = p->endpoint.port};
    if (addr_parse(str_from(opt->local_addr), where.port, &where, e) < 0
        || resolve(&where, opt->join_timeout_ms, &p->told, 1, e) < 0)
        return err_wrap(e, "--local-addr");
    return 0;
}

static struct link_key *make_key(const struct options *opt, const struct place *p,
                                 struct err *e)
{
    if (opt->secret_file)
        return link_key_from_file(opt->secret_file, opt->job_id, e);
    if (opt->require_secret) {
        err_set(e, ERR_USAGE,
                "--require-secret needs --secret-file FILE, the same on each node");
        return NULL;
    }
    if (!addr_is_loopback(p->found[0].host))
        log_info("",
                 "the nodes meet without a secret: whoever knows the job's id '%s' and "
                 "reaches %s can join (--secret-file)",
                 opt->job_id, p->endpoint.host);
    return link_key_from_id(opt->job_id, e);
}

/* Every address of this machine, unless the endpoint is for this machine alone. */
static const char *listen_address(const struct place *p)
{
    bool is_alone = p->mine && addr_is_loopback(p->mine->host)
                    && (!*p->told.host || addr_is_same_host(p->told.host, p->mine->host));
    return is_alone ? p->mine->host : "";
}

static const char *reach_address(const struct place *p)
{
    return *p->told.host ? p->told.host : p->mine ? p->mine->host : p->found[0].host;
}

/* Whether this node is the head, unless another one on this machine is already. */
static bool may_host(const struct options *opt, const struct place *p)
{
    switch (opt->is_host) {
    case IS_HOST_NO:
        return false;
    case IS_HOST_YES: /* an address that is translated on the way, or moves */
        return true;
    case IS_HOST_UNKNOWN:
        break;
    }
    return p->mine != NULL;
}

int meet(const struct options *opt, const struct facts *facts,
         int (*as_head)(const struct options *opt, const struct facts *facts,
                        const struct head_net *net, struct outcome *out, struct err *e),
         struct outcome *out, struct err *e)
{
    struct place p = {.mine = NULL};
    if (find_place(opt, &p, e) < 0 || find_told(opt, &p, e) < 0)
        return -1;
    struct link_key *key = make_key(opt, &p, e);
    if (!key)
        return -1;
    int rc = -1;
    bool is_head = may_host(opt, &p);
    if (is_head) {
        const struct head_net net = {.listen = listen_address(&p),
                                     .reach = reach_address(&p),
                                     .port = p.endpoint.port,
                                     .key = key,
                                     .nnodes = opt->nnodes_max};
        rc = as_head(opt, facts, &net, out, e);
        /* else another node on this machine is */
        is_head = rc == 0 || e->sys != EADDRINUSE || opt->is_host == IS_HOST_YES;
    }
    if (!is_head) {
        const struct agent agent = {.opt = opt,
                                    .facts = facts,
                                    .lifeline = -1,
                                    .key = key,
                                    .heads = p.found,
                                    .nheads = p.n};
        out->status = driver_agent_run(&agent);
        rc = 0;
    }
    link_key_free(key);
    return rc;
}

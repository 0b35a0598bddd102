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
    return addr_is_loopback(p->mine->host) ? p->mine->host : "";
}

int meet(const struct options *opt, const struct facts *facts,
         int (*as_head)(const struct options *opt, const struct facts *facts,
                        const struct head_net *net, int *status, struct err *e),
         int *status, struct err *e)
{
    struct place p = {.mine = NULL};
    if (find_place(opt, &p, e) < 0)
        return -1;
    struct link_key *key = make_key(opt, &p, e);
    if (!key)
        return -1;
    int rc = -1;
    bool is_head = p.mine && opt->is_host != IS_HOST_NO;
    if (is_head) {
        const struct head_net net = {.listen = listen_address(&p),
                                     .reach = p.mine->host,
                                     .port = p.endpoint.port,
                                     .key = key,
                                     .nnodes = opt->nnodes_max};
        rc = as_head(opt, facts, &net, status, e);
        /* else another node on this machine is */
        is_head = rc == 0 || e->sys != EADDRINUSE || opt->nnodes_max == 1;
    }
    if (!is_head) {
        const struct agent agent = {.opt = opt,
                                    .facts = facts,
                                    .lifeline = -1,
                                    .key = key,
                                    .heads = p.found,
                                    .nheads = p.n};
        *status = driver_agent_run(&agent);
        rc = 0;
    }
    link_key_free(key);
    return rc;
}

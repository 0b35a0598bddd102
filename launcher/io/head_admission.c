#include "launcher/io/head_admission.h"

#include <sys/types.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/core/strangers.h"
#include "launcher/io/admission.h"
#include "launcher/io/head_links.h"
#include "launcher/io/proc_stat.h"

void head_admission_unproven(void *ctx, const struct peer_ip *ip, bool is_named,
                             const struct err *why)
{
    struct driver_head *d = ctx;
    if (!strangers_is_one(is_named, why))
        log_debug("link", "a node's connection ended before a proof: %s", why->text);
    else if (d->admission)
        admission_stranger(d->admission, ip, why->text);
}

static bool is_node(void *ctx, const struct peer_ip *ip)
{
    const struct driver_head *d = ctx;
    struct buf host;
    if (d->links && head_links_has_peer(d->links, ip))
        return true;
    buf_init(&host, 0);
    peer_ip_format(ip, &host);
    bool is_known = job_has_node_at(d->job, buf_str(&host));
    buf_fini(&host);
    return is_known;
}

/* A worker that has given up its rights, or a node that another user of this machine runs. */
static bool is_user(void *ctx, uint32_t uid)
{
    const struct driver_head *d = ctx;
    uint32_t n, user;
    const struct job_rank *ranks = job_ranks(d->job, &n);
    for (uint32_t i = 0; d->local && ranks && i < n; i++) {
        struct proc_stat stat;
        pid_t pid = (pid_t)ranks[i].pid;
        if (pid && !ranks[i].has_ended && proc_stat_user(pid, &user) && user == uid
            && proc_stat_read(pid, &stat) && stat.parent == getpid())
            return true;
    }
    return d->links && head_links_has_user(d->links, uid);
}

bool head_admission_admit(void *ctx, const struct sockaddr *near, const struct sockaddr *far)
{
    struct driver_head *d = ctx;
    return admission_admit(d->admission, near, far);
}

void head_admission_note(void *ctx, const struct server_note *note)
{
    const struct driver_head *d = ctx;
    admission_note(d->admission, "store: ", note);
}

int head_admission_open(struct driver_head *d, struct err *e)
{
    const struct admission_asks asks = {d, is_node, is_user};
    d->admission = admission_new(&d->loop, d->opt->is_store_open, d->net != NULL, &asks, e);
    return d->admission ? 0 : -1;
}

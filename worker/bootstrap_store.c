#include "worker/bootstrap_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "worker/backend_nccl.h"
#include "worker/probe.h"
#include "worker/status.h"

enum { REACH_MS = 10000 };

void bootstrap_init(struct bootstrap *b)
{
    *b = (struct bootstrap){.listener = -1};
}

void bootstrap_fini(struct bootstrap *b)
{
    free(b->ids);
    if (b->listener >= 0)
        close(b->listener);
    bootstrap_init(b);
}

int bootstrap_ras(struct phases *p, const struct env *env, uint16_t *port, struct err *e)
{
    static const char name[] = "NCCL_RAS_ADDR";
    char key[32], text[32] = "";
    struct buf value;
    int status = 0;
    snprintf(key, sizeof key, "ras/%u", env->node_rank);
    buf_init(&value, 0);
    if (env->local_rank == 0) {
        uint16_t chosen;
        if (!getenv(name) && probe_free_port(&chosen, NULL) == 0)
            snprintf(text, sizeof text, "localhost:%u", chosen);
        status = phases_set(p, key, text, strlen(text), e);
    } else {
        status = phases_get(p, key, &value, e);
        snprintf(text, sizeof text, "%s", buf_str(&value));
    }
    buf_fini(&value);
    if (*text)
        setenv(name, text, 0);
    *port = probe_ras_port(getenv(name));
    return status;
}

/* The id's address for people, and a listener beside it for the other ranks. "-": the id could
 * not be read, nothing to probe. */
static void open_listener(struct bootstrap *b, const ncclUniqueId *id, const char *host,
                          char address[PROBE_ADDRESS_MAX + 8])
{
    char ip[PROBE_ADDRESS_MAX], interface[PROBE_INTERFACE_MAX];
    uint16_t port, probe;
    snprintf(address, PROBE_ADDRESS_MAX + 8, "-");
    if (probe_root_address(id, sizeof *id, ip, &port, interface, NULL) < 0)
        return;
    snprintf(b->root, sizeof b->root, "host %s, %s, %s:%u", host,
             *interface ? interface : "unknown interface", ip, port);
    int fd = probe_listen(ip, &probe, NULL);
    if (fd < 0)
        return;
    b->listener = fd;
    snprintf(address, PROBE_ADDRESS_MAX + 8, "%u %s", probe, ip);
}

static int make_id(struct bootstrap *b, struct phases *p, const struct nccl *api, uint32_t k,
                   const char *host, struct err *e)
{
    char key[32], address[PROBE_ADDRESS_MAX + 8];
    ncclResult_t rc = api->GetUniqueId(&b->ids[k]);
    if (rc != ncclSuccess) {
        err_set(e, ERR_SYSTEM, "ncclGetUniqueId: %s; NCCL_DEBUG=WARN says more",
                api->GetErrorString(rc));
        return STATUS_NCCL;
    }
    open_listener(b, &b->ids[k], host, address);
    snprintf(key, sizeof key, "probe/%u", k);
    int status = phases_set(p, key, address, strlen(address), e);
    snprintf(key, sizeof key, "uid/%u", k);
    return status ? status : phases_set(p, key, &b->ids[k], sizeof b->ids[k], e);
}

static int read_id(struct bootstrap *b, struct phases *p, uint32_t k, struct err *e)
{
    char key[32];
    struct buf value;
    buf_init(&value, 0);
    snprintf(key, sizeof key, "uid/%u", k);
    int status = phases_get(p, key, &value, e);
    if (!status && value.len != sizeof b->ids[k]) {
        err_set(e, ERR_PROTOCOL, "the id in the store has %zu bytes, not %zu", value.len,
                sizeof b->ids[k]);
        status = STATUS_NCCL;
    }
    if (!status)
        memcpy(&b->ids[k], value.data, sizeof b->ids[k]);
    buf_fini(&value);
    return status;
}

int bootstrap_ids(struct bootstrap *b, struct phases *p, const struct env *env,
                  const struct nccl *api, const char *host, struct err *e)
{
    const struct point at = {PHASE_uid_seen, -1};
    uint32_t n = env->world_size;
    int status = 0;
    phases_begin(p, at, "", 0);
    b->n = backend_nccl_ids(api, n);
    b->ids = mem_alloc(b->n, sizeof *b->ids);
    for (uint32_t k = 0; k < b->n && !status; k++)
        if (backend_nccl_id_owner(n, b->n, k) == env->rank)
            status = make_id(b, p, api, k, host, e);
    for (uint32_t k = 0; k < b->n && !status; k++)
        if (backend_nccl_id_owner(n, b->n, k) != env->rank)
            status = read_id(b, p, k, e);
    return status ? status : phases_meet(p, at, e);
}

static int reach_one(struct phases *p, const struct env *env, uint32_t k, struct err *e)
{
    char key[32], ip[PROBE_ADDRESS_MAX];
    struct buf value;
    uint64_t port;
    snprintf(key, sizeof key, "probe/%u", k);
    buf_init(&value, 0);
    int status = phases_get(p, key, &value, e);
    struct str rest = {value.data, value.len}, number;
    bool known = !status && value.len > 1 && str_split(&rest, ' ', &number)
                 && str_parse_u64(number, 1, UINT16_MAX, &port) == 0;
    snprintf(ip, sizeof ip, "%.*s", known ? (int)rest.n : 0, known ? rest.p : "");
    buf_fini(&value);
    if (!known || probe_connect(ip, (uint16_t)port, REACH_MS, e) == 0)
        return status;
    err_wrap(e,
             "rank %u cannot reach the address where NCCL waits for it (NCCL_SOCKET_IFNAME "
             "chooses another interface)",
             env->rank);
    return STATUS_PHASE;
}

int bootstrap_reach(struct bootstrap *b, struct phases *p, const struct env *env, struct err *e)
{
    const struct point at = {PHASE_reach, -1};
    phases_begin(p, at, "", REACH_MS + 5000);
    for (uint32_t k = 0; k < b->n; k++) {
        int status = reach_one(p, env, k, e);
        if (status)
            return status;
    }
    int status = phases_meet(p, at, e);
    if (b->listener >= 0)
        close(b->listener);
    b->listener = -1;
    return status;
}

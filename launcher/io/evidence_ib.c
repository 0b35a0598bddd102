#include "launcher/io/evidence_gather.h" /* of which this is the part about InfiniBand */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/io/root_file.h"

struct look {
    const char *root;
    struct host_evidence *ev;
    const char *device, *port; /* of the folder that is looked into */
};

/* "4: ACTIVE" is ACTIVE. */
static void set_state(const struct look *l, const char *folder, const char *file, char **out)
{
    char *path = mem_printf("%s/%s", folder, file), *line = root_line(l->root, path);
    const char *colon = line ? strchr(line, ':') : NULL;
    if (line)
        evidence_set_text(out, colon ? colon + 1 + strspn(colon + 1, " ") : line);
    free(line);
    free(path);
}

static void on_gid(void *ctx, const char *name)
{
    const struct look *l = ctx;
    char *folder = mem_printf("/sys/class/infiniband/%s/ports/%s", l->device, l->port);
    char *path = mem_printf("%s/gids/%s", folder, name);
    char *type = mem_printf("%s/gid_attrs/types/%s", folder, name);
    char *gid = root_line(l->root, path);
    uint64_t index;
    if (gid && strspn(gid, "0:") < strlen(gid)
        && str_parse_u64(str_from(name), 0, 65535, &index) == 0) {
        struct evidence_gid *item = evidence_gid_add(l->ev);
        char *words = root_line(l->root, type);
        item->port = mem_printf("%s/%s", l->device, l->port);
        evidence_set(&item->index, (int64_t)index);
        evidence_set_text(&item->gid, gid);
        evidence_set_text(&item->type, words);
        free(words);
    }
    free(gid);
    free(type);
    free(path);
    free(folder);
}

static void on_port(void *ctx, const char *name)
{
    struct look l = *(const struct look *)ctx;
    char *folder = mem_printf("/sys/class/infiniband/%s/ports/%s", l.device, name);
    char *gids = mem_printf("%s/gids", folder);
    struct evidence_port *port = evidence_port_add(l.ev);
    port->name = mem_printf("%s/%s", l.device, name);
    set_state(&l, folder, "state", &port->state);
    set_state(&l, folder, "phys_state", &port->phys_state);
    set_state(&l, folder, "rate", &port->rate);
    set_state(&l, folder, "link_layer", &port->layer);
    l.port = name;
    l.ev->gids.is_known = true;
    root_each(l.root, gids, on_gid, &l);
    free(gids);
    free(folder);
}

/* uverbsN of a device: the folder infiniband_verbs below it has one entry. */
static void on_verbs(void *ctx, const char *name)
{
    const struct look *l = ctx;
    char *path = mem_printf("/dev/infiniband/%s", name);
    struct evidence_hca *hca = evidence_hca_at(l->ev, l->ev->hcas.n - 1);
    evidence_set(&hca->verbs_errno, root_open_errno(l->root, path));
    free(path);
}

static void on_device(void *ctx, const char *name)
{
    struct look l = *(const struct look *)ctx;
    char *verbs = mem_printf("/sys/class/infiniband/%s/device/infiniband_verbs", name);
    char *ports = mem_printf("/sys/class/infiniband/%s/ports", name);
    struct evidence_hca *hca = evidence_hca_add(l.ev);
    evidence_set_text(&hca->name, name);
    root_each(l.root, verbs, on_verbs, &l);
    l.device = name;
    root_each(l.root, ports, on_port, &l);
    free(ports);
    free(verbs);
}

void evidence_gather_ib(const struct evidence_request *r, struct host_evidence *ev)
{
    struct look l = {.root = r->root, .ev = ev};
    ev->hcas.is_known = ev->ports.is_known = true;
    root_each(r->root, "/sys/class/infiniband", on_device, &l);
    char *library = root_library(r->root, "libibverbs.so.1");
    evidence_set(&ev->has_ibverbs, library != NULL);
    free(library);
    evidence_set(&ev->has_peermem,
                 root_exists(r->root, "/sys/module/nvidia_peermem")
                     || root_exists(r->root, "/sys/module/nv_peer_mem")
                     || root_exists(r->root, "/sys/kernel/mm/memory_peers/nv_mem/version"));
}

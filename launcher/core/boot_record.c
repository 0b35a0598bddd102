#include "launcher/core/boot_record.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_name.h"
#include "launcher/core/tree_shape.h"

void boot_record_wipe(void *p, size_t n)
{
    for (volatile unsigned char *byte = p; n; n--)
        *byte++ = 0;
}

void boot_record_init(struct boot_record *r)
{
    *r = (struct boot_record){.node = BOOT_NODE_ANY, .parent = BOOT_NODE_ANY};
}

void boot_record_fini(struct boot_record *r)
{
    for (size_t i = 0; i < r->naddresses; i++)
        free(r->addresses[i].host);
    for (size_t i = 0; i < r->nssh_args; i++)
        free(r->ssh_args[i]);
    for (size_t i = 0; i < r->nchildren; i++) {
        free(r->children[i].host);
        free(r->children[i].user);
    }
    free(r->addresses);
    free(r->ssh_args);
    free(r->children);
    free(r->muster);
    free(r->ssh);
    free(r->job);
    boot_record_wipe(r, sizeof *r);
}

void boot_record_add_address(struct boot_record *r, const char *host, uint16_t port)
{
    array_grow(r->addresses, r->naddresses, r->addresses_cap);
    r->addresses[r->naddresses++] = (struct boot_address){mem_strdup(host), port};
}

void boot_record_add_child(struct boot_record *r, uint32_t node, const char *user,
                           const char *host, uint16_t port)
{
    array_grow(r->children, r->nchildren, r->children_cap);
    r->children[r->nchildren++] =
        (struct boot_child){node, mem_strdup(host), mem_strdup(user), port};
}

void boot_record_add_ssh_arg(struct boot_record *r, const char *word)
{
    array_grow(r->ssh_args, r->nssh_args + 1, r->ssh_args_cap);
    r->ssh_args[r->nssh_args++] = mem_strdup(word);
    r->ssh_args[r->nssh_args] = NULL;
}

static bool can_travel(struct str s, size_t max)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return s.n > 0 && s.n <= max;
}

static int check_value(const char *key, const char *value, size_t max, struct err *e)
{
    if (can_travel(str_from(value), max))
        return 0;
    return err_set(
        e, ERR_USAGE,
        "the %s cannot travel to other nodes: it is empty, longer than %zu bytes, or "
        "has a control character",
        key, max);
}

static int check_host(const char *host, const char *user, struct err *e)
{
    const char *fault = host_name_fault(str_from(host));
    if (!fault && user)
        fault = host_user_fault(str_from(user));
    return fault ? err_set(e, ERR_USAGE, "\"%.80s\" cannot stand in a boot record: %s", host,
                           fault)
                 : 0;
}

static int check_record(const struct boot_record *r, struct err *e)
{
    if (check_value("job id", r->job, BOOT_JOB_MAX, e) != 0
        || (r->muster && check_value("path of muster", r->muster, BOOT_VALUE_MAX, e) != 0)
        || (r->ssh && check_value("--ssh", r->ssh, BOOT_VALUE_MAX, e) != 0))
        return -1;
    for (size_t i = 0; i < r->nssh_args; i++)
        if (check_value("--ssh-arg", r->ssh_args[i], BOOT_VALUE_MAX, e) != 0)
            return -1;
    for (size_t i = 0; i < r->naddresses; i++)
        if (check_host(r->addresses[i].host, NULL, e) != 0)
            return -1;
    for (size_t i = 0; i < r->nchildren; i++)
        if (check_host(r->children[i].host, r->children[i].user, e) != 0)
            return -1;
    if (!r->naddresses || r->naddresses > BOOT_ADDRESSES_MAX || r->nssh_args > BOOT_ARGS_MAX
        || r->nchildren > BOOT_NODES_MAX)
        return err_set(e, ERR_USAGE,
                       "a boot record has 1 to %d addresses and at most %d --ssh-arg",
                       BOOT_ADDRESSES_MAX, BOOT_ARGS_MAX);
    return 0;
}

static void add_host(struct buf *out, const char *host, uint16_t port)
{
    buf_addf(out, strchr(host, ':') ? "[%s]" : "%s", host);
    if (port)
        buf_addf(out, ":%u", port);
}

/* More than the text can have, so that no growing leaves a copy of the secret behind. */
static size_t upper_bound(const struct boot_record *r)
{
    enum { LINE = 64 }; /* key, numbers, punctuation */
    size_t n = 8 * LINE + strlen(r->job) + (r->ssh ? strlen(r->ssh) : 0)
               + (r->muster ? strlen(r->muster) : 0);
    for (size_t i = 0; i < r->naddresses; i++)
        n += LINE + strlen(r->addresses[i].host);
    for (size_t i = 0; i < r->nssh_args; i++)
        n += LINE + strlen(r->ssh_args[i]);
    for (size_t i = 0; i < r->nchildren; i++)
        n += LINE + strlen(r->children[i].host)
             + (r->children[i].user ? strlen(r->children[i].user) : 0);
    return n;
}

static void add_tree(const struct boot_record *r, struct buf *out)
{
    if (r->parent != BOOT_NODE_ANY)
        buf_addf(out, "parent=%lld\n", (long long)r->parent);
    if (r->radix)
        buf_addf(out, "radix=%u\n", r->radix);
    if (r->muster)
        buf_addf(out, "muster=%s\n", r->muster);
    if (r->ssh)
        buf_addf(out, "ssh=%s\n", r->ssh);
    for (size_t i = 0; i < r->nssh_args; i++)
        buf_addf(out, "ssh-arg=%s\n", r->ssh_args[i]);
    for (size_t i = 0; i < r->nchildren; i++) {
        const struct boot_child *child = &r->children[i];
        buf_addf(out, "child=%u ", child->node);
        if (child->user)
            buf_addf(out, "%s@", child->user);
        add_host(out, child->host, child->port);
        buf_addc(out, '\n');
    }
}

int boot_record_encode(const struct boot_record *r, struct buf *out, struct err *e)
{
    if (check_record(r, e) != 0)
        return -1;
    if (!buf_reserve(out, upper_bound(r)))
        return err_set(e, ERR_INTERNAL, "no room for a boot record");
    buf_addf(out, "muster-boot=%d\njob=%s\nsecret=", BOOT_VERSION, r->job);
    for (size_t i = 0; i < BOOT_SECRET_SIZE; i++) {
        buf_addc(out, "0123456789abcdef"[r->secret[i] >> 4]);
        buf_addc(out, "0123456789abcdef"[r->secret[i] & 15]);
    }
    buf_addc(out, '\n');
    for (size_t i = 0; i < r->naddresses; i++) {
        buf_adds(out, "address=");
        add_host(out, r->addresses[i].host, r->addresses[i].port);
        buf_addc(out, '\n');
    }
    if (r->node != BOOT_NODE_ANY)
        buf_addf(out, "node=%lld\n", (long long)r->node);
    add_tree(r, out);
    buf_addc(out, '\n');
    return 0;
}

uint32_t boot_record_nchildren(const struct boot_record *r)
{
    if (!r->nchildren || !r->radix || r->node < 0 || !r->muster)
        return 0;
    return tree_shape_runs((uint32_t)r->nchildren, r->radix);
}

const struct boot_child *boot_record_child(const struct boot_record *r, uint32_t i)
{
    return &r->children[tree_shape_run((uint32_t)r->nchildren, r->radix, i).first];
}

void boot_record_for_child(const struct boot_record *r, uint32_t i, struct boot_record *out)
{
    struct tree_run run = tree_shape_run((uint32_t)r->nchildren, r->radix, i);
    const struct boot_child *first = r->children + run.first;
    boot_record_init(out);
    out->job = mem_strdup(r->job);
    memcpy(out->secret, r->secret, sizeof out->secret);
    for (size_t k = 0; k < r->naddresses; k++)
        boot_record_add_address(out, r->addresses[k].host, r->addresses[k].port);
    out->node = first->node;
    out->parent = r->node;
    out->radix = r->radix;
    out->muster = mem_strdup(r->muster);
    out->ssh = mem_strdup(r->ssh);
    for (size_t k = 0; k < r->nssh_args; k++)
        boot_record_add_ssh_arg(out, r->ssh_args[k]);
    for (const struct boot_child *c = first + 1; c < first + run.count; c++)
        boot_record_add_child(out, c->node, c->user, c->host, c->port);
}

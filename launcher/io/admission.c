#include "launcher/io/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/strangers.h"
#include "rendezvous/netif.h"
#include "rendezvous/peer_uid.h"
#include "rendezvous/server_note.h"

struct admission {
    const uv_loop_t *loop;
    bool is_open;
    bool is_blind; /* it was said that users cannot be told apart here */
    uint32_t own;
    struct admission_asks asks;
    struct peer_ip *mine; /* the addresses of this machine, but for loopback */
    size_t nmine, cap;
    struct peer_uid *users;
    struct strangers *strangers;
};

static int list_mine(struct admission *a, struct err *e)
{
    struct netif_list list;
    if (netif_list(&list, e) < 0)
        return -1;
    for (size_t i = 0; i < list.len; i++) {
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
        const char *host = list.items[i].addr.host;
        const void *addr = uv_ip4_addr(host, 0, &in4) == 0   ? (const void *)&in4
                           : uv_ip6_addr(host, 0, &in6) == 0 ? (const void *)&in6
                                                             : NULL;
        if (!addr)
            continue;
        array_grow(a->mine, a->nmine, a->cap);
        a->mine[a->nmine++] = peer_ip_from(addr);
    }
    netif_fini(&list);
    return 0;
}

struct admission *admission_new(const struct uv_loop_s *loop, bool is_open, bool has_nodes,
                                const struct admission_asks *asks, struct err *e)
{
    struct admission *a = mem_alloc(1, sizeof *a);
    a->loop = loop;
    a->is_open = is_open;
    a->own = geteuid();
    a->asks = *asks;
    if (has_nodes && list_mine(a, e) < 0) {
        free(a);
        return NULL;
    }
    a->users = peer_uid_new(true, "/proc/net");
    a->strangers = strangers_new();
    return a;
}

static bool is_mine(const struct admission *a, const struct peer_ip *ip)
{
    if (peer_ip_is_loopback(ip))
        return true;
    for (size_t i = 0; i < a->nmine; i++)
        if (peer_ip_is_same(&a->mine[i], ip))
            return true;
    return false;
}

static void refuse(struct admission *a, const struct peer_ip *ip, const char *reason)
{
    struct buf who;
    if (!strangers_add(a->strangers, ip, reason))
        return;
    buf_init(&who, 0);
    peer_ip_format(ip, &who);
    log_warn("store", "%s: %s; turned away (--store-open serves everybody)", buf_str(&who),
             reason);
    buf_fini(&who);
}

static void say_blind(struct admission *a)
{
    if (!a->is_blind)
        log_warn("store", "this system does not tell which user a connection comes from: every "
                          "process of this machine can use the store of this job");
    a->is_blind = true;
}

static bool admit_local(struct admission *a, const struct peer_ip *ip,
                        const struct sockaddr *near, const struct sockaddr *far)
{
    uint32_t uid;
    char reason[STRANGERS_REASON_MAX];
    switch (peer_uid_find(a->users, near, far, uv_now(a->loop), &uid)) {
    case PEER_UID_IMPOSSIBLE:
        say_blind(a);
        return true;
    case PEER_UID_UNKNOWN:
        refuse(a, ip,
               "a client closed its connection before its user could be told, so what it "
               "sent is lost; it must wait for an answer first");
        return false;
    case PEER_UID_FOUND:
        break;
    }
    if (uid == a->own || a->asks.is_user(a->asks.ctx, uid))
        return true;
    snprintf(reason, sizeof reason,
             "a process of user %u wanted the store of this job, which is user %u's", uid,
             a->own);
    refuse(a, ip, reason);
    return false;
}

bool admission_admit(struct admission *a, const struct sockaddr *near,
                     const struct sockaddr *far)
{
    if (a->is_open)
        return true;
    struct peer_ip ip = peer_ip_from(far);
    if (is_mine(a, &ip))
        return admit_local(a, &ip, near, far);
    if (a->asks.is_node(a->asks.ctx, &ip))
        return true;
    refuse(a, &ip, "wanted the store, and no node that has joined is at this address");
    return false;
}

int64_t admission_user(struct admission *a, const struct uv_tcp_s *tcp)
{
    struct sockaddr_storage near, far;
    struct sockaddr *near_addr = (struct sockaddr *)&near, *far_addr = (struct sockaddr *)&far;
    int near_len = sizeof near, far_len = sizeof far;
    uint32_t uid;
    if (uv_tcp_getsockname(tcp, near_addr, &near_len) != 0
        || uv_tcp_getpeername(tcp, far_addr, &far_len) != 0)
        return -1;
    struct peer_ip ip = peer_ip_from(far_addr);
    return is_mine(a, &ip)
                   && peer_uid_find(a->users, near_addr, far_addr, uv_now(a->loop), &uid)
                          == PEER_UID_FOUND
               ? (int64_t)uid
               : -1;
}

void admission_stranger(struct admission *a, const struct peer_ip *ip, const char *text)
{
    const char *reason = strstr(text, ": ");
    if (strangers_add(a->strangers, ip, reason ? reason : text))
        log_info("link", "turned away: %s", text);
}

/* Who was not admitted has been told of when it was not. */
void admission_note(struct admission *a, const char *before, const struct server_note *note)
{
    struct buf words;
    bool is_detail =
        note->kind == SERVER_NOTE_GATE_CLOSED || note->kind == SERVER_NOTE_OLD_GENERATION;
    if (note->kind == SERVER_NOTE_NOT_ADMITTED)
        return;
    buf_init(&words, 0);
    server_note_format(note, &words);
    if (server_note_is_stranger(note))
        admission_stranger(a, &note->ip, buf_str(&words));
    else
        log_line(is_detail ? LOG_DEBUG : LOG_INFO, "store", "%s%s", before, buf_str(&words));
    buf_fini(&words);
}

void admission_end(struct admission *a)
{
    struct buf all;
    if (!a)
        return;
    buf_init(&all, 0);
    strangers_format(a->strangers, &all);
    if (all.len)
        log_info("link", "%s", buf_str(&all));
    buf_fini(&all);
    peer_uid_free(a->users);
    strangers_free(a->strangers);
    free(a->mine);
    free(a);
}

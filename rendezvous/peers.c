#include "rendezvous/peers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { BUCKETS = 1024 };

struct peer {
    struct peer *next;
    struct peer_ip ip;
    unsigned legacy, silent;
};

struct peers {
    struct peer *buckets[BUCKETS];
};

struct peers *peers_new(void)
{
    return mem_alloc(1, sizeof(struct peers));
}

void peers_free(struct peers *p)
{
    for (int i = 0; p && i < BUCKETS; i++)
        for (struct peer *at = p->buckets[i], *next; at; at = next) {
            next = at->next;
            free(at);
        }
    free(p);
}

static struct peer **slot(struct peers *p, const struct peer_ip *ip)
{
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < sizeof ip->bytes; i++)
        hash = (hash ^ ip->bytes[i]) * 16777619u;
    struct peer **at = &p->buckets[(hash ^ hash >> 15) % BUCKETS];
    while (*at && memcmp(&(*at)->ip, ip, sizeof *ip) != 0)
        at = &(*at)->next;
    return at;
}

static void release(struct peer **at)
{
    struct peer *peer = *at;
    if (peer->legacy || peer->silent)
        return;
    *at = peer->next;
    free(peer);
}

void peers_legacy_begin(struct peers *p, const struct peer_ip *ip)
{
    struct peer **at = slot(p, ip);
    if (!*at) {
        *at = mem_alloc(1, sizeof **at);
        (*at)->ip = *ip;
    }
    (*at)->legacy++;
}

void peers_legacy_end(struct peers *p, const struct peer_ip *ip)
{
    struct peer **at = slot(p, ip);
    assert(*at && (*at)->legacy);
    (*at)->legacy--;
    release(at);
}

bool peers_silent_keep(struct peers *p, const struct peer_ip *ip)
{
    struct peer *peer = *slot(p, ip);
    if (!peer || peer->silent >= peer->legacy)
        return false;
    peer->silent++;
    return true;
}

void peers_silent_end(struct peers *p, const struct peer_ip *ip)
{
    struct peer **at = slot(p, ip);
    assert(*at && (*at)->silent);
    (*at)->silent--;
    release(at);
}

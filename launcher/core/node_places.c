#include "launcher/core/node_places.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/host_name.h"

struct place {
    char *host; /* NULL = nobody has been here */
    bool is_held;
};

struct node_places {
    uint32_t n, held;
    struct place *places;
};

struct node_places *node_places_new(uint32_t n)
{
    struct node_places *places = mem_alloc(1, sizeof *places);
    places->n = n;
    places->places = mem_alloc(n, sizeof *places->places);
    return places;
}

void node_places_free(struct node_places *places)
{
    for (uint32_t i = 0; places && i < places->n; i++)
        free(places->places[i].host);
    if (places)
        free(places->places);
    free(places);
}

/* The best place for a node that wants none in particular; n if all are held. */
static uint32_t find_place(const struct node_places *places, const char *host)
{
    uint32_t lost = places->n, fresh = places->n;
    for (uint32_t i = places->n; i-- > 0;) {
        const struct place *p = &places->places[i];
        if (p->is_held)
            continue;
        if (p->host && host_name_eq(p->host, host))
            return i;
        *(p->host ? &lost : &fresh) = i;
    }
    return lost < places->n ? lost : fresh;
}

int64_t node_places_take(struct node_places *places, int64_t wanted, const char *host,
                         struct err *e)
{
    if (wanted != NODE_PLACE_ANY && (wanted < 0 || wanted >= places->n))
        return err_set(e, ERR_USAGE,
                       "%.80s is node %lld, but the job has nodes 0 to %u; correct --node-rank "
                       "there or --nnodes",
                       host, (long long)wanted, places->n - 1);
    uint32_t at = wanted == NODE_PLACE_ANY ? find_place(places, host) : (uint32_t)wanted;
    if (at == places->n)
        return err_set(e, ERR_USAGE,
                       "%.80s is one node too many: all %u places are taken; raise --nnodes",
                       host, places->n);
    struct place *p = &places->places[at];
    if (p->is_held)
        return err_set(e, ERR_USAGE,
                       "node %u is claimed by %.80s and by %.80s; give each node its own "
                       "--node-rank",
                       at, p->host, host);
    free(p->host);
    p->host = mem_strdup(host);
    p->is_held = true;
    places->held++;
    return at;
}

void node_places_lose(struct node_places *places, uint32_t place)
{
    assert(place < places->n && places->places[place].is_held);
    places->places[place].is_held = false;
    places->held--;
}

const char *node_places_host(const struct node_places *places, uint32_t place)
{
    return place < places->n ? places->places[place].host : NULL;
}

uint32_t node_places_left(const struct node_places *places)
{
    return places->n - places->held;
}

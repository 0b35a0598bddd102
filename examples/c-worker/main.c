/* A worker in C that only needs the rendezvous: it joins the store that muster serves, adds its
 * rank to a sum, waits until every worker has done so and prints the result. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rendezvous/store_client.h"

enum { CONNECT_MS = 30000, ANSWER_MS = 30000, PEERS_MS = 60000 };

struct place {
    long rank, world;
    const char *addr;
    long port;
};

static long number(const char *name, long max)
{
    const char *text = getenv(name);
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : -1;
    return text && *text && !*end && value >= 0 && value <= max ? value : -1;
}

static int place_read(struct place *p)
{
    p->rank = number("RANK", 1L << 30);
    p->world = number("WORLD_SIZE", 1L << 30);
    p->addr = getenv("MASTER_ADDR");
    p->port = number("MASTER_PORT", 65535);
    return p->rank < 0 || p->world <= p->rank || !p->addr || p->port < 1 ? -1 : 0;
}

/* Every worker adds 1 to a counter; the last one opens the gate for all. */
static int barrier(struct store_client *c, const struct place *p, const char *gate,
                   struct err *e)
{
    char counter[64];
    snprintf(counter, sizeof counter, "%s/arrived", gate);
    int64_t arrived = 0;
    if (store_client_add(c, counter, 1, &arrived, e))
        return -1;
    if (arrived == p->world && store_client_set(c, gate, "open", 4, e))
        return -1;
    return store_client_wait(c, &gate, 1, PEERS_MS, e);
}

/* Sum of all ranks, and the line that rank 0 left for everybody. */
static int work(struct store_client *c, const struct place *p, struct err *e)
{
    static const char greeting[] = "hello from rank 0";
    int64_t sum = 0;
    if (p->rank == 0 && store_client_set(c, "example/greeting", greeting, strlen(greeting), e))
        return -1;
    if (store_client_add(c, "example/sum", p->rank, &sum, e)
        || barrier(c, p, "example/gate", e))
        return -1;
    struct buf text;
    buf_init(&text, 0);
    int status = store_client_add(c, "example/sum", 0, &sum, e);
    if (!status)
        status = store_client_get(c, "example/greeting", &text, e);
    if (!status)
        printf("rank %ld of %ld: sum of ranks %" PRId64 ", %s\n", p->rank, p->world, sum,
               buf_str(&text));
    buf_fini(&text);
    return status;
}

int main(void)
{
    struct place place;
    if (place_read(&place)) {
        fputs("RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are needed; muster sets them: "
              "muster -n 4 example-worker\n",
              stderr);
        return 2;
    }
    struct err e;
    struct store_client *c =
        store_client_new(place.addr, (uint16_t)place.port, CONNECT_MS, ANSWER_MS, &e);
    int status = c ? work(c, &place, &e) : -1;
    if (status)
        fprintf(stderr, "rank %ld: %s\n", place.rank, e.text);
    store_client_free(c);
    return status || fflush(stdout) ? 1 : 0;
}

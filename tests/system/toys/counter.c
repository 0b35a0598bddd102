/* counter.c - adds to keys of the store at MASTER_ADDR and MASTER_PORT, and prints the sums.
 *
 *   counter KEY          adds 1 to KEY
 *   counter wait N KEY   the same, then waits until N workers have printed theirs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rendezvous/store_client.h"

enum { TIMEOUT_MS = 20000 };

static int count(struct store_client *store, const char *key, long wanted, struct err *e)
{
    int64_t sum;
    if (store_client_add(store, key, 1, &sum, e) < 0)
        return -1;
    printf("%s %lld\n", key, (long long)sum);
    fflush(stdout);
    const char *const all[] = {"all"};
    if (store_client_add(store, "printed", 1, &sum, e) < 0)
        return -1;
    if (sum == wanted && store_client_set(store, all[0], "1", 1, e) < 0)
        return -1;
    return wanted ? store_client_wait(store, all, 1, TIMEOUT_MS, e) : 0;
}

int main(int argc, char **argv)
{
    const char *host = getenv("MASTER_ADDR"), *port = getenv("MASTER_PORT");
    int is_waiting = argc == 4 && strcmp(argv[1], "wait") == 0;
    if (!host || !port || argc < 2)
        return 2;
    struct err e;
    struct store_client *store =
        store_client_new(host, (uint16_t)atoi(port), TIMEOUT_MS, TIMEOUT_MS, &e);
    int rc = store ? count(store, argv[argc - 1], is_waiting ? atol(argv[2]) : 0, &e) : -1;
    if (rc < 0)
        fprintf(stderr, "counter: %s\n", e.text);
    store_client_free(store);
    return rc < 0;
}

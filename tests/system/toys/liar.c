/* liar.c - in place of muster-worker: leaves in the store what it is told to, and ends as it is
 * told to.
 *
 *   LIAR_RESULT  the value of mw/result, from rank 0; unset = none
 *   LIAR_STATUS  exit status; 0 unless set
 *   LIAR_CURE    NAME=VALUE: with that in the environment it ends with 0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rendezvous/store_client.h"

enum { TIMEOUT_MS = 20000 };

static int leave_result(const char *text, struct err *e)
{
    const char *host = getenv("MASTER_ADDR"), *port = getenv("MASTER_PORT"),
               *rank = getenv("RANK");
    if (!host || !port || !rank)
        return err_set(e, ERR_USAGE, "no launcher");
    if (strcmp(rank, "0") != 0)
        return 0;
    const char *const key = "mw/result";
    struct store_client *store =
        store_client_new(host, (uint16_t)atoi(port), TIMEOUT_MS, TIMEOUT_MS, e);
    int rc = store ? store_client_set(store, key, text, strlen(text), e) : -1;
    if (rc == 0)
        rc = store_client_wait(store, &key, 1, TIMEOUT_MS, e); /* it has arrived */
    store_client_free(store);
    return rc;
}

static int is_cured(const char *setting)
{
    char name[64];
    size_t n = strcspn(setting, "=");
    snprintf(name, sizeof name, "%.*s", (int)n, setting);
    const char *value = getenv(name);
    return value && strcmp(value, setting + n + 1) == 0;
}

int main(int argc, char **argv)
{
    const char *result = getenv("LIAR_RESULT"), *status = getenv("LIAR_STATUS"),
               *cure = getenv("LIAR_CURE");
    struct err e;
    if (argc > 1 && strcmp(argv[argc - 1], "--version") == 0)
        return 0;
    if (result && leave_result(result, &e) < 0) {
        fprintf(stderr, "liar: %s\n", e.text);
        return 99;
    }
    if (cure && is_cured(cure))
        return 0;
    return status ? atoi(status) : 0;
}

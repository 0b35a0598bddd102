#include "launcher/core/reach_plan.h"

static size_t add(size_t peer, size_t host, size_t out[REACH_PEERS_MAX], size_t n)
{
    if (peer == host)
        return n;
    for (size_t i = 0; i < n; i++)
        if (out[i] == peer)
            return n;
    out[n] = peer;
    return n + 1;
}

size_t reach_plan(size_t n, size_t host, size_t out[REACH_PEERS_MAX])
{
    enum { DISTANCES = 5 };
    size_t npeers = 0;
    if (n <= REACH_ALL_MAX) {
        for (size_t i = 0; i < n; i++)
            npeers = add(i, host, out, npeers);
        return npeers;
    }
    for (size_t i = 0; i < DISTANCES; i++) {
        size_t distance = i == 0 ? 1 : n * i / (2 * DISTANCES - 1);
        npeers = add((host + distance) % n, host, out, npeers);
        npeers = add((host + n - distance) % n, host, out, npeers);
    }
    return npeers;
}

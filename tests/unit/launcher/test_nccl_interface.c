/* Which interface NCCL would take: a table of machines and settings. And who tries whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/nccl_interface.h"
#include "launcher/core/reach_plan.h"

/* Addresses as "name address/bits", "!" before those that are down; settings as "NAME=value".
 */
static void add_address(const char *text, struct host_evidence *ev)
{
    char name[32], address[64];
    int bits;
    bool is_down = *text == '!';
    assert_int_equal(sscanf(text + is_down, "%31s %63[^/]/%d", name, address, &bits), 3);
    struct evidence_address *a = evidence_address_add(ev);
    evidence_set_text(&a->name, name);
    evidence_set_text(&a->address, address);
    evidence_set(&a->bits, bits);
    evidence_set(&a->running, !is_down);
}

static void add_setting(const char *text, struct host_evidence *ev)
{
    const char *equals = strchr(text, '=');
    struct evidence_setting *s = evidence_setting_add(ev);
    s->name = mem_printf("%.*s", (int)(equals - text), text);
    evidence_set_text(&s->value, equals + 1);
}

#define LO "lo 127.0.0.1/8"
#define LO6 "lo ::1/128"
#define ETH "eth0 10.0.0.1/24"
#define ETH6 "eth0 fe80::1/64"
#define IB "ib0 192.168.5.1/24"
#define DOCKER "docker0 172.17.0.1/16"
#define VIRBR "virbr0 192.168.122.1/24"
#define VETH "veth12 169.254.3.1/16"

static const struct {
    const char *addresses[8], *settings[3], *want; /* "name address", NULL = none */
} rows[] = {
    {{LO, ETH}, {0}, "eth0 10.0.0.1"},
    {{LO, ETH, IB}, {0}, "ib0 192.168.5.1"}, /* ib* before all */
    {{LO, DOCKER, ETH}, {0}, "eth0 10.0.0.1"},
    {{LO, DOCKER}, {0}, "docker0 172.17.0.1"}, /* then docker*, then lo*, then virbr* */
    {{VIRBR, LO}, {0}, "lo 127.0.0.1"},
    {{VIRBR}, {0}, "virbr0 192.168.122.1"},
    {{LO6, VIRBR}, {0}, "virbr0 192.168.122.1"}, /* IPv6 loopback never */
    {{LO6}, {0}, NULL},
    {{LO, "!" ETH}, {0}, "lo 127.0.0.1"},     /* not running */
    {{VETH, ETH}, {0}, "veth12 169.254.3.1"}, /* veth* and link-local do count */
    {{ETH6, ETH}, {0}, "eth0 fe80::1"},
    {{"br-1 172.18.0.1/16", ETH}, {0}, "br-1 172.18.0.1"},
    {{ETH6, ETH}, {"NCCL_SOCKET_FAMILY=AF_INET"}, "eth0 10.0.0.1"},
    {{ETH, ETH6}, {"NCCL_SOCKET_FAMILY=AF_INET6"}, "eth0 fe80::1"},
    {{LO, ETH}, {"NCCL_SOCKET_FAMILY=AF_INET6"}, NULL},
    {{LO, ETH, IB}, {"NCCL_SOCKET_IFNAME=eth"}, "eth0 10.0.0.1"}, /* a prefix */
    {{LO, ETH, IB}, {"NCCL_SOCKET_IFNAME=enp,ib"}, "ib0 192.168.5.1"},
    {{LO, ETH}, {"NCCL_SOCKET_IFNAME=ib0"}, NULL}, /* a list alone counts */
    {{LO, "eth01 10.1.0.1/24", ETH}, {"NCCL_SOCKET_IFNAME=eth0"}, "eth01 10.1.0.1"},
    {{LO, "eth01 10.1.0.1/24", ETH}, {"NCCL_SOCKET_IFNAME==eth0"}, "eth0 10.0.0.1"},
    {{LO, ETH, DOCKER}, {"NCCL_SOCKET_IFNAME=^lo,docker"}, "eth0 10.0.0.1"},
    {{LO, ETH}, {"NCCL_SOCKET_IFNAME=^lo,eth"}, NULL},
    {{LO, "eth01 10.1.0.1/24", ETH}, {"NCCL_SOCKET_IFNAME=^=lo,eth01"}, "eth0 10.0.0.1"},
    {{LO, ETH}, {"NCCL_SOCKET_IFNAME=eth0:1"}, "eth0 10.0.0.1"}, /* ports are read over */
    {{LO, ETH}, {"NCCL_SOCKET_IFNAME=e"}, "eth0 10.0.0.1"},      /* one letter is no list */
    {{LO, ETH}, {"NCCL_SOCKET_IFNAME="}, "eth0 10.0.0.1"},
    {{DOCKER, LO, ETH}, {"NCCL_COMM_ID=172.17.0.9:5000"}, "docker0 172.17.0.1"},
    {{DOCKER, LO, ETH, IB}, {"NCCL_COMM_ID=172.17.0.9:5000"}, "ib0 192.168.5.1"},
    {{LO, ETH}, {"NCCL_COMM_ID=203.0.113.1:5000"}, "eth0 10.0.0.1"},
    {{0}, {0}, NULL},
};

static void predictions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_evidence ev = {0};
        char had[128] = "none";
        for (size_t k = 0; k < 8 && rows[i].addresses[k]; k++)
            add_address(rows[i].addresses[k], &ev);
        for (size_t k = 0; k < 3 && rows[i].settings[k]; k++)
            add_setting(rows[i].settings[k], &ev);
        const struct evidence_address *a = nccl_interface_predict(&ev);
        if (a)
            snprintf(had, sizeof had, "%s %s", a->name, a->address);
        if (strcmp(had, rows[i].want ? rows[i].want : "none") != 0)
            fail_msg("row %zu: had %s, expected %s", i, had,
                     rows[i].want ? rows[i].want : "none");
        evidence_clear(&ev);
    }
}

static bool tries(size_t n, size_t host, size_t peer)
{
    size_t peers[REACH_PEERS_MAX], k = reach_plan(n, host, peers);
    for (size_t i = 0; i < k; i++)
        if (peers[i] == peer)
            return true;
    return false;
}

static void who_tries_whom(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 64, 65, 66, 100, 1000, 10000};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size_t n = sizes[s], step = n > 200 ? 97 : 1;
        for (size_t host = 0; host < n; host += step) {
            size_t peers[REACH_PEERS_MAX], k = reach_plan(n, host, peers);
            assert_true(n <= REACH_ALL_MAX ? k == n - 1 : k >= 8 && k <= 10);
            for (size_t i = 0; i < k; i++) {
                assert_true(peers[i] < n && peers[i] != host);
                assert_true(tries(n, peers[i], host)); /* both ways */
            }
            assert_true(n == 1 || tries(n, host, (host + 1) % n));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions),
        cmocka_unit_test(who_tries_whom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

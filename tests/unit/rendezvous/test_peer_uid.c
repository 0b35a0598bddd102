/* Whose a connection is: live sockets by both ways, and tables as proc(5) prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rendezvous/peer_ip.h"
#include "rendezvous/peer_uid.h"

enum { NOBODY = 65534 };

/* Both ends as the accepting side has them. */
struct pair {
    int listener, client, server; /* client -1 = another process has it */
    struct sockaddr_storage near, far;
};

static struct sockaddr *addr(struct sockaddr_storage *s)
{
    return (struct sockaddr *)s;
}

static struct sockaddr_storage address(const char *text, uint16_t port)
{
    struct sockaddr_storage s = {0};
    struct sockaddr_in *in4 = (struct sockaddr_in *)&s;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&s;
    if (inet_pton(AF_INET, text, &in4->sin_addr) == 1) {
        in4->sin_family = AF_INET;
        in4->sin_port = htons(port);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port);
    }
    return s;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage s;
    socklen_t n = sizeof s;
    assert_int_equal(getsockname(fd, addr(&s), &n), 0);
    return ntohs(s.ss_family == AF_INET ? ((struct sockaddr_in *)&s)->sin_port
                                        : ((struct sockaddr_in6 *)&s)->sin6_port);
}

static int dial(const char *to, uint16_t port)
{
    struct sockaddr_storage s = address(to, port);
    int fd = socket(s.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, addr(&s), sizeof s), 0);
    return fd;
}

/* False where this machine has no such address. */
static bool listen_on(struct pair *p, const char *at)
{
    struct sockaddr_storage s = address(at, 0);
    int no = 0;
    p->listener = socket(s.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->listener < 0)
        return false;
    if (s.ss_family == AF_INET6)
        setsockopt(p->listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(p->listener, addr(&s), sizeof s) < 0) {
        close(p->listener);
        return false;
    }
    assert_int_equal(listen(p->listener, 8), 0);
    return true;
}

static void take(struct pair *p)
{
    socklen_t near = sizeof p->near, far = sizeof p->far;
    p->server = accept(p->listener, NULL, NULL);
    assert_true(p->server >= 0);
    assert_int_equal(getsockname(p->server, addr(&p->near), &near), 0);
    assert_int_equal(getpeername(p->server, addr(&p->far), &far), 0);
}

static bool pair_open(struct pair *p, const char *at, const char *to)
{
    if (!listen_on(p, at))
        return false;
    p->client = dial(to, port_of(p->listener));
    take(p);
    return true;
}

static void pair_close(struct pair *p)
{
    close(p->listener);
    if (p->client >= 0)
        close(p->client);
    close(p->server);
}

static enum peer_uid_result ask(struct peer_uid *u, struct pair *p, uint64_t batch,
                                uint32_t *uid)
{
    return peer_uid_find(u, addr(&p->near), addr(&p->far), batch, uid);
}

static void own_user_is_found(const char *at, const char *to)
{
    for (int has_netlink = 0; has_netlink < 2; has_netlink++) {
        struct peer_uid *u = peer_uid_new(has_netlink, "/proc/net");
        struct pair p;
        uint32_t uid = 12345;
        if (!pair_open(&p, at, to)) {
            peer_uid_free(u);
            skip();
        }
        assert_int_equal(ask(u, &p, 1, &uid), PEER_UID_FOUND);
        assert_int_equal(uid, geteuid());
        pair_close(&p);
        peer_uid_free(u);
    }
}
static void over_ipv4(void **state)
{
    (void)state;
    own_user_is_found("127.0.0.1", "127.0.0.1");
}
static void over_ipv6(void **state)
{
    (void)state;
    own_user_is_found("::1", "::1");
}
static void over_ipv4_to_a_listener_of_both(void **state)
{
    (void)state;
    own_user_is_found("::", "127.0.0.1");
}
static void over_mapped_ipv4_from_a_socket_of_ipv6(void **state)
{
    (void)state;
    own_user_is_found("::", "::ffff:127.0.0.1");
}
static void over_mapped_ipv4_to_a_listener_of_ipv4(void **state)
{
    (void)state;
    own_user_is_found("127.0.0.1", "::ffff:127.0.0.1");
}

/* A process of another user that holds a connection until its pipe ends. */
static pid_t other_user(struct pair *p, int *hold)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        char byte;
        close(ends[1]);
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(1);
        dial("127.0.0.1", port_of(p->listener));
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    *hold = ends[1];
    p->client = -1;
    take(p);
    return pid;
}

static void another_user_is_told_apart(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    for (int has_netlink = 0; has_netlink < 2; has_netlink++) {
        struct peer_uid *u = peer_uid_new(has_netlink, "/proc/net");
        struct pair p;
        uint32_t uid;
        int hold, status;
        assert_true(listen_on(&p, "127.0.0.1"));
        pid_t pid = other_user(&p, &hold);
        assert_int_equal(ask(u, &p, 1, &uid), PEER_UID_FOUND);
        assert_int_equal(uid, NOBODY);
        close(hold);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        /* It is gone: nobody's, and not root's. */
        assert_int_not_equal(ask(u, &p, 2, &uid), PEER_UID_IMPOSSIBLE);
        if (ask(u, &p, 3, &uid) == PEER_UID_FOUND)
            assert_int_equal(uid, NOBODY);
        pair_close(&p);
        peer_uid_free(u);
    }
}

static void a_closed_socket_is_not_roots(void **state)
{
    (void)state;
    for (int has_netlink = 0; has_netlink < 2; has_netlink++) {
        struct peer_uid *u = peer_uid_new(has_netlink, "/proc/net");
        struct pair p;
        uint32_t uid = 12345;
        assert_true(pair_open(&p, "127.0.0.1", "127.0.0.1"));
        close(p.client);
        p.client = -1;
        if (ask(u, &p, 1, &uid) == PEER_UID_FOUND)
            assert_int_not_equal(uid, 0);
        pair_close(&p);
        peer_uid_free(u);
    }
}

static void a_listener_is_no_connection(void **state)
{
    (void)state;
    for (int has_netlink = 0; has_netlink < 2; has_netlink++) {
        struct peer_uid *u = peer_uid_new(has_netlink, "/proc/net");
        struct pair p;
        uint32_t uid;
        assert_true(pair_open(&p, "127.0.0.1", "127.0.0.1"));
        /* Asked the wrong way round: the far end would be our own listener's. */
        ((struct sockaddr_in *)&p.far)->sin_port = htons(port_of(p.listener));
        ((struct sockaddr_in *)&p.near)->sin_port = htons(1);
        assert_int_equal(ask(u, &p, 1, &uid), PEER_UID_UNKNOWN);
        pair_close(&p);
        peer_uid_free(u);
    }
}

/* ---- tables */

struct tables {
    char folder[64];
};

static void write_table(const struct tables *t, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", t->folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
          "timeout inode\n",
          f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static struct tables tables_new(void)
{
    struct tables t = {"/tmp/muster-peer-uid-XXXXXX"};
    assert_non_null(mkdtemp(t.folder));
    return t;
}

static void tables_free(const struct tables *t)
{
    char path[128];
    const char *const names[] = {"tcp", "tcp6"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", t->folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(t->folder), 0);
}

/* Words of an address are in the machine's order. */
static void hex(const char *text, char *out)
{
    struct sockaddr_storage s = address(text, 0);
    bool is_v4 = s.ss_family == AF_INET;
    uint32_t words[4];
    if (is_v4)
        memcpy(words, &((struct sockaddr_in *)&s)->sin_addr, 4);
    else
        memcpy(words, &((struct sockaddr_in6 *)&s)->sin6_addr, 16);
    for (int i = 0; i < (is_v4 ? 1 : 4); i++)
        snprintf(out + 8 * i, 9, "%08X", words[i]);
}

static void add_line(char *to, size_t size, const char *local, unsigned local_port,
                     const char *remote, unsigned remote_port, unsigned state, unsigned uid,
                     unsigned long inode)
{
    char a[33], b[33];
    size_t n = strlen(to);
    hex(local, a);
    hex(remote, b);
    snprintf(to + n, size - n,
             "   7: %s:%04X %s:%04X %02X 00000000:00000000 02:000A7214 00000000 %5u        0 "
             "%lu 2 ffff8881 20 4 30 10 -1\n",
             a, local_port, b, remote_port, state, uid, inode);
}

static enum peer_uid_result ask_text(struct peer_uid *u, const char *near, uint16_t near_port,
                                     const char *far, uint16_t far_port, uint64_t batch,
                                     uint32_t *uid)
{
    struct sockaddr_storage n = address(near, near_port), f = address(far, far_port);
    return peer_uid_find(u, addr(&n), addr(&f), batch, uid);
}

static void tables_are_read(void **state)
{
    struct tables t = tables_new();
    struct peer_uid *u = peer_uid_new(false, t.folder);
    char four[2048] = "garbage\n   8: 0100007F:12\n", six[2048] = "";
    uint32_t uid;
    (void)state;
    add_line(four, sizeof four, "127.0.0.1", 29500, "0.0.0.0", 0, 10, 7, 70);
    add_line(four, sizeof four, "127.0.0.1", 29500, "127.0.0.1", 40000, 1, 8, 80);
    add_line(four, sizeof four, "127.0.0.1", 40000, "127.0.0.1", 29500, 1, 1000, 90);
    add_line(four, sizeof four, "127.0.0.1", 40001, "127.0.0.1", 29500, 4, 0, 0);
    add_line(four, sizeof four, "127.0.0.1", 40002, "127.0.0.1", 29500, 1, 0, 91);
    add_line(six, sizeof six, "::ffff:127.0.0.1", 40003, "::ffff:127.0.0.1", 29500, 1, 1003,
             92);
    add_line(six, sizeof six, "fd00::7", 40004, "fd00::1", 29500, 8, 1004, 93);
    write_table(&t, "tcp", four);
    write_table(&t, "tcp6", six);
    const struct {
        const char *near, *far;
        uint16_t port;
        enum peer_uid_result result;
        uint32_t uid;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", 40000, PEER_UID_FOUND, 1000},
        {"::ffff:127.0.0.1", "::ffff:127.0.0.1", 40000, PEER_UID_FOUND, 1000},
        {"127.0.0.1", "127.0.0.1", 40001, PEER_UID_UNKNOWN, 0}, /* closed by its process */
        {"127.0.0.1", "127.0.0.1", 40002, PEER_UID_FOUND, 0},
        {"127.0.0.1", "127.0.0.1", 40003, PEER_UID_FOUND, 1003},
        {"fd00::1", "fd00::7", 40004, PEER_UID_FOUND, 1004},
        {"fd00::1", "fd00::8", 40004, PEER_UID_UNKNOWN, 0},
        {"127.0.0.1", "127.0.0.2", 40000, PEER_UID_UNKNOWN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uid = 0;
        assert_int_equal(
            ask_text(u, cases[i].near, 29500, cases[i].far, cases[i].port, 1, &uid),
            cases[i].result);
        assert_int_equal(uid, cases[i].uid);
    }
    peer_uid_free(u);
    tables_free(&t);
}

static void a_batch_is_one_read(void **state)
{
    struct tables t = tables_new();
    struct peer_uid *u = peer_uid_new(false, t.folder);
    char text[1024] = "";
    uint32_t uid;
    (void)state;
    write_table(&t, "tcp", "");
    assert_int_equal(ask_text(u, "127.0.0.1", 29500, "127.0.0.1", 40000, 1, &uid),
                     PEER_UID_UNKNOWN);
    add_line(text, sizeof text, "127.0.0.1", 40000, "127.0.0.1", 29500, 1, 1000, 90);
    write_table(&t, "tcp", text);
    assert_int_equal(ask_text(u, "127.0.0.1", 29500, "127.0.0.1", 40000, 1, &uid),
                     PEER_UID_UNKNOWN);
    assert_int_equal(ask_text(u, "127.0.0.1", 29500, "127.0.0.1", 40000, 2, &uid),
                     PEER_UID_FOUND);
    peer_uid_free(u);
    tables_free(&t);
}

static void without_any_way_it_says_so(void **state)
{
    struct peer_uid *u = peer_uid_new(false, "/nonexistent");
    uint32_t uid;
    (void)state;
    assert_int_equal(ask_text(u, "127.0.0.1", 29500, "127.0.0.1", 40000, 1, &uid),
                     PEER_UID_IMPOSSIBLE);
    peer_uid_free(u);
}

static void addresses_are_text_and_bytes(void **state)
{
    const struct {
        const char *in, *out;
        bool is_v4, is_loopback;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", true, true},
        {"127.9.8.7", "127.9.8.7", true, true},
        {"::ffff:127.0.0.1", "127.0.0.1", true, true},
        {"::1", "::1", false, true},
        {"::2", "::2", false, false},
        {"10.0.0.7", "10.0.0.7", true, false},
        {"fd00::7", "fd00::7", false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sockaddr_storage s = address(cases[i].in, 1);
        struct peer_ip ip = peer_ip_from(addr(&s)), again = peer_ip_from(addr(&s));
        struct buf text;
        buf_init(&text, 0);
        peer_ip_format(&ip, &text);
        assert_string_equal(buf_str(&text), cases[i].out);
        assert_int_equal(peer_ip_is_v4(&ip), cases[i].is_v4);
        assert_int_equal(peer_ip_is_loopback(&ip), cases[i].is_loopback);
        assert_true(peer_ip_is_same(&ip, &again));
        again.bytes[15] ^= 1;
        assert_false(peer_ip_is_same(&ip, &again));
        buf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_ipv4),
        cmocka_unit_test(over_ipv6),
        cmocka_unit_test(over_ipv4_to_a_listener_of_both),
        cmocka_unit_test(over_mapped_ipv4_from_a_socket_of_ipv6),
        cmocka_unit_test(over_mapped_ipv4_to_a_listener_of_ipv4),
        cmocka_unit_test(another_user_is_told_apart),
        cmocka_unit_test(a_closed_socket_is_not_roots),
        cmocka_unit_test(a_listener_is_no_connection),
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(a_batch_is_one_read),
        cmocka_unit_test(without_any_way_it_says_so),
        cmocka_unit_test(addresses_are_text_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

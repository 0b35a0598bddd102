#include "rendezvous/peer_ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

struct peer_ip peer_ip_from(const struct sockaddr *addr)
{
    struct peer_ip ip = {{0}};
    if (addr->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, addr, sizeof in6);
        memcpy(ip.bytes, &in6.sin6_addr, 16);
    } else if (addr->sa_family == AF_INET) {
        struct sockaddr_in in4;
        memcpy(&in4, addr, sizeof in4);
        memcpy(ip.bytes, mapped, sizeof mapped);
        memcpy(ip.bytes + sizeof mapped, &in4.sin_addr, 4);
    }
    return ip;
}

bool peer_ip_is_same(const struct peer_ip *a, const struct peer_ip *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool peer_ip_is_v4(const struct peer_ip *ip)
{
    return memcmp(ip->bytes, mapped, sizeof mapped) == 0;
}

bool peer_ip_is_loopback(const struct peer_ip *ip)
{
    static const unsigned char one[16] = {[15] = 1};
    if (peer_ip_is_v4(ip))
        return ip->bytes[12] == 127;
    return memcmp(ip->bytes, one, sizeof one) == 0;
}

void peer_ip_format(const struct peer_ip *ip, struct buf *out)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (peer_ip_is_v4(ip))
        inet_ntop(AF_INET, ip->bytes + sizeof mapped, text, sizeof text);
    else
        inet_ntop(AF_INET6, ip->bytes, text, sizeof text);
    buf_adds(out, text);
}

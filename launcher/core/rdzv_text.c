#include "launcher/core/rdzv_text.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

/* ---- endpoints ---- */

static bool is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '.' || c == '-' || c == '_' || c == ':';
}

static bool is_host_text(struct str host)
{
    for (size_t i = 0; i < host.n; i++)
        if (!is_host_char(host.p[i]))
            return false;
    return host.n > 0;
}

static size_t count_of(struct str s, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == c;
    return n;
}

/* Takes the host from *rest and leaves what follows it: ":PORT" or nothing. */
static struct str take_host(struct str *rest)
{
    struct str host = *rest;
    const char *end = host.n && host.p[0] == '[' ? memchr(host.p, ']', host.n) : NULL;
    if (end) {
        host = (struct str){rest->p + 1, (size_t)(end - rest->p) - 1};
        *rest = (struct str){end + 1, rest->n - host.n - 2};
        return host;
    }
    if (count_of(host, ':') == 1)
        host.n = (size_t)((const char *)memchr(host.p, ':', host.n) - host.p);
    *rest = (struct str){host.p + host.n, rest->n - host.n};
    return host;
}

int rdzv_endpoint_parse(const char *where, const char *text, struct rdzv_endpoint *out,
                        struct err *e)
{
    struct str rest = str_trim(str_from(text));
    uint64_t port = 0;
    if (!rest.n)
        return err_set(e, ERR_USAGE, "%s: the value is empty; it should be HOST[:PORT]", where);
    *out = (struct rdzv_endpoint){.host = take_host(&rest), .port = -1};
    if (!is_host_text(out->host))
        return err_set(e, ERR_USAGE,
                       "%s: '%.80s' is not HOST[:PORT]; an IPv6 address with a port is written "
                       "[ADDRESS]:PORT",
                       where, text);
    if (!rest.n)
        return 0;
    struct str digits = {rest.p + 1, rest.n - 1};
    if (rest.p[0] != ':' || str_parse_u64(digits, 0, UINT16_MAX, &port) < 0)
        return err_set(e, ERR_USAGE, "%s: '%.*s' in '%.80s' is not a port from 0 to 65535",
                       where, STR_ARG(digits), text);
    out->port = (int32_t)port;
    return 0;
}

/* ---- the configuration ---- */

enum conf_type { CONF_SECONDS, CONF_COUNT, CONF_BOOL, CONF_NUMBER, CONF_STORE };

/* X(id, key, type) */
#define CONF_KEYS(X)                                                                           \
    X(JOIN, "join_timeout", SECONDS)                                                           \
    X(TIMEOUT, "timeout", SECONDS)                                                             \
    X(LAST_CALL, "last_call_timeout", SECONDS)                                                 \
    X(ALIVE, "keep_alive_interval", SECONDS)                                                   \
    X(ATTEMPTS, "keep_alive_max_attempt", COUNT)                                               \
    X(IS_HOST, "is_host", BOOL)                                                                \
    X(STORE_TYPE, "store_type", STORE)                                                         \
    X(READ, "read_timeout", SECONDS)                                                           \
    X(CLOSE, "close_timeout", SECONDS)                                                         \
    X(HEARTBEAT, "heartbeat_timeout", SECONDS)                                                 \
    X(BACKOFF, "cas_backoff_max_seconds", NUMBER)                                              \
    X(RANK, "rank", NUMBER)

enum conf_id {
#define X(id, key, type) CONF_##id,
    CONF_KEYS(X)
#undef X
        CONF_KEY_COUNT
};

static const struct {
    const char *key;
    enum conf_type type;
} keys[] = {
#define X(id, key, type) [CONF_##id] = {key, CONF_##type},
    CONF_KEYS(X)
#undef X
};
static_assert(sizeof keys / sizeof keys[0] == CONF_KEY_COUNT, "one row a key");

static int fail_key(const char *where, struct str key, struct err *e)
{
    char word[65] = "";
    memcpy(word, key.p, key.n < sizeof word - 1 ? key.n : sizeof word - 1);
    size_t best = 0;
    for (size_t i = 1; i < CONF_KEY_COUNT; i++)
        if (str_distance(word, keys[i].key) < str_distance(word, keys[best].key))
            best = i;
    return err_set(e, ERR_USAGE, "%s: there is no key '%s'; the nearest is %s", where, word,
                   keys[best].key);
}

static int fail_value(const char *where, enum conf_id id, struct str value, const char *right,
                      struct err *e)
{
    return err_set(e, ERR_USAGE, "%s: %s=%.*s: it should be %s", where, keys[id].key,
                   value.n < 60 ? (int)value.n : 60, value.p, right);
}

/* As torch reads a flag there. */
static int parse_flag(struct str value, bool *out)
{
    static const char *const words[2][6] = {{"0", "false", "f", "no", "n", "off"},
                                            {"1", "true", "t", "yes", "y", "on"}};
    for (int is_on = 0; is_on < 2; is_on++)
        for (size_t i = 0; i < 6; i++)
            if (value.n == strlen(words[is_on][i])
                && strncasecmp(value.p, words[is_on][i], value.n) == 0) {
                *out = is_on != 0;
                return 0;
            }
    return -1;
}

static bool is_number(struct str s)
{
    size_t digits = 0, dots = 0;
    for (size_t i = 0; i < s.n; i++) {
        digits += s.p[i] >= '0' && s.p[i] <= '9';
        dots += s.p[i] == '.';
    }
    return digits && dots <= 1 && digits + dots == s.n;
}

/* *number: of a key that has one, as it stands. */
static int check_value(const char *where, enum conf_id id, struct str value, uint64_t *number,
                       struct err *e)
{
    bool flag = false;
    switch (keys[id].type) {
    case CONF_SECONDS:
        return str_parse_u64(value, 1, 1000000, number) < 0
                   ? fail_value(where, id, value, "seconds from 1 to 1000000", e)
                   : 0;
    case CONF_COUNT:
        return str_parse_u64(value, 1, 1000, number) < 0
                   ? fail_value(where, id, value, "a number from 1 to 1000", e)
                   : 0;
    case CONF_NUMBER:
        return is_number(value) ? 0 : fail_value(where, id, value, "a number", e);
    case CONF_BOOL:
        if (parse_flag(value, &flag) < 0)
            return fail_value(where, id, value, "1 or 0", e);
        *number = flag;
        return 0;
    case CONF_STORE:
        return str_eq(value, "tcp") ? 0
                                    : fail_value(where, id, value,
                                                 "tcp: muster serves the store itself, no "
                                                 "file takes its place",
                                                 e);
    }
    return 0;
}

static void apply(enum conf_id id, uint64_t number, bool is_static, struct options *opt)
{
    switch (id) {
    case CONF_JOIN:
        if (!is_static)
            opt->join_timeout_ms = number * 1000;
        return;
    case CONF_TIMEOUT:
        if (is_static)
            opt->join_timeout_ms = number * 1000;
        return;
    case CONF_LAST_CALL:
        opt->last_call_ms = number * 1000;
        return;
    case CONF_ALIVE:
        opt->beat_ms = number * 1000;
        return;
    case CONF_ATTEMPTS:
        opt->beats_missed = (uint32_t)number;
        return;
    case CONF_IS_HOST:
        opt->is_host = number ? IS_HOST_YES : IS_HOST_NO;
        return;
    case CONF_STORE_TYPE:
    case CONF_READ:
    case CONF_CLOSE:
    case CONF_HEARTBEAT:
    case CONF_BACKOFF:
    case CONF_RANK:
    case CONF_KEY_COUNT:
        return; /* nothing here waits for these */
    }
}

int rdzv_conf_parse(const char *where, const char *text, bool is_static, struct options *opt,
                    struct err *e)
{
    struct str rest = str_trim(str_from(text)), value;
    while (text[strspn(text, " \t\r\n")] && str_split(&rest, ',', &value)) {
        struct str key;
        str_split(&value, '=', &key);
        key = str_trim(key);
        if (!value.p || !key.n)
            return err_set(e, ERR_USAGE, "%s: '%.*s' is not KEY=VALUE", where, STR_ARG(key));
        value = str_trim(value);
        size_t i = 0;
        uint64_t number = 0;
        while (i < CONF_KEY_COUNT && !str_eq(key, keys[i].key))
            i++;
        if (i == CONF_KEY_COUNT)
            return fail_key(where, key, e);
        if (check_value(where, (enum conf_id)i, value, &number, e) < 0)
            return -1;
        apply((enum conf_id)i, number, is_static, opt);
    }
    return 0;
}

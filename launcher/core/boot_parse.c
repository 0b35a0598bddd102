#include "launcher/core/boot_parse.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_name.h"

int boot_parse_end(struct str got, size_t *length, struct err *e)
{
    const char *end = got.n ? memmem(got.p, got.n, "\n\n", 2) : NULL;
    *length = 0;
    if (got.n && got.p[0] == '\n')
        return err_set(e, ERR_PROTOCOL, "the boot record is empty");
    if (end)
        *length = (size_t)(end - got.p) + 2;
    if (*length > BOOT_TEXT_MAX || (!end && got.n > BOOT_TEXT_MAX))
        return err_set(e, ERR_PROTOCOL, "the boot record has no end within %d bytes",
                       BOOT_TEXT_MAX);
    return 0;
}

static bool is_text(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return s.n > 0 && s.n <= BOOT_VALUE_MAX;
}

static char *copy(struct str s)
{
    return mem_printf("%.*s", STR_ARG(s));
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *read_secret(struct str s, struct boot_record *r)
{
    static const char fault[] = "a secret has 64 lower-case hexadecimal digits";
    if (s.n != 2 * BOOT_SECRET_SIZE)
        return fault;
    for (size_t i = 0; i < BOOT_SECRET_SIZE; i++) {
        int high = hex_digit(s.p[2 * i]), low = hex_digit(s.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return fault;
        r->secret[i] = (uint8_t)(high << 4 | low);
    }
    return NULL;
}

/* HOST[:PORT] with IPv6 in brackets; *port 0 if there is none. */
static const char *split_host(struct str s, struct str *host, uint16_t *port)
{
    const char *colon = host_part(s, host);
    uint64_t v = 0;
    if (colon
        && str_parse_u64((struct str){colon + 1, (size_t)(s.p + s.n - colon) - 1}, 1,
                         UINT16_MAX, &v)
               != 0)
        return "a port is a number from 1 to 65535";
    *port = (uint16_t)v;
    if (host->n > 2 && host->p[0] == '[' && host->p[host->n - 1] == ']') {
        *host = (struct str){host->p + 1, host->n - 2};
        return host_is_ipv6(*host) ? NULL : "brackets hold an IPv6 address";
    }
    return host_name_fault(*host);
}

static const char *read_address(struct str s, struct boot_record *r)
{
    struct str host;
    uint16_t port;
    const char *fault = split_host(s, &host, &port);
    if (fault)
        return fault;
    if (!port)
        return "an address needs a port";
    if (r->naddresses == BOOT_ADDRESSES_MAX)
        return "there are too many addresses";
    char *text = copy(host);
    boot_record_add_address(r, text, port);
    free(text);
    return NULL;
}

static const char *read_child(struct str s, struct boot_record *r)
{
    struct str number, user = {NULL, 0}, host;
    uint64_t node;
    uint16_t port;
    if (!str_split(&s, ' ', &number) || !s.p
        || str_parse_u64(number, 0, BOOT_NODES_MAX - 1, &node) != 0)
        return "a child is N [USER@]HOST[:PORT]";
    if (s.n && memchr(s.p, '@', s.n))
        str_split(&s, '@', &user);
    const char *fault = user.p ? host_user_fault(user) : NULL;
    if (!fault)
        fault = split_host(s, &host, &port);
    if (fault)
        return fault;
    if (r->nchildren == BOOT_NODES_MAX)
        return "there are too many children";
    char *host_text = copy(host), *user_text = user.p ? copy(user) : NULL;
    boot_record_add_child(r, (uint32_t)node, user_text, host_text, port);
    free(host_text);
    free(user_text);
    return NULL;
}

static const char *read_ssh_arg(struct str s, struct boot_record *r)
{
    if (r->nssh_args == BOOT_ARGS_MAX)
        return "there are too many of them";
    char *word = copy(s);
    boot_record_add_ssh_arg(r, word);
    free(word);
    return NULL;
}

static const char *read_text(struct str s, size_t max, char **out)
{
    if (s.n > max)
        return "it is too long";
    *out = copy(s);
    return NULL;
}

enum boot_key {
    KEY_VERSION,
    KEY_JOB,
    KEY_SECRET,
    KEY_ADDRESS,
    KEY_NODE,
    KEY_PARENT,
    KEY_RADIX,
    KEY_MUSTER,
    KEY_SSH,
    KEY_SSH_ARG,
    KEY_CHILD,
    KEY_COUNT
};

static const struct {
    const char *name;
    bool is_list;
} keys[] = {
    [KEY_VERSION] = {"muster-boot", false},
    [KEY_JOB] = {"job", false},
    [KEY_SECRET] = {"secret", false},
    [KEY_ADDRESS] = {"address", true},
    [KEY_NODE] = {"node", false},
    [KEY_PARENT] = {"parent", false},
    [KEY_RADIX] = {"radix", false},
    [KEY_MUSTER] = {"muster", false},
    [KEY_SSH] = {"ssh", false},
    [KEY_SSH_ARG] = {"ssh-arg", true},
    [KEY_CHILD] = {"child", true},
};
static_assert(sizeof keys / sizeof keys[0] == KEY_COUNT, "one row a key");

static const char *read_node(struct str s, int64_t *out)
{
    uint64_t v;
    if (str_parse_u64(s, 0, BOOT_NODES_MAX - 1, &v) != 0)
        return "it is no number from 0 to 65535";
    *out = (int64_t)v;
    return NULL;
}

/* What is wrong with the value, NULL if nothing. */
static const char *read_value(enum boot_key key, struct str s, struct boot_record *r)
{
    uint64_t v = 0;
    switch (key) {
    case KEY_VERSION:
        return str_eq(s, "1") ? NULL
                              : "this muster reads version 1; both nodes need the same release";
    case KEY_JOB:
        return read_text(s, BOOT_JOB_MAX, &r->job);
    case KEY_SECRET:
        return read_secret(s, r);
    case KEY_ADDRESS:
        return read_address(s, r);
    case KEY_NODE:
        return read_node(s, &r->node);
    case KEY_PARENT:
        return read_node(s, &r->parent);
    case KEY_RADIX:
        if (str_parse_u64(s, 1, BOOT_NODES_MAX, &v) != 0)
            return "it is no number from 1 to 65536";
        r->radix = (uint32_t)v;
        return NULL;
    case KEY_MUSTER:
        return read_text(s, BOOT_VALUE_MAX, &r->muster);
    case KEY_SSH:
        return read_text(s, BOOT_VALUE_MAX, &r->ssh);
    case KEY_SSH_ARG:
        return read_ssh_arg(s, r);
    case KEY_CHILD:
        return read_child(s, r);
    case KEY_COUNT:
        break;
    }
    return NULL;
}

static int read_line(struct str line, unsigned number, bool *has, struct boot_record *r,
                     struct err *e)
{
    struct str value = line, name;
    enum boot_key key = KEY_VERSION;
    str_split(&value, '=', &name);
    while (key < KEY_COUNT && !str_eq(name, keys[key].name))
        key++;
    if (!value.p || key == KEY_COUNT)
        return err_set(e, ERR_PROTOCOL,
                       "boot record, line %u: no key of version %d; both nodes need the same "
                       "release of muster",
                       number, BOOT_VERSION);
    if ((number == 1) != (key == KEY_VERSION))
        return err_set(e, ERR_PROTOCOL,
                       "boot record, line %u: muster-boot must come first, and once", number);
    const char *fault = has[key] && !keys[key].is_list ? "it stands twice" : NULL;
    if (!fault && !is_text(value))
        fault = "it is empty, too long, or has a control character";
    if (!fault)
        fault = read_value(key, value, r);
    has[key] = true;
    return fault ? err_set(e, ERR_PROTOCOL, "boot record, line %u, %s: %s", number,
                           keys[key].name, fault)
                 : 0;
}

static int read_lines(struct str text, struct boot_record *r, struct err *e)
{
    bool has[KEY_COUNT] = {false};
    struct str line;
    unsigned number = 0;
    while (str_split(&text, '\n', &line) && line.n)
        if (read_line(line, ++number, has, r, e) != 0)
            return -1;
    if (!has[KEY_JOB] || !has[KEY_SECRET] || !has[KEY_ADDRESS])
        return err_set(e, ERR_PROTOCOL, "boot record: %s is missing",
                       !has[KEY_JOB]      ? "job"
                       : !has[KEY_SECRET] ? "secret"
                                          : "address");
    return 0;
}

int boot_parse(struct str text, struct boot_record *out, struct err *e)
{
    size_t length;
    boot_record_init(out);
    if (boot_parse_end(text, &length, e) != 0)
        return -1;
    if (!length || length != text.n)
        return err_set(e, ERR_PROTOCOL, "the boot record %s",
                       length ? "is followed by something else" : "ends without an empty line");
    int rc = read_lines(text, out, e);
    if (rc != 0)
        boot_record_fini(out);
    return rc;
}

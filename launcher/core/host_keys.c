#include "launcher/core/host_keys.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/host_text.h"
#include "rendezvous/contract.h"

enum { PORT_MAX = 65535, IFACE_MAX = 15, ENV_MAX = 4096 };

static const char *const main_names[] = {
    [HOST_KEY_SLOTS] = "slots", [HOST_KEY_MAX_SLOTS] = "max_slots", [HOST_KEY_GPUS] = "gpus",
    [HOST_KEY_USER] = "user",   [HOST_KEY_PORT] = "port",           [HOST_KEY_ADDR] = "addr",
    [HOST_KEY_IFACE] = "iface", [HOST_KEY_ENV] = "env.NAME",
};
static_assert(sizeof main_names / sizeof main_names[0] == HOST_KEY_COUNT, "one name a key");

/* Every spelling that is read, "_" for "_" and "-". */
static const struct {
    const char *name;
    enum host_key key;
} spellings[] = {
    {"slots", HOST_KEY_SLOTS},         {"cpu", HOST_KEY_SLOTS},
    {"count", HOST_KEY_SLOTS},         {"max_slots", HOST_KEY_MAX_SLOTS},
    {"slots_max", HOST_KEY_MAX_SLOTS}, {"max_cpu", HOST_KEY_MAX_SLOTS},
    {"cpu_max", HOST_KEY_MAX_SLOTS},   {"max_count", HOST_KEY_MAX_SLOTS},
    {"count_max", HOST_KEY_MAX_SLOTS}, {"gpus", HOST_KEY_GPUS},
    {"user", HOST_KEY_USER},           {"username", HOST_KEY_USER},
    {"user_name", HOST_KEY_USER},      {"port", HOST_KEY_PORT},
    {"addr", HOST_KEY_ADDR},           {"iface", HOST_KEY_IFACE},
};

/* Words that are not read, and the key that was meant. */
static const struct {
    const char *name;
    enum host_key key;
} meant[] = {
    {"devices", HOST_KEY_GPUS},    {"device", HOST_KEY_GPUS}, {"gpu", HOST_KEY_GPUS},
    {"np", HOST_KEY_SLOTS},        {"nproc", HOST_KEY_SLOTS}, {"ppn", HOST_KEY_SLOTS},
    {"ntasks", HOST_KEY_SLOTS},    {"cpus", HOST_KEY_SLOTS},  {"max", HOST_KEY_MAX_SLOTS},
    {"address", HOST_KEY_ADDR},    {"ip", HOST_KEY_ADDR},     {"login", HOST_KEY_USER},
    {"interface", HOST_KEY_IFACE}, {"env", HOST_KEY_ENV},
};

static bool key_eq(struct str key, const char *name)
{
    if (key.n != strlen(name))
        return false;
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] != name[i] && !(key.p[i] == '-' && name[i] == '_'))
            return false;
    return true;
}

static bool find_key(struct str key, enum host_key *out)
{
    if (str_starts(key, "env.")) {
        *out = HOST_KEY_ENV;
        return true;
    }
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        if (key_eq(key, spellings[i].name)) {
            *out = spellings[i].key;
            return true;
        }
    }
    return false;
}

static const char *nearest_key(struct str key)
{
    char word[33] = "";
    for (size_t i = 0; i < key.n && i < sizeof word - 1; i++)
        word[i] = key.p[i] >= 'A' && key.p[i] <= 'Z' ? (char)(key.p[i] | 0x20) : key.p[i];
    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++)
        if (strcmp(word, meant[i].name) == 0)
            return main_names[meant[i].key];
    unsigned best = 0;
    for (unsigned i = 1; i < HOST_KEY_COUNT; i++)
        if (str_distance(word, main_names[i]) < str_distance(word, main_names[best]))
            best = i;
    return main_names[best];
}

static int fail_option(const struct host_source *src, struct str key)
{
    return host_fail(src, HOST_E_OPTION, key.p,
                     "there is no key \"%.*s\"; the nearest is %s (keys: slots max_slots gpus "
                     "user port addr iface env.NAME)",
                     (int)(key.n < 40 ? key.n : 40), key.p, nearest_key(key));
}

/* ---- values ---- */

static int read_port(const struct host_source *src, struct str value, struct host *host)
{
    uint64_t v;
    if (str_parse_u64(value, 0, UINT32_MAX, &v) != 0)
        return host_fail(src, HOST_E_NUMBER, value.p,
                         "\"%.*s\" is no port number; write one from 1 to %d",
                         (int)(value.n < 40 ? value.n : 40), value.p, PORT_MAX);
    if (v < 1 || v > PORT_MAX)
        return host_fail(src, HOST_E_RANGE, value.p,
                         "%llu is no possible port; write one from 1 to %d",
                         (unsigned long long)v, PORT_MAX);
    host->port = (uint16_t)v;
    return 0;
}

static int read_user(const struct host_source *src, struct str value, struct host_list *list,
                     struct host *host)
{
    const char *fault = host_user_fault(value);
    if (fault)
        return host_fail(src, HOST_E_USER, value.p, "\"%.*s\" cannot be a user: %s",
                         (int)(value.n < 60 ? value.n : 60), value.p, fault);
    host->user = host_list_dup(list, value);
    return 0;
}

static int read_addr(const struct host_source *src, struct str value, struct host_list *list,
                     struct host *host)
{
    const char *fault = host_name_fault(value);
    if (fault)
        return host_fail(src, HOST_E_HOSTNAME, value.p, "addr=\"%.*s\" names no address: %s",
                         (int)(value.n < 80 ? value.n : 80), value.p, fault);
    host->addr = host_list_dup(list, value);
    return 0;
}

static int read_iface(const struct host_source *src, struct str value, struct host_list *list,
                      struct host *host)
{
    bool is_good = value.n >= 1 && value.n <= IFACE_MAX && !memchr(value.p, '/', value.n)
                   && !memchr(value.p, ':', value.n) && !str_eq(value, ".")
                   && !str_eq(value, "..");
    if (!is_good)
        return host_fail(src, HOST_E_SYNTAX, value.p,
                         "\"%.*s\" is no interface; write a name of 1 to %d characters such as "
                         "ib0",
                         (int)(value.n < 40 ? value.n : 40), value.p, IFACE_MAX);
    host->iface = host_list_dup(list, value);
    return 0;
}

/* ---- env.NAME ---- */

/* What muster writes itself or hides; a default that a user may replace is neither. */
static bool is_refused(struct str name)
{
    static const struct {
        const char *name;
        enum contract_when when;
    } written[] = {
#define X(variable, when, meaning) {#variable, CONTRACT_##when},
        CONTRACT_VARIABLES(X)
#undef X
    };
    static const char *const hidden[] = {
#define X(pattern) pattern,
        CONTRACT_HIDDEN(X)
#undef X
    };
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
        if (written[i].when != CONTRACT_UNSET && str_eq(name, written[i].name))
            return true;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        size_t n = strlen(hidden[i]);
        bool is_prefix = hidden[i][n - 1] == '*';
        if (is_prefix ? name.n >= n - 1 && memcmp(name.p, hidden[i], n - 1) == 0
                      : str_eq(name, hidden[i]))
            return true;
    }
    return str_starts(name, "MUSTER_");
}

static bool is_variable(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_letter = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.n > 0;
}

static int check_variable(const struct host_source *src, struct str key, struct str name)
{
    if (!is_variable(name))
        return host_fail(src, HOST_E_OPTION, key.p,
                         "\"%.*s\" is no name of a variable; write env.NAME=VALUE",
                         (int)(name.n < 60 ? name.n : 60), name.p);
    if (str_eq(name, "CUDA_VISIBLE_DEVICES"))
        return host_fail(src, HOST_E_OPTION, key.p,
                         "muster writes CUDA_VISIBLE_DEVICES itself; choose GPUs with gpus=");
    if (is_refused(name))
        return host_fail(
            src, HOST_E_OPTION, key.p,
            "%.*s belongs to muster, which gives every worker its own; leave it out",
            (int)(name.n < 60 ? name.n : 60), name.p);
    return 0;
}

static int read_env(const struct host_source *src, struct str key, struct str value,
                    struct host_entry *entry)
{
    struct str name = {key.p + strlen("env."), key.n - strlen("env.")};
    if (check_variable(src, key, name) != 0)
        return -1;
    for (size_t i = 0; i < entry->nenv; i++)
        if (strncmp(entry->env[i], name.p, name.n) == 0 && entry->env[i][name.n] == '=')
            return host_fail(src, HOST_E_DUPOPT, key.p,
                             "%.*s stands twice on this line; keep one of them",
                             (int)(name.n < 60 ? name.n : 60), name.p);
    if (entry->nenv == ENV_MAX)
        return host_fail(src, HOST_E_RANGE, key.p, "a host has at most %d variables", ENV_MAX);
    array_grow(entry->env, entry->nenv, entry->env_cap);
    entry->env[entry->nenv++] = mem_printf("%.*s=%.*s", STR_ARG(name), STR_ARG(value));
    return 0;
}

/* ---- one key, one line ---- */

struct pair {
    struct str key, value;
};

static int read_pair(const struct host_source *src, const struct pair *pair, enum host_key key,
                     struct host_list *list, struct host_entry *entry)
{
    struct host *host = &entry->host;
    switch (key) {
    case HOST_KEY_SLOTS:
        return host_number(src, pair->value, HOST_SLOTS_MAX, "slots", &host->slots);
    case HOST_KEY_MAX_SLOTS:
        entry->value_max_slots = pair->value;
        return host_number(src, pair->value, HOST_SLOTS_MAX, "slots", &host->max_slots);
    case HOST_KEY_GPUS:
        entry->value_gpus = pair->value;
        if (host_gpus_check(src, pair->value, &host->gpus_state) != 0)
            return -1;
        host->gpus = host_list_dup(list, pair->value);
        return 0;
    case HOST_KEY_USER:
        return read_user(src, pair->value, list, host);
    case HOST_KEY_PORT:
        return read_port(src, pair->value, host);
    case HOST_KEY_ADDR:
        entry->key_addr = pair->key;
        return read_addr(src, pair->value, list, host);
    case HOST_KEY_IFACE:
        return read_iface(src, pair->value, list, host);
    case HOST_KEY_ENV:
        return read_env(src, pair->key, pair->value, entry);
    case HOST_KEY_COUNT:
        break;
    }
    return 0;
}

static int fail_stray(const struct host_source *src, struct str word)
{
    enum host_key key;
    int n = (int)(word.n < 60 ? word.n : 60);
    if (find_key(word, &key) && key != HOST_KEY_ENV)
        return host_fail(src, HOST_E_SYNTAX, word.p, "\"%.*s\" has no value; write %s=...", n,
                         word.p, main_names[key]);
    return host_fail(
        src, HOST_E_SYNTAX, word.p,
        "\"%.*s\" should not be here; behind the host stand key=value words such as "
        "slots=4 (no blanks around the '=' of env.NAME)",
        n, word.p);
}

static size_t skip_blanks(struct str s, size_t at)
{
    while (at < s.n && host_is_blank(s.p[at]))
        at++;
    return at;
}

static size_t skip_word(struct str s, size_t at)
{
    while (at < s.n && !host_is_blank(s.p[at]))
        at++;
    return at;
}

/* Takes "key [blank] = [blank] value" from *rest, which begins with a word. */
static int take_pair(const struct host_source *src, struct str *rest, struct pair *out)
{
    struct str s = *rest, word = {s.p, skip_word(s, 0)};
    size_t n = 0;
    while (n < word.n && s.p[n] != '=')
        n++;
    out->key = (struct str){s.p, n};
    bool is_env = str_starts(out->key, "env.");
    size_t equals = is_env ? n : skip_blanks(s, n);
    if (!n || equals == s.n || s.p[equals] != '=')
        return fail_stray(src, word);
    size_t from = is_env ? equals + 1 : skip_blanks(s, equals + 1), to = skip_word(s, from);
    out->value =
        to > from ? (struct str){s.p + from, to - from} : (struct str){s.p + equals + 1, 0};
    *rest = (struct str){s.p + to, s.n - to};
    return 0;
}

int host_keys_parse(const struct host_source *src, struct str rest, struct host_list *list,
                    struct host_entry *entry)
{
    struct pair pair;
    enum host_key key;
    for (rest = host_trim(rest); rest.n; rest = host_trim(rest)) {
        if (take_pair(src, &rest, &pair) != 0)
            return -1;
        if (!find_key(pair.key, &key))
            return fail_option(src, pair.key);
        if (entry->has[key] && key != HOST_KEY_ENV)
            return host_fail(src, HOST_E_DUPOPT, pair.key.p,
                             "%s stands twice on this line (also as :N, user@ or a synonym); "
                             "keep one of them",
                             main_names[key]);
        if (read_pair(src, &pair, key, list, entry) != 0)
            return -1;
        entry->has[key] = true;
    }
    return 0;
}

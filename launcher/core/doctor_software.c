#include "launcher/core/doctor_software.h"

#include <string.h>

/* ---- the library ---- */

static void libraries_format(const struct evidence *const *hosts, size_t n,
                             const char *(*get)(const struct evidence *ev), struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (get(hosts[i]))
            buf_addf(out, "%s%s has %s", out->len ? ", " : "", rule_host(hosts[i]),
                     get(hosts[i]));
}

/* Whether those that are known differ. */
static bool do_differ(const struct evidence *const *hosts, size_t n,
                      const char *(*get)(const struct evidence *ev))
{
    const char *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *value = get(hosts[i]);
        if (first && value && strcmp(first, value) != 0)
            return true;
        first = first ? first : value;
    }
    return false;
}

static const char *version_of(const struct evidence *ev)
{
    return ev->nccl_version;
}

static const char *file_of(const struct evidence *ev)
{
    return ev->nccl_file;
}

static void judge_header(const struct rule *rule, const struct evidence *ev,
                         struct finding_list *out)
{
    if (!ev->nccl_header
        || rule_version(ev->nccl_version) / 100 >= rule_version(ev->nccl_header) / 100)
        return;
    rule_found(rule, ev, out, "the worker was built for NCCL %s, and loads %s (%s)",
               ev->nccl_header, ev->nccl_version,
               ev->nccl_file ? ev->nccl_file : "file unknown")
        ->level = FINDING_WARNING;
}

void doctor_nccl_library(const struct rule *rule, const struct evidence *const *hosts, size_t n,
                         struct finding_list *out)
{
    for (size_t i = 0; i < n; i++) {
        if (hosts[i]->gpus.is_known && !hosts[i]->gpus.n)
            continue;
        if (hosts[i]->nccl_version)
            judge_header(rule, hosts[i], out);
        else
            rule_unknown(rule, hosts[i], out, "which NCCL a worker would load");
    }
    bool is_version = do_differ(hosts, n, version_of);
    if (!is_version && !do_differ(hosts, n, file_of))
        return;
    struct buf text;
    buf_init(&text, 0);
    libraries_format(hosts, n, is_version ? version_of : file_of, &text);
    struct finding *f = rule_differs(rule, out,
                                     is_version ? "versions of NCCL: %s"
                                                : "one version of NCCL from several files: %s",
                                     buf_str(&text));
    if (!is_version)
        f->level = FINDING_WARNING;
    buf_fini(&text);
}

/* ---- settings ---- */

static bool is_compared(const char *name)
{
    return strncmp(name, "NCCL_", 5) == 0;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The first host on which the name is set compares it with all; a later one would repeat it. */
static bool is_first_with(const struct evidence *const *hosts, size_t i, const char *name)
{
    for (size_t k = 0; k < i; k++)
        if (evidence_setting(hosts[k], name))
            return false;
    return true;
}

static void compare_setting(const struct rule *rule, const struct evidence *const *hosts,
                            size_t n, const char *name, struct finding_list *out)
{
    const char *first = NULL;
    bool is_different = false, is_first = true;
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < n; i++) {
        if (!hosts[i]->settings.is_known)
            continue;
        const char *value = evidence_setting(hosts[i], name);
        is_different |= !is_first && !is_same(first, value);
        first = is_first ? value : first;
        is_first = false;
        buf_addf(&text, "%s%s on %s", text.len ? ", " : "", value ? value : "not set",
                 rule_host(hosts[i]));
    }
    if (is_different)
        rule_differs(rule, out, "%s is %s", name, buf_str(&text));
    buf_fini(&text);
}

void doctor_env_differs(const struct rule *rule, const struct evidence *const *hosts, size_t n,
                        struct finding_list *out)
{
    for (size_t i = 0; i < n && n > 1; i++) {
        if (!hosts[i]->settings.is_known)
            rule_unknown(rule, hosts[i], out, "the settings of NCCL");
        for (size_t k = 0; k < hosts[i]->settings.n; k++) {
            const char *name = evidence_setting_at(hosts[i], k)->name;
            if (name && is_compared(name) && is_first_with(hosts, i, name))
                compare_setting(rule, hosts, n, name, out);
        }
    }
}

void doctor_env_leftover(const struct rule *rule, const struct evidence *ev,
                         struct finding_list *out)
{
    static const struct {
        const char *name, *effect;
    } rows[] = {
        {"NCCL_P2P_DISABLE", "sends what NVLink could carry through memory"},
        {"NCCL_P2P_LEVEL", "limits which GPUs write to each other's memory"},
        {"NCCL_SHM_DISABLE", "sends what shared memory could carry through the network"},
        {"NCCL_IB_DISABLE", "leaves InfiniBand and RoCE unused"},
        {"NCCL_ALGO", "takes the choice of algorithm from NCCL"},
        {"NCCL_PROTO", "takes the choice of protocol from NCCL"},
    };
    if (!ev->settings.is_known)
        rule_unknown(rule, ev, out, "the settings of NCCL");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *value = evidence_setting(ev, rows[i].name);
        bool is_off = value && strcmp(value, "0") == 0 && strstr(rows[i].name, "DISABLE");
        if (value && !is_off)
            finding_set_fix(
                rule_found(rule, ev, out, "%s=%s %s", rows[i].name, value, rows[i].effect),
                "unset %s, unless it is meant", rows[i].name);
    }
}

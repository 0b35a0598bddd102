#include "launcher/core/doctor_software.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- the library ---- */

static const char *version_of(const struct host_evidence *ev, const char *name)
{
    (void)name;
    return ev->nccl_version;
}

static const char *file_of(const struct host_evidence *ev, const char *name)
{
    (void)name;
    return ev->nccl_file;
}

static void judge_header(const struct rule *rule, const struct host_evidence *ev,
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

void doctor_nccl_library(const struct rule *rule, const struct host_evidence *const *hosts,
                         size_t n, struct finding_list *out)
{
    for (size_t i = 0; i < n; i++) {
        if (hosts[i]->gpus.is_known && !hosts[i]->gpus.n)
            continue;
        if (hosts[i]->nccl_version)
            judge_header(rule, hosts[i], out);
        else
            rule_unknown(rule, hosts[i], out,
                         hosts[i]->probe_error ? hosts[i]->probe_error
                                               : "which NCCL a worker would load");
    }
    struct buf text;
    buf_init(&text, 0);
    if (rule_values_format(hosts, n, version_of, NULL, NULL, &text)) {
        rule_differs(rule, out, "versions of NCCL: %s", buf_str(&text));
    } else {
        buf_reset(&text);
        if (rule_values_format(hosts, n, file_of, NULL, NULL, &text))
            rule_differs(rule, out, "one version of NCCL from several files: %s",
                         buf_str(&text))
                ->level = FINDING_WARNING;
    }
    buf_fini(&text);
}

/* ---- settings ---- */

static bool is_compared(const char *name)
{
    return strncmp(name, "NCCL_", 5) == 0;
}

/* The first host on which the name is set compares it with all; a later one would repeat it. */
static bool is_first_with(const struct host_evidence *const *hosts, size_t i, const char *name)
{
    for (size_t k = 0; k < i; k++)
        if (evidence_setting(hosts[k], name))
            return false;
    return true;
}

static void compare_setting(const struct rule *rule, const struct host_evidence *const *hosts,
                            size_t n, const char *name, struct finding_list *out)
{
    struct buf text;
    buf_init(&text, 0);
    if (rule_values_format(hosts, n, evidence_setting, name, "not set", &text))
        rule_differs(rule, out, "%s is %s", name, buf_str(&text));
    buf_fini(&text);
}

void doctor_env_differs(const struct rule *rule, const struct host_evidence *const *hosts,
                        size_t n, struct finding_list *out)
{
    const struct host_evidence **known = mem_alloc(n, sizeof *known);
    size_t count = 0;
    for (size_t i = 0; i < n && n > 1; i++) {
        if (hosts[i]->settings.is_known)
            known[count++] = hosts[i];
        else
            rule_unknown(rule, hosts[i], out, "the settings of NCCL");
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < known[i]->settings.n; k++) {
            const char *name = evidence_setting_at(known[i], k)->name;
            if (name && is_compared(name) && is_first_with(known, i, name))
                compare_setting(rule, known, count, name, out);
        }
    free(known);
}

void doctor_env_leftover(const struct rule *rule, const struct host_evidence *ev,
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
        const struct evidence_setting *s = evidence_setting_find(ev, rows[i].name);
        if (!s || !s->value || (strcmp(s->value, "0") == 0 && strstr(s->name, "DISABLE")))
            continue;
        bool is_file = s->origin && *s->origin == '/';
        struct finding *f =
            rule_found(rule, ev, out, "%s=%s%s%s%s %s", s->name, s->value, is_file ? " (" : "",
                       is_file ? s->origin : "", is_file ? ")" : "", rows[i].effect);
        if (is_file)
            finding_set_fix(f, "take %s out of %s, unless it is meant", s->name, s->origin);
        else
            finding_set_fix(f, "unset %s, unless it is meant", s->name);
    }
}

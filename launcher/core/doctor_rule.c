#include "launcher/core/doctor_rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/core/host_span.h"

const char *rule_host(const struct host_evidence *ev)
{
    return ev->host ? ev->host : "this host";
}

__attribute__((format(printf, 3, 0))) static struct finding *
add(const struct rule *rule, struct finding_list *out, const char *fmt, va_list args)
{
    char seen[FINDING_TEXT_MAX];
    vsnprintf(seen, sizeof seen, fmt, args);
    return finding_add(out, rule->id, rule->level, rule->symptom, rule->fix, "%s", seen);
}

struct finding *rule_found(const struct rule *rule, const struct host_evidence *ev,
                           struct finding_list *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    struct finding *f = add(rule, out, fmt, args);
    va_end(args);
    finding_add_host(f, rule_host(ev));
    return f;
}

struct finding *rule_differs(const struct rule *rule, struct finding_list *out, const char *fmt,
                             ...)
{
    va_list args;
    va_start(args, fmt);
    struct finding *f = add(rule, out, fmt, args);
    va_end(args);
    f->is_difference = true;
    return f;
}

void rule_unknown(const struct rule *rule, const struct host_evidence *ev,
                  struct finding_list *out, const char *missing)
{
    finding_add_host(
        finding_add(out, rule->id, FINDING_UNKNOWN, NULL, NULL, "not judged: %s", missing),
        rule_host(ev));
}

bool rule_is_without_gpus(const struct rule *rule, const struct host_evidence *ev,
                          struct finding_list *out)
{
    if (!ev->gpus.is_known)
        rule_unknown(rule, ev, out, "the GPUs: NVML does not tell");
    return !ev->gpus.n;
}

static bool is_value(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool rule_values_format(const struct host_evidence *const *hosts, size_t n,
                        const char *(*get)(const struct host_evidence *ev, const char *name),
                        const char *name, const char *absent, struct buf *out)
{
    unsigned nvalues = 0;
    for (size_t i = 0; i < n; i++) {
        const char *value = get(hosts[i], name);
        bool is_told = !value && !absent;
        for (size_t k = 0; k < i && !is_told; k++)
            is_told = is_value(get(hosts[k], name), value);
        if (is_told)
            continue;
        struct host_span span = {0};
        buf_addf(out, "%s%s on ", nvalues++ ? "; " : "", value ? value : absent);
        for (size_t k = i; k < n; k++)
            if (is_value(get(hosts[k], name), value))
                host_span_add(&span, rule_host(hosts[k]), out);
        host_span_end(&span, out);
    }
    return nvalues > 1;
}

void rule_bytes(int64_t bytes, struct buf *out)
{
    const int64_t kib = 1024, mib = kib * kib, gib = mib * kib;
    if (bytes >= 10 * gib)
        buf_addf(out, "%lld GiB", (long long)(bytes / gib));
    else if (bytes >= mib)
        buf_addf(out, "%lld MiB", (long long)(bytes / mib));
    else
        buf_addf(out, "%lld KiB", (long long)(bytes / kib));
}

int64_t rule_version(const char *text)
{
    struct str rest = str_from(text), part;
    uint64_t value = 0, n = 0;
    for (int i = 0; i < 3; i++) {
        if (!str_split(&rest, '.', &part))
            n = 0;
        else if (str_parse_u64(part, 0, 99, &n) < 0)
            return -1;
        value = value * 100 + n;
    }
    return value ? (int64_t)value : -1;
}

#include "launcher/core/doctor_rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

const char *rule_host(const struct evidence *ev)
{
    return ev->host ? ev->host : "this host";
}

static struct finding *add(const struct rule *rule, struct finding_list *out, const char *fmt,
                           va_list args)
{
    char seen[1024];
    vsnprintf(seen, sizeof seen, fmt, args);
    return finding_add(out, rule->id, rule->level, rule->symptom, rule->fix, "%s", seen);
}

struct finding *rule_found(const struct rule *rule, const struct evidence *ev,
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

void rule_unknown(const struct rule *rule, const struct evidence *ev, struct finding_list *out,
                  const char *missing)
{
    finding_add_host(
        finding_add(out, rule->id, FINDING_UNKNOWN, NULL, NULL, "not judged: %s", missing),
        rule_host(ev));
}

bool rule_is_without_gpus(const struct rule *rule, const struct evidence *ev,
                          struct finding_list *out)
{
    if (!ev->gpus.is_known)
        rule_unknown(rule, ev, out, "the GPUs: NVML does not tell");
    return !ev->gpus.n;
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

#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int status;
    const char *hint;
} registry[] = {[ERR_OK] = {"OK", 0, "nothing is wrong"},
#define X(name, status, hint) [ERR_##name] = {#name, status, hint},
                ERR_REGISTRY(X)
#undef X
};
static_assert(sizeof registry / sizeof registry[0] == ERR_CODE_COUNT, "one row a code");

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    if (!e)
        return -1;
    e->code = code;
    e->sys = 0;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

int err_sys(struct err *e, int sys, const char *fmt, ...)
{
    if (!e)
        return -1;
    e->code = ERR_SYSTEM;
    e->sys = sys;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", strerror(sys));
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    if (!e)
        return -1;
    char inner[sizeof e->text];
    memcpy(inner, e->text, sizeof inner);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", inner);
    return -1;
}

const char *err_name(enum err_code code)
{
    return registry[code].name;
}

int err_exit_status(enum err_code code)
{
    return registry[code].status;
}

const char *err_hint(enum err_code code)
{
    return registry[code].hint;
}

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static enum log_level max_level = LOG_WARN;
static const char *program = "muster";
static void (*sink_fn)(void *ctx, enum log_level level, const char *line);
static void *sink_ctx;

void log_set_level(enum log_level level)
{
    max_level = level;
}

bool log_is_on(enum log_level level)
{
    return level <= max_level;
}

void log_set_name(const char *name)
{
    program = name;
}

void log_set_sink(void (*sink)(void *ctx, enum log_level level, const char *line), void *ctx)
{
    sink_fn = sink;
    sink_ctx = ctx;
}

void log_line(enum log_level level, const char *component, const char *fmt, ...)
{
    if (!log_is_on(level))
        return;
    char line[1024];
    size_t room = sizeof line - 2; /* the newline and the NUL */
    int n = 0;
    switch (level) {
    case LOG_ERROR:
    case LOG_INFO:
        n = snprintf(line, room, "%s: ", program);
        break;
    case LOG_WARN:
        n = snprintf(line, room, "%s: warning: ", program);
        break;
    case LOG_DEBUG: {
        uint64_t ms = now_ms();
        n = snprintf(line, room, "%s: [%llu.%03llu %s] ", program,
                     (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000),
                     component);
        break;
    }
    }
    size_t len = n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line + len, room - len, fmt, ap);
    va_end(ap);
    len = strlen(line);
    line[len++] = '\n';
    line[len] = '\0';
    if (sink_fn) {
        sink_fn(sink_ctx, level, line);
        return;
    }
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written; /* nobody is left to tell */
}

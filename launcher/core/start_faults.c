#include "launcher/core/start_faults.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/host_span.h"

static const char mark[] = "\1"; /* where the host's name stood */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '-' || c == '_';
}

static void replace(const char *text, const char *name, const char *with, struct buf *out)
{
    size_t n = strlen(name);
    const char *rest = text;
    for (const char *at; n && (at = strstr(rest, name)); rest = at + n) {
        bool is_name = (at == text || !is_word(at[-1])) && !is_word(at[n]);
        buf_add(out, rest, (size_t)(at - rest));
        buf_adds(out, is_name ? with : name);
    }
    buf_adds(out, rest);
}

void start_faults_add(struct start_faults *f, uint32_t node, const char *host,
                      const struct err *why, uint64_t now_ms)
{
    struct buf text;
    size_t i = f->n;
    array_grow(f->list, f->n, f->cap);
    for (; i > 0 && f->list[i - 1].node > node; i--)
        f->list[i] = f->list[i - 1];
    buf_init(&text, 0);
    replace(why->text, host, mark, &text);
    f->list[i] = (struct start_fault){.node = node,
                                      .host = mem_strdup(host),
                                      .why = mem_strdup(buf_str(&text)),
                                      .code = why->code,
                                      .has_name = strchr(buf_str(&text), *mark)};
    buf_fini(&text);
    if (f->n++ == 0)
        f->due_ms = now_ms + START_FAULTS_MS;
}

uint64_t start_faults_due_ms(const struct start_faults *f)
{
    return f->n ? f->due_ms : UINT64_MAX;
}

bool start_faults_next(struct start_faults *f, uint32_t *node, enum err_code *code,
                       struct buf *out)
{
    struct host_span span = {0};
    const struct start_fault *first = NULL;
    size_t nhosts = 0;
    for (size_t i = 0; i < f->n; i++) {
        struct start_fault *fault = &f->list[i];
        if (fault->is_said
            || (first && (fault->code != first->code || strcmp(fault->why, first->why) != 0)))
            continue;
        first = first ? first : fault;
        fault->is_said = true;
        host_span_add(&span, fault->host, out);
        nhosts++;
    }
    if (!first)
        return false;
    host_span_end(&span, out);
    *node = first->node;
    *code = first->code;
    buf_adds(out, ": ");
    replace(first->why, mark, nhosts == 1 ? first->host : "HOST", out);
    return true;
}

void start_faults_fini(struct start_faults *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->list[i].host);
        free(f->list[i].why);
    }
    free(f->list);
    *f = (struct start_faults){0};
}

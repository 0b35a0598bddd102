#include "launcher/core/dedupe.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void dedupe_init(struct dedupe *d)
{
    *d = (struct dedupe){.numbers = 0};
    list_init(&d->lines);
}

void dedupe_fini(struct dedupe *d)
{
    while (dedupe_first(d))
        dedupe_drop(d);
}

/* FNV-1a: only to compare fewer bytes. */
static uint64_t hash_of(const char *p, size_t n)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 1099511628211u;
    return h;
}

/* A line that is equal and later than the source's last one. */
static struct dedupe_line *find(const struct dedupe *d, const struct dedupe_source *source,
                                uint64_t hash, const char *p, size_t n)
{
    for (struct list *l = d->lines.next; l != &d->lines; l = l->next) {
        struct dedupe_line *line = list_entry(l, struct dedupe_line, link);
        if (line->hash == hash && line->number > source->last && line->text.len == n
            && memcmp(line->text.data, p, n) == 0)
            return line;
    }
    return NULL;
}

void dedupe_line_format(const struct dedupe_line *line, struct buf *out)
{
    if (line->count > 1)
        buf_addf(out, "x%u: ", line->count);
    else
        buf_adds(out, buf_str(&line->label));
    buf_add(out, line->text.data, line->text.len);
}

void dedupe_add(struct dedupe *d, struct dedupe_source *source, const char *label,
                const char *p, size_t n, uint64_t now_ms)
{
    uint64_t hash = hash_of(p, n);
    struct dedupe_line *line = find(d, source, hash, p, n);
    if (!line) {
        line = mem_alloc(1, sizeof *line);
        line->number = ++d->numbers;
        line->since_ms = now_ms;
        line->hash = hash;
        buf_init(&line->label, 0);
        buf_adds(&line->label, label);
        buf_init(&line->text, 0);
        buf_add(&line->text, p, n);
        list_init(&line->link);
        list_push(&d->lines, &line->link);
        d->nlines++;
        d->nbytes += n;
    }
    line->count++;
    source->last = line->number;
}

static struct dedupe_line *oldest(const struct dedupe *d)
{
    return list_is_empty(&d->lines) ? NULL : list_first(&d->lines, struct dedupe_line, link);
}

const struct dedupe_line *dedupe_first(const struct dedupe *d)
{
    return oldest(d);
}

const struct dedupe_line *dedupe_due(const struct dedupe *d, uint32_t nsources, uint64_t now_ms)
{
    const struct dedupe_line *line = oldest(d);
    if (!line)
        return NULL;
    bool is_full = d->nlines > DEDUPE_LINES_MAX || d->nbytes > DEDUPE_BYTES_MAX;
    bool is_over = now_ms >= line->since_ms + DEDUPE_WINDOW_MS;
    return is_full || is_over || (nsources && line->count >= nsources) ? line : NULL;
}

void dedupe_drop(struct dedupe *d)
{
    struct dedupe_line *line = oldest(d);
    if (!line)
        return;
    list_remove(&line->link);
    d->nlines--;
    d->nbytes -= line->text.len;
    buf_fini(&line->label);
    buf_fini(&line->text);
    free(line);
}

uint64_t dedupe_deadline(const struct dedupe *d)
{
    const struct dedupe_line *line = oldest(d);
    return line ? line->since_ms + DEDUPE_WINDOW_MS : UINT64_MAX;
}

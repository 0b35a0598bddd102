#include "launcher/core/dedupe.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void dedupe_init(struct dedupe *d)
{
    *d = (struct dedupe){.numbers = 0};
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

static struct dedupe_line **slot(struct dedupe *d, uint64_t number)
{
    return &d->lines[number % DEDUPE_SLOTS];
}

/* The first equal line behind the source's last one: where all write the same it is the next.
 */
static struct dedupe_line *find(struct dedupe *d, const struct dedupe_source *source,
                                uint64_t hash, const char *p, size_t n)
{
    uint64_t dropped = d->numbers - d->nlines;
    for (uint64_t i = (source->last > dropped ? source->last : dropped) + 1; i <= d->numbers;
         i++) {
        struct dedupe_line *line = *slot(d, i);
        if (line->hash == hash && line->text.len == n && memcmp(line->text.data, p, n) == 0)
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
        assert(d->nlines < DEDUPE_SLOTS);
        *slot(d, line->number) = line;
        d->nlines++;
        d->nbytes += n;
    }
    line->count++;
    source->last = line->number;
}

static struct dedupe_line *oldest(const struct dedupe *d)
{
    return d->nlines ? d->lines[(d->numbers - d->nlines + 1) % DEDUPE_SLOTS] : NULL;
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

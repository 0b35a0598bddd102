#include "transcript.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct step {
    char op;
    unsigned conn, line;
    struct buf byte, mask; /* mask: digits that are fixed */
};

struct player {
    const char *path;
    struct step *steps;
    size_t count;
    const struct transcript_server *server;
    void *ctx;
    bool is_open[TRANSCRIPT_CONNS];
    struct buf digits[TRANSCRIPT_CONNS]; /* sent for ?, to be echoed */
    unsigned last, next_digit;           /* connection of the last C without an answer */
};

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_bytes(const char *p, struct step *s)
{
    while (*p && *p != '#' && *p != '\n') {
        if (isspace((unsigned char)*p)) {
            p++;
            continue;
        }
        int hi = digit(p[0]), lo = digit(p[1]);
        if ((hi < 0 && p[0] != '?') || (lo < 0 && p[1] != '?'))
            return false;
        char byte = (char)((hi < 0 ? 0 : hi) << 4 | (lo < 0 ? 0 : lo));
        char mask = (char)((hi < 0 ? 0 : 0xf0) | (lo < 0 ? 0 : 0x0f));
        p += 2;
        unsigned long times = 1;
        if (*p == '*') {
            char *end;
            times = strtoul(p + 1, &end, 10);
            p = end;
        }
        while (times--) {
            buf_addc(&s->byte, byte);
            buf_addc(&s->mask, mask);
        }
    }
    return true;
}

static bool parse(struct player *p)
{
    FILE *f = fopen(p->path, "r");
    char *line = NULL;
    size_t cap = 0;
    bool good = f != NULL;
    for (unsigned number = 1; good && getline(&line, &cap, f) > 0; number++) {
        char *at = line + strspn(line, " \t\n");
        if (!*at || *at == '#')
            continue;
        p->steps = realloc(p->steps, (p->count + 1) * sizeof *p->steps);
        struct step *s = &p->steps[p->count++];
        *s = (struct step){.op = *at++, .conn = 1, .line = number};
        if (isdigit((unsigned char)*at))
            s->conn = (unsigned)strtoul(at, &at, 10);
        good = strchr("CSQEXHOG", s->op) && s->conn < TRANSCRIPT_CONNS && parse_bytes(at, s);
    }
    free(line);
    if (f)
        fclose(f);
    return good && p->count;
}

static void open_conn(struct player *p, unsigned conn)
{
    if (p->is_open[conn])
        return;
    p->is_open[conn] = true;
    buf_reset(&p->digits[conn]);
    p->server->open(p->ctx, conn);
}

/* Puts digits of our own where the file leaves them free. */
static void fill_digits(struct player *p, struct step *s)
{
    for (size_t i = 0; i < s->byte.len; i++)
        for (int shift = 4; shift >= 0; shift -= 4)
            if (!(s->mask.data[i] >> shift & 15)) {
                unsigned value = ++p->next_digit % 16;
                s->byte.data[i] = (char)((unsigned char)s->byte.data[i] | value << shift);
                buf_addc(&p->digits[s->conn], (char)value);
            }
}

static void send_step(struct player *p, struct step *s, enum transcript_cut cut)
{
    open_conn(p, s->conn);
    fill_digits(p, s);
    size_t piece = cut == CUT_BYTES && s->byte.len < 100000 ? 1 : s->byte.len;
    for (size_t at = 0; at < s->byte.len; at += piece)
        p->server->send(p->ctx, s->conn, s->byte.data + at, piece);
    p->last = s->conn;
}

static bool expect(struct player *p, struct step *s)
{
    struct buf got;
    buf_init(&got, 0);
    char *to = buf_reserve(&got, s->byte.len);
    bool same = p->server->receive(p->ctx, s->conn, to, s->byte.len);
    size_t used = 0;
    for (size_t i = 0; same && i < s->byte.len; i++)
        for (int shift = 4; shift >= 0; shift -= 4) {
            int value = to[i] >> shift & 15;
            struct buf *echo = &p->digits[s->conn];
            if (s->mask.data[i] >> shift & 15)
                same = same && value == (s->byte.data[i] >> shift & 15);
            else if (used < echo->len)
                same = same && value == echo->data[used++];
        }
    buf_consume(&p->digits[s->conn], used);
    if (p->last == s->conn)
        p->last = 0;
    buf_fini(&got);
    return same;
}

/* The order of lines is the order of the server (rule 2). */
static void settle_if_due(struct player *p, const struct step *s)
{
    bool other = strchr("CXHOG", s->op) && p->last && p->last != s->conn;
    if (s->op != 'Q' && !other)
        return;
    p->server->settle(p->ctx);
    p->last = 0;
}

static bool play_step(struct player *p, struct step *s, enum transcript_cut cut)
{
    settle_if_due(p, s);
    switch (s->op) {
    case 'C':
        send_step(p, s, cut);
        return true;
    case 'S':
        return expect(p, s);
    case 'Q':
        return p->server->is_quiet(p->ctx, s->conn);
    case 'E':
        p->is_open[s->conn] = false;
        if (p->last == s->conn)
            p->last = 0;
        return p->server->is_ended(p->ctx, s->conn);
    case 'O':
        open_conn(p, s->conn);
        return true;
    case 'X':
        p->is_open[s->conn] = false;
        p->server->close(p->ctx, s->conn);
        p->server->settle(p->ctx);
        return true;
    case 'H':
        p->server->half_close(p->ctx, s->conn);
        return true;
    default: /* G: parse() lets nothing else pass */
        p->server->generation(p->ctx);
        return true;
    }
}

static void join_steps(struct player *p)
{
    size_t to = 0;
    for (size_t i = 1; i < p->count; i++) {
        struct step *a = &p->steps[to], *b = &p->steps[i];
        if (a->op == 'C' && b->op == 'C' && a->conn == b->conn) {
            buf_add(&a->byte, b->byte.data, b->byte.len);
            buf_add(&a->mask, b->mask.data, b->mask.len);
            buf_fini(&b->byte);
            buf_fini(&b->mask);
        } else {
            p->steps[++to] = *b;
        }
    }
    p->count = to + 1;
}

static bool all_quiet(struct player *p)
{
    p->server->settle(p->ctx);
    for (unsigned i = 1; i < TRANSCRIPT_CONNS; i++)
        if (p->is_open[i] && !p->server->is_quiet(p->ctx, i)) {
            fprintf(stderr, "%s: connection %u is not quiet at the end\n", p->path, i);
            return false;
        }
    return true;
}

bool transcript_play(const char *path, enum transcript_cut cut,
                     const struct transcript_server *server, void *ctx)
{
    struct player p = {.path = path, .server = server, .ctx = ctx};
    bool good = parse(&p);
    if (!good)
        fprintf(stderr, "%s: cannot be read\n", path);
    if (good && cut == CUT_JOINED)
        join_steps(&p);
    for (size_t i = 0; good && i < p.count; i++) {
        good = play_step(&p, &p.steps[i], cut);
        if (!good)
            fprintf(stderr, "%s:%u: %c%u, cut %d: not as written\n", path, p.steps[i].line,
                    p.steps[i].op, p.steps[i].conn, (int)cut);
    }
    good = good && all_quiet(&p);
    for (size_t i = 0; i < p.count; i++) {
        buf_fini(&p.steps[i].byte);
        buf_fini(&p.steps[i].mask);
    }
    for (unsigned i = 0; i < TRANSCRIPT_CONNS; i++)
        buf_fini(&p.digits[i]);
    free(p.steps);
    return good;
}

size_t transcript_each(const char *folder, void (*fn)(void *ctx, const char *path), void *ctx)
{
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/*.txt", folder);
    glob_t found = {0};
    size_t n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    for (size_t i = 0; i < n; i++)
        fn(ctx, found.gl_pathv[i]);
    globfree(&found);
    return n;
}

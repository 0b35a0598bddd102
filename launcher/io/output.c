#include "launcher/io/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/core/dedupe.h"
#include "launcher/core/line_words.h"
#include "launcher/core/prefix.h"
#include "launcher/core/tail.h"
#include "launcher/core/turns.h"
#include "launcher/io/sink.h"

enum {
    LINE_MAX_BYTES = 64 * 1024,   /* of one line kept before it is passed on in parts */
    SINK_FULL_BYTES = 256 * 1024, /* waiting for a reader before workers are no longer read */
};

/* One of muster's streams, and whose lines stand there. */
struct outlet {
    struct output *output;
    struct sink sink;
    bool is_terminal;
    struct turns turns;
    struct dedupe held;
    struct turn several; /* whose the lines are that were held */
};

struct output {
    struct output_events events;
    struct output_style style, bare; /* bare: the same without a prefix */
    const char *role;                /* the prefix is torchrun's; NULL = it is not */
    uint32_t nshown, nstreams; /* workers that are shown, 0 = unknown; streams that are open */
    struct outlet outlets[OUTPUT_FD_COUNT];
    /* Both the same after 2>&1: one queue, whole lines. */
    struct outlet *target[OUTPUT_FD_COUNT];
    int nopen; /* sinks that are not closed yet */
    bool is_blocked;
    bool is_counting;
    struct maybe_u64 (*bytes)[OUTPUT_FD_COUNT]; /* by rank, ncounted of them */
    size_t ncounted;
};

struct output_stream {
    struct output *output;
    struct outlet *outlet;
    struct turn turn;
    struct dedupe_source source;
    struct line line;
    const struct output_style *style;
    uint32_t rank, local_rank;
    enum output_fd fd;
    char *host;              /* NULL = that of the style */
    struct buf prefix;       /* as it was last made */
    struct log_file *log;    /* NULL = none */
    struct log_file *filter; /* where lines with words go, NULL = none */
    const char *words;
    struct line whole; /* for the filter: the unfinished line */
    bool is_hidden;
    bool keep_tail, has_cr; /* the last bytes shown ended with "\r" */
    bool is_new;            /* a line was ended by the bytes that have just come */
    uint64_t now_ms;        /* when those came */
    struct tail tail;
};

/* ---- outlets ---- */

static void update_blocked(struct output *o)
{
    bool is_blocked = false;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        is_blocked = is_blocked || o->outlets[i].sink.is_waiting;
    if (is_blocked == o->is_blocked)
        return;
    o->is_blocked = is_blocked;
    o->events.on_blocked(o->events.ctx, is_blocked);
}

static void on_sink_waiting(void *ctx)
{
    const struct outlet *outlet = ctx;
    update_blocked(outlet->output);
}

static void on_sink_dead(void *ctx)
{
    const struct outlet *outlet = ctx;
    const struct output *o = outlet->output;
    if (outlet == &o->outlets[OUTPUT_OUT])
        o->events.on_reader_gone(o->events.ctx);
}

/* Whether two descriptors lead to the same place. */
static bool is_same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev
           && x.st_ino == y.st_ino;
}

/* ---- the whole ---- */

struct output *output_new(uv_loop_t *loop, const struct output_style *style,
                          const struct output_events *events)
{
    static const int fds[] = {[OUTPUT_OUT] = STDOUT_FILENO, [OUTPUT_ERR] = STDERR_FILENO};
    struct output *o = mem_alloc(1, sizeof *o);
    o->events = *events;
    o->style = o->bare = *style;
    o->bare.prefix = NULL;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++) {
        bool is_second = i > 0 && is_same_file(fds[0], fds[i]);
        o->outlets[i].output = o;
        dedupe_init(&o->outlets[i].held);
        turn_init(&o->outlets[i].several, UINT32_MAX);
        o->target[i] = &o->outlets[is_second ? 0 : i];
        if (is_second)
            continue;
        sink_open(&o->outlets[i].sink, loop, fds[i], &o->outlets[i], on_sink_waiting,
                  on_sink_dead);
        o->nopen++;
        o->outlets[i].is_terminal = isatty(fds[i]) != 0;
        enum turns_cut plain = o->outlets[i].is_terminal ? TURNS_CUT_RANKS : TURNS_CUT_NEVER;
        turns_init(&o->outlets[i].turns, style->prefix ? TURNS_CUT_STREAMS : plain, true);
    }
    return o;
}

void output_count(struct output *o)
{
    o->is_counting = true;
}

static void begin_count(struct output *o, uint32_t rank, enum output_fd fd)
{
    if (rank >= o->ncounted) {
        size_t n = (size_t)rank + 1 > 2 * o->ncounted ? (size_t)rank + 1 : 2 * o->ncounted;
        o->bytes = mem_realloc(o->bytes, n, sizeof *o->bytes);
        memset(o->bytes + o->ncounted, 0, (n - o->ncounted) * sizeof *o->bytes);
        o->ncounted = n;
    }
    o->bytes[rank][fd].is_known = true;
}

struct maybe_u64 output_bytes(const struct output *o, uint32_t rank, enum output_fd fd)
{
    return rank < o->ncounted ? o->bytes[rank][fd] : (struct maybe_u64){0};
}

void output_use_dollars(struct output *o, const char *role)
{
    o->role = role;
}

static void maybe_finish(struct output *o)
{
    if (--o->nopen > 0)
        return;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        dedupe_fini(&o->outlets[i].held);
    free(o->bytes);
    free(o);
}

static void on_sink_closed(void *ctx)
{
    const struct outlet *outlet = ctx;
    maybe_finish(outlet->output);
}

void output_close(struct output *o)
{
    o->nopen++; /* this call */
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        if (o->target[i] == &o->outlets[i])
            sink_close(&o->outlets[i].sink, on_sink_closed);
    maybe_finish(o);
}

/* Writes held lines whose time has come, or all. */
static void write_held(struct outlet *outlet, bool is_all, uint64_t now_ms)
{
    const struct dedupe_line *line;
    while ((line = is_all ? dedupe_first(&outlet->held)
                          : dedupe_due(&outlet->held, outlet->output->nshown, now_ms))
           != NULL) {
        if (!outlet->sink.is_dead) {
            if (turns_take(&outlet->turns, &outlet->several, true, now_ms))
                buf_addc(&outlet->sink.pending, '\n');
            dedupe_line_format(line, &outlet->sink.pending);
        }
        dedupe_drop(&outlet->held);
    }
}

void output_note(struct output *o, const char *p, size_t n)
{
    struct outlet *outlet = o->target[OUTPUT_ERR];
    if (outlet->sink.is_dead || outlet->sink.pending.len > 2 * SINK_FULL_BYTES)
        return;
    write_held(outlet, true, now_ms());
    if (outlet->turns.is_open)
        buf_addc(&outlet->sink.pending, '\n');
    outlet->turns.is_open = false;
    buf_add(&outlet->sink.pending, p, n);
    if (!outlet->sink.is_waiting)
        sink_flush(&outlet->sink);
}

bool output_is_full(const struct output *o)
{
    if (o->events.is_full && o->events.is_full(o->events.ctx))
        return true;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        if (o->outlets[i].sink.pending.len >= SINK_FULL_BYTES)
            return true;
    return false;
}

size_t output_drop(struct output *o)
{
    size_t lost = 0;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        lost += sink_drop(&o->outlets[i].sink);
    return lost;
}

/* ---- streams ---- */

/* Local time of day; "" if there is none. */
static void time_format(char *text, size_t size)
{
    uint64_t ms = wall_ms();
    time_t seconds = (time_t)(ms / 1000);
    struct tm local;
    *text = '\0';
    if (localtime_r(&seconds, &local))
        snprintf(text, size, "%02d:%02d:%02d.%03u", local.tm_hour, local.tm_min, local.tm_sec,
                 (unsigned)(ms % 1000));
}

static void prefix_make(struct output_stream *s)
{
    char now[40] = "";
    if (prefix_has_time(s->style->prefix))
        time_format(now, sizeof now);
    buf_reset(&s->prefix);
    const struct prefix_fields fields = {s->rank, s->local_rank,
                                         s->host ? s->host : s->style->host, now,
                                         s->style->has_colour && s->outlet->is_terminal};
    if (s->output->role)
        prefix_dollar_format(s->style->prefix, &fields, s->output->role, &s->prefix);
    else
        prefix_format(s->style->prefix, &fields, &s->prefix);
}

struct output_stream *output_stream_new(struct output *o, enum output_fd fd, uint32_t rank,
                                        uint32_t local_rank, struct log_file *log,
                                        bool keep_tail)
{
    struct output_stream *s = mem_alloc(1, sizeof *s);
    s->outlet = o->target[fd];
    turn_init(&s->turn, rank);
    line_init(&s->line);
    line_init(&s->whole);
    s->log = log;
    s->keep_tail = keep_tail;
    tail_init(&s->tail);
    s->output = o;
    o->nstreams++;
    s->style = &o->style;
    s->rank = rank;
    s->local_rank = local_rank;
    s->fd = fd;
    buf_init(&s->prefix, 0);
    if (o->style.prefix)
        prefix_make(s);
    if (o->is_counting)
        begin_count(o, rank, fd);
    return s;
}

/* Whole lines, one by one where they may be held, or a part of one. */
static void emit(void *ctx, const char *p, size_t n)
{
    struct output_stream *s = ctx;
    struct turns *turns = &s->outlet->turns;
    s->is_new = true;
    if (s->outlet->sink.is_dead)
        return;
    bool ends_line = p[n - 1] == '\n' || p[n - 1] == '\r';
    /* the "\n" of a "\r\n" whose first half was shown already */
    bool goes_on = turns_goes_on(turns, &s->turn) || (s->has_cr && *p == '\n');
    if (s->style->is_deduped && !goes_on) {
        if (p[n - 1] == '\n') {
            dedupe_add(&s->outlet->held, &s->source, buf_str(&s->prefix), p, n, s->now_ms);
            write_held(s->outlet, false, s->now_ms);
            s->has_cr = false;
            return;
        }
        write_held(s->outlet, true, s->now_ms);
    }
    if (turns_take(turns, &s->turn, ends_line, s->now_ms))
        buf_addc(&s->outlet->sink.pending, '\n');
    s->has_cr = p[n - 1] == '\r';
    if (s->style->prefix)
        line_add_prefixed(&s->outlet->sink.pending,
                          (struct str){buf_str(&s->prefix), s->prefix.len}, goes_on, p, n);
    else
        buf_add(&s->outlet->sink.pending, p, n);
}

/* Prefixed unfinished last lines get a newline, so that the next worker's line starts at the
 * left. */
static void end_line(struct output_stream *s)
{
    struct turns *turns = &s->outlet->turns;
    if (!s->style->prefix || s->outlet->sink.is_dead
        || !(turns_goes_on(turns, &s->turn) || (s->has_cr && s->is_new)))
        return;
    buf_addc(&s->outlet->sink.pending, '\n');
    turns->is_open = false;
}

void output_stream_set_host(struct output_stream *s, const char *host)
{
    free(s->host);
    s->host = mem_strdup(host);
    if (s->style->prefix)
        prefix_make(s);
}

void output_stream_hide(struct output_stream *s)
{
    s->is_hidden = true;
}

void output_stream_bare(struct output_stream *s)
{
    s->style = &s->output->bare;
    buf_reset(&s->prefix);
}

void output_stream_filter(struct output_stream *s, struct log_file *file, const char *words)
{
    s->filter = file;
    s->words = words;
}

static void filter_line(void *ctx, const char *p, size_t n)
{
    struct output_stream *s = ctx;
    if (!line_words_match(s->words, p, n))
        return;
    struct buf line;
    buf_init(&line, 0);
    buf_add(&line, buf_str(&s->prefix), s->prefix.len);
    buf_add(&line, p, n);
    if (p[n - 1] != '\n')
        buf_addc(&line, '\n');
    log_file_write(s->filter, buf_str(&line), line.len);
    buf_fini(&line);
}

/* The time of what is about to be written. */
static void stamp(struct output_stream *s)
{
    s->now_ms = now_ms();
    if (s->style->prefix && prefix_has_time(s->style->prefix))
        prefix_make(s);
}

void output_stream_write(struct output_stream *s, const char *p, size_t n)
{
    if (s->output->is_counting)
        s->output->bytes[s->rank][s->fd].value += n;
    if (s->log)
        log_file_write(s->log, p, n);
    if (s->keep_tail)
        tail_add(&s->tail, p, n);
    if (s->is_hidden)
        return;
    if (s->output->events.relay) {
        s->output->events.relay(s->output->events.ctx, s->rank, s->fd, p, n);
        return;
    }
    bool had_part = s->line.part.len > 0;
    s->is_new = false;
    stamp(s);
    if (s->filter)
        line_feed(&s->whole, p, n, true, LINE_MAX_BYTES, filter_line, s);
    line_feed(&s->line, p, n, s->style->is_deduped, LINE_MAX_BYTES, emit, s);
    write_held(s->outlet, false, s->now_ms);
    turns_wait(&s->outlet->turns, &s->turn, s->line.part.len > 0, s->is_new || !had_part, n,
               s->now_ms);
    if (!s->outlet->sink.is_waiting && s->outlet->sink.pending.len)
        sink_flush(&s->outlet->sink);
}

/* The last stream has ended: nothing can join any more. */
static void end_held(struct outlet *outlet)
{
    write_held(outlet, true, now_ms());
    if (!outlet->sink.is_waiting && outlet->sink.pending.len)
        sink_flush(&outlet->sink);
}

void output_stream_end(struct output_stream *s)
{
    if (s->output->events.relay && !s->is_hidden)
        s->output->events.relay(s->output->events.ctx, s->rank, s->fd, NULL, 0);
    s->is_new = false;
    stamp(s);
    line_flush(&s->line, emit, s);
    if (s->filter)
        line_flush(&s->whole, filter_line, s);
    end_line(s);
    turns_leave(&s->outlet->turns, &s->turn);
    if (--s->output->nstreams == 0)
        for (int i = 0; i < OUTPUT_FD_COUNT; i++)
            end_held(&s->output->outlets[i]);
    if (!s->outlet->sink.is_waiting && s->outlet->sink.pending.len)
        sink_flush(&s->outlet->sink);
    log_file_close(s->log);
    line_fini(&s->line);
    line_fini(&s->whole);
    tail_fini(&s->tail);
    buf_fini(&s->prefix);
    free(s->host);
    free(s);
}

/* ---- unfinished lines ---- */

void output_expect(struct output *o, uint32_t nworkers)
{
    o->nshown = nworkers;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        o->outlets[i].turns.is_shared = nworkers != 1;
}

/* What could not be taken anyway need not be shown. */
static bool can_show(const struct outlet *outlet)
{
    return outlet->turns.waiting.next && !outlet->sink.is_dead && !outlet->sink.is_waiting;
}

uint64_t output_deadline(const struct output *o)
{
    uint64_t soonest = UINT64_MAX;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++) {
        if (!can_show(&o->outlets[i]))
            continue;
        uint64_t unfinished = turns_deadline(&o->outlets[i].turns),
                 held = dedupe_deadline(&o->outlets[i].held);
        soonest = unfinished < soonest ? unfinished : soonest;
        soonest = held < soonest ? held : soonest;
    }
    return soonest;
}

static void show(struct output_stream *s)
{
    stamp(s);
    line_flush(&s->line, emit, s);
    turns_wait(&s->outlet->turns, &s->turn, false, false, 0, s->now_ms);
    sink_flush(&s->outlet->sink);
}

void output_tick(struct output *o, uint64_t now_ms)
{
    for (int i = 0; i < OUTPUT_FD_COUNT; i++) {
        struct turn *due;
        while (can_show(&o->outlets[i])
               && (due = turns_due(&o->outlets[i].turns, now_ms)) != NULL)
            show(list_entry(&due->link, struct output_stream, turn.link));
        if (!can_show(&o->outlets[i]))
            continue;
        write_held(&o->outlets[i], false, now_ms);
        if (o->outlets[i].sink.pending.len)
            sink_flush(&o->outlets[i].sink);
    }
}

const char *output_stream_tail(struct output_stream *s)
{
    return tail_text(&s->tail);
}

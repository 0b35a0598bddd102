#include "launcher/io/output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/dedupe.h"
#include "launcher/core/line_words.h"
#include "launcher/core/prefix.h"
#include "launcher/core/turns.h"

enum {
    LINE_MAX_BYTES = 64 * 1024,   /* of one line kept before it is passed on in parts */
    SINK_FULL_BYTES = 256 * 1024, /* waiting for a reader before workers are no longer read */
    TAIL_LINES = 10,
    TAIL_BYTES = 2048,
};

/* How to write without ever blocking. */
enum sink_kind {
    SINK_FILE,   /* a regular file or device: does not block for long */
    SINK_POLLED, /* pipe or terminal opened once more, non-blocking: our flags do not leak to
                    who shares it */
    SINK_SOCKET, /* MSG_DONTWAIT */
    SINK_CAREFUL /* cannot be opened again: write only what poll promises to fit */
};

struct sink {
    struct output *output;
    int fd;
    enum sink_kind kind;
    bool is_own_fd, is_waiting, is_dead, is_terminal;
    struct buf pending;
    struct turns turns;
    struct dedupe held;
    struct turn several; /* whose the lines are that were held */
    uv_poll_t poll;
};

struct output {
    struct output_events events;
    struct output_style style, bare; /* bare: the same without a prefix */
    const char *role;                /* the prefix is torchrun's; NULL = it is not */
    uint32_t nshown, nstreams; /* workers that are shown, 0 = unknown; streams that are open */
    struct sink sinks[OUTPUT_FD_COUNT];
    struct sink *target[OUTPUT_FD_COUNT]; /* both the same after 2>&1: one queue, whole lines */
    int nopen;                            /* poll handles */
    bool is_blocked;
};

struct output_stream {
    struct output *output;
    struct sink *sink;
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
    struct buf tail;
};

/* ---- sinks ---- */

static void sink_open(struct sink *sink, uv_loop_t *loop, int fd)
{
    struct stat st;
    sink->fd = fd;
    sink->kind = SINK_FILE;
    buf_init(&sink->pending, 0);
    if (fstat(fd, &st) < 0) {
        sink->is_dead = true;
        return;
    }
    if (S_ISSOCK(st.st_mode)) {
        sink->kind = SINK_SOCKET;
    } else if (S_ISFIFO(st.st_mode) || isatty(fd)) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        sink->kind = again >= 0 ? SINK_POLLED : SINK_CAREFUL;
        sink->is_own_fd = again >= 0;
        sink->fd = again >= 0 ? again : fd;
    }
    if (sink->kind == SINK_FILE)
        return;
    int flags = fcntl(sink->fd, F_GETFL);
    if (uv_poll_init(loop, &sink->poll, sink->fd) < 0) {
        sink->kind = SINK_FILE;
        return;
    }
    if (!sink->is_own_fd)
        fcntl(fd, F_SETFL, flags); /* libuv made it non-blocking for all who share it */
    sink->poll.data = sink;
    sink->output->nopen++;
}

static ssize_t sink_try(struct sink *sink, const char *p, size_t n)
{
    if (sink->kind == SINK_SOCKET)
        return send(sink->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sink->kind == SINK_CAREFUL) {
        struct pollfd ready = {sink->fd, POLLOUT, 0};
        if (poll(&ready, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        n = n < PIPE_BUF ? n : PIPE_BUF;
    }
    return write(sink->fd, p, n);
}

static void update_blocked(struct output *o)
{
    bool is_blocked = false;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        is_blocked = is_blocked || o->sinks[i].is_waiting;
    if (is_blocked == o->is_blocked)
        return;
    o->is_blocked = is_blocked;
    o->events.on_blocked(o->events.ctx, is_blocked);
}

static void sink_flush(struct sink *sink);

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct sink *sink = poll->data;
    sink_flush(sink);
}

static void sink_wait(struct sink *sink, bool is_waiting)
{
    if (sink->is_waiting == is_waiting)
        return;
    sink->is_waiting = is_waiting;
    if (is_waiting)
        uv_poll_start(&sink->poll, UV_WRITABLE, on_writable);
    else
        uv_poll_stop(&sink->poll);
    update_blocked(sink->output);
}

static void sink_die(struct sink *sink)
{
    sink->is_dead = true;
    buf_reset(&sink->pending);
    if (sink == &sink->output->sinks[OUTPUT_OUT])
        sink->output->events.on_reader_gone(sink->output->events.ctx);
}

static void sink_flush(struct sink *sink)
{
    size_t done = 0;
    while (done < sink->pending.len) {
        ssize_t n = sink_try(sink, sink->pending.data + done, sink->pending.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        done += (size_t)n;
    }
    int why = errno;
    bool is_left = done < sink->pending.len;
    buf_consume(&sink->pending, done);
    if (is_left && !(sink->kind != SINK_FILE && why == EAGAIN)) {
        sink_die(sink); /* first: the message may want to go to this very sink */
        if (why != EPIPE && why != ECONNRESET && why != EIO) /* EIO: a closed terminal */
            log_error("output", "cannot write the workers' output: %s", strerror(why));
        is_left = false;
    }
    if (sink->kind != SINK_FILE)
        sink_wait(sink, is_left);
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
        o->sinks[i].output = o;
        dedupe_init(&o->sinks[i].held);
        turn_init(&o->sinks[i].several, UINT32_MAX);
        o->target[i] = &o->sinks[is_second ? 0 : i];
        if (is_second)
            continue;
        sink_open(&o->sinks[i], loop, fds[i]);
        o->sinks[i].is_terminal = isatty(fds[i]) != 0;
        enum turns_cut plain = o->sinks[i].is_terminal ? TURNS_CUT_RANKS : TURNS_CUT_NEVER;
        turns_init(&o->sinks[i].turns, style->prefix ? TURNS_CUT_STREAMS : plain, true);
    }
    return o;
}

void output_use_dollars(struct output *o, const char *role)
{
    o->role = role;
}

static void maybe_finish(struct output *o)
{
    if (o->nopen > 0)
        return;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++) {
        if (o->sinks[i].is_own_fd)
            close(o->sinks[i].fd);
        buf_fini(&o->sinks[i].pending);
        dedupe_fini(&o->sinks[i].held);
    }
    free(o);
}

static void on_closed(uv_handle_t *handle)
{
    struct sink *sink = handle->data;
    sink->output->nopen--;
    maybe_finish(sink->output);
}

void output_close(struct output *o)
{
    int nopen = o->nopen;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        if (o->sinks[i].poll.data)
            uv_close((uv_handle_t *)&o->sinks[i].poll, on_closed);
    if (nopen == 0)
        maybe_finish(o);
}

/* Writes held lines whose time has come, or all. */
static void write_held(struct sink *sink, bool is_all, uint64_t now_ms)
{
    const struct dedupe_line *line;
    while ((line = is_all ? dedupe_first(&sink->held)
                          : dedupe_due(&sink->held, sink->output->nshown, now_ms))
           != NULL) {
        if (!sink->is_dead) {
            if (turns_take(&sink->turns, &sink->several, true, now_ms))
                buf_addc(&sink->pending, '\n');
            dedupe_line_format(line, &sink->pending);
        }
        dedupe_drop(&sink->held);
    }
}

void output_note(struct output *o, const char *p, size_t n)
{
    struct sink *sink = o->target[OUTPUT_ERR];
    if (sink->is_dead || sink->pending.len > 2 * SINK_FULL_BYTES)
        return;
    write_held(sink, true, now_ms());
    if (sink->turns.is_open)
        buf_addc(&sink->pending, '\n');
    sink->turns.is_open = false;
    buf_add(&sink->pending, p, n);
    if (!sink->is_waiting)
        sink_flush(sink);
}

bool output_is_full(const struct output *o)
{
    if (o->events.is_full && o->events.is_full(o->events.ctx))
        return true;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        if (o->sinks[i].pending.len >= SINK_FULL_BYTES)
            return true;
    return false;
}

size_t output_drop(struct output *o)
{
    size_t lost = 0;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++) {
        lost += o->sinks[i].pending.len;
        buf_reset(&o->sinks[i].pending);
        if (o->sinks[i].is_waiting)
            sink_wait(&o->sinks[i], false);
    }
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
                                         s->style->has_colour && s->sink->is_terminal};
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
    s->sink = o->target[fd];
    turn_init(&s->turn, rank);
    line_init(&s->line);
    line_init(&s->whole);
    s->log = log;
    s->keep_tail = keep_tail;
    buf_init(&s->tail, 0);
    s->output = o;
    o->nstreams++;
    s->style = &o->style;
    s->rank = rank;
    s->local_rank = local_rank;
    s->fd = fd;
    buf_init(&s->prefix, 0);
    if (o->style.prefix)
        prefix_make(s);
    return s;
}

static void emit(void *ctx, const char *p, size_t n)
{
    struct output_stream *s = ctx;
    struct turns *turns = &s->sink->turns;
    s->is_new = true;
    if (s->sink->is_dead)
        return;
    bool ends_line = p[n - 1] == '\n' || p[n - 1] == '\r';
    /* the "\n" of a "\r\n" whose first half was shown already */
    bool goes_on = turns_goes_on(turns, &s->turn) || (s->has_cr && n == 1 && *p == '\n');
    if (s->style->is_deduped && !goes_on) {
        if (p[n - 1] == '\n') {
            dedupe_add(&s->sink->held, &s->source, buf_str(&s->prefix), p, n, s->now_ms);
            s->has_cr = false;
            return;
        }
        write_held(s->sink, true, s->now_ms);
    }
    if (turns_take(turns, &s->turn, ends_line, s->now_ms))
        buf_addc(&s->sink->pending, '\n');
    if (s->style->prefix && !goes_on)
        buf_add(&s->sink->pending, buf_str(&s->prefix), s->prefix.len);
    s->has_cr = p[n - 1] == '\r';
    buf_add(&s->sink->pending, p, n);
}

/* Prefixed unfinished last lines get a newline, so that the next worker's line starts at the
 * left. */
static void end_line(struct output_stream *s)
{
    struct turns *turns = &s->sink->turns;
    if (!s->style->prefix || s->sink->is_dead
        || !(turns_goes_on(turns, &s->turn) || (s->has_cr && s->is_new)))
        return;
    buf_addc(&s->sink->pending, '\n');
    turns->is_open = false;
}

static void tail_add(struct output_stream *s, const char *p, size_t n)
{
    if (n > TAIL_BYTES) {
        p += n - TAIL_BYTES;
        n = TAIL_BYTES;
    }
    if (s->tail.len + n > 2 * TAIL_BYTES)
        buf_consume(&s->tail, s->tail.len + n - 2 * TAIL_BYTES);
    buf_add(&s->tail, p, n);
    for (char *c = s->tail.data + s->tail.len - n; n; c++, n--)
        if (!*c)
            *c = '?'; /* the tail is text */
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
    if (s->log)
        log_file_write(s->log, p, n);
    if (s->keep_tail)
        tail_add(s, p, n);
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
    bool is_single = s->style->prefix || s->style->is_deduped;
    line_feed(&s->line, p, n, is_single, LINE_MAX_BYTES, emit, s);
    write_held(s->sink, false, s->now_ms);
    turns_wait(&s->sink->turns, &s->turn, s->line.part.len > 0, s->is_new || !had_part, n,
               s->now_ms);
    if (!s->sink->is_waiting && s->sink->pending.len)
        sink_flush(s->sink);
}

/* The last stream has ended: nothing can join any more. */
static void end_held(struct sink *sink)
{
    write_held(sink, true, now_ms());
    if (!sink->is_waiting && sink->pending.len)
        sink_flush(sink);
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
    turns_leave(&s->sink->turns, &s->turn);
    if (--s->output->nstreams == 0)
        for (int i = 0; i < OUTPUT_FD_COUNT; i++)
            end_held(&s->output->sinks[i]);
    if (!s->sink->is_waiting && s->sink->pending.len)
        sink_flush(s->sink);
    log_file_close(s->log);
    line_fini(&s->line);
    line_fini(&s->whole);
    buf_fini(&s->tail);
    buf_fini(&s->prefix);
    free(s->host);
    free(s);
}

/* ---- unfinished lines ---- */

void output_expect(struct output *o, uint32_t nworkers)
{
    o->nshown = nworkers;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++)
        o->sinks[i].turns.is_shared = nworkers != 1;
}

/* What could not be taken anyway need not be shown. */
static bool can_show(const struct sink *sink)
{
    return sink->turns.waiting.next && !sink->is_dead && !sink->is_waiting;
}

uint64_t output_deadline(const struct output *o)
{
    uint64_t soonest = UINT64_MAX;
    for (int i = 0; i < OUTPUT_FD_COUNT; i++) {
        if (!can_show(&o->sinks[i]))
            continue;
        uint64_t unfinished = turns_deadline(&o->sinks[i].turns),
                 held = dedupe_deadline(&o->sinks[i].held);
        soonest = unfinished < soonest ? unfinished : soonest;
        soonest = held < soonest ? held : soonest;
    }
    return soonest;
}

static void show(struct output_stream *s)
{
    stamp(s);
    line_flush(&s->line, emit, s);
    turns_wait(&s->sink->turns, &s->turn, false, false, 0, s->now_ms);
    sink_flush(s->sink);
}

void output_tick(struct output *o, uint64_t now_ms)
{
    for (int i = 0; i < OUTPUT_FD_COUNT; i++) {
        struct turn *due;
        while (can_show(&o->sinks[i]) && (due = turns_due(&o->sinks[i].turns, now_ms)) != NULL)
            show(list_entry(&due->link, struct output_stream, turn.link));
        if (!can_show(&o->sinks[i]))
            continue;
        write_held(&o->sinks[i], false, now_ms);
        if (o->sinks[i].pending.len)
            sink_flush(&o->sinks[i]);
    }
}

const char *output_stream_tail(struct output_stream *s)
{
    if (!s->tail.len)
        return "";
    const char *end = s->tail.data + s->tail.len, *p = end;
    size_t lines = 0;
    while (p > s->tail.data && (size_t)(end - p) < TAIL_BYTES) {
        if (p[-1] == '\n' && p != end && ++lines == TAIL_LINES)
            break;
        p--;
    }
    return p;
}

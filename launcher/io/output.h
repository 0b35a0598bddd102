/* output.h - what workers print, line by line, to muster's own two streams and to files.
 *
 * A line of one worker is never mixed with a line of another. The two streams stay apart.
 * Writing never blocks the loop: what a slow reader does not take waits in a bounded buffer,
 * and then muster stops reading from the workers.
 */
#ifndef MUSTER_LAUNCHER_IO_OUTPUT_H
#define MUSTER_LAUNCHER_IO_OUTPUT_H

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "launcher/core/event.h"
#include "launcher/core/line.h"
#include "launcher/io/log_file.h"

struct output;

/* One stream (stdout or stderr) of one worker. */
struct output_stream;

enum output_fd { OUTPUT_OUT, OUTPUT_ERR, OUTPUT_FD_COUNT };

struct output_events {
    void *ctx;
    /* Nobody takes our output (true), or it flows again (false). */
    void (*on_blocked)(void *ctx, bool is_blocked);
    /* The reader of standard output has gone. */
    void (*on_reader_gone)(void *ctx);
    /* NULL, or where the workers' bytes go instead of muster's streams; n 0 = the stream has
     * ended. is_full: whether no more should come for now. */
    void (*relay)(void *ctx, uint32_t rank, enum output_fd fd, const char *p, size_t n);
    bool (*is_full)(void *ctx);
};

struct output_style {
    const char *prefix; /* template of core/prefix.h, NULL = none; borrowed */
    const char *host;   /* borrowed */
    bool has_colour;    /* prefixes on a terminal are coloured */
    bool is_deduped;    /* equal lines of several streams are shown once (core/dedupe.h) */
};

/* A sink that is a terminal, or any with a prefix, shows unfinished lines after a short time
 * (core/turns.h); others do if one worker alone writes to them.
 */
struct output *output_new(uv_loop_t *loop, const struct output_style *style,
                          const struct output_events *events);
/* The prefix is one of torchrun's templates (prefix_dollar_format) from now on. role: borrowed.
 * Before the first stream. */
void output_use_dollars(struct output *o, const char *role);
/* Asynchronous: frees itself once its handles are closed. What is still waiting is lost. */
void output_close(struct output *o);

/* How many workers will be shown; several unless told. */
void output_expect(struct output *o, uint32_t nworkers);

/* When output_tick is due; UINT64_MAX = never. Ask again after whatever has happened. */
uint64_t output_deadline(const struct output *o);

/* Shows the unfinished lines whose time has come, at the second call after it. */
void output_tick(struct output *o, uint64_t now_ms);

/* muster's own words, whole lines between those of the workers' stderr. Lost where nobody
 * reads.
 */
void output_note(struct output *o, const char *p, size_t n);

/* log: a file that also gets the bytes, NULL = none; owned by the stream then. keep_tail:
 * remember the last lines. */
struct output_stream *output_stream_new(struct output *o, enum output_fd fd, uint32_t rank,
                                        uint32_t local_rank, struct log_file *log,
                                        bool keep_tail);
/* Whose host a prefix names, if not muster's own; copied. */
void output_stream_set_host(struct output_stream *s, const char *host);
/* From now on its bytes go to its file and its tail alone. */
void output_stream_hide(struct output_stream *s);
/* Its lines are shown without prefix. Before the first write. */
void output_stream_bare(struct output_stream *s);
/* Whole lines that have one of the words go to file too, with their prefix. words: torchrun's
 * "a,b" (",," is a comma); both are borrowed. */
void output_stream_filter(struct output_stream *s, struct log_file *file, const char *words);
/* The stream has ended: its last, unfinished line is written. Frees it. */
void output_stream_end(struct output_stream *s);

/* n bytes of the worker, at least 1; they may end anywhere. Never blocks: see output_is_full.
 */
void output_stream_write(struct output_stream *s, const char *p, size_t n);

/* The last lines, at most 10 and 2 KiB; "" if none. Valid until the next write. */
const char *output_stream_tail(struct output_stream *s);

/* From now on the bytes of each rank's streams are counted. Before the first stream. */
void output_count(struct output *o);
/* How many a rank has written so far, over all its streams of this kind; not known if it never
 * had one, or if nobody counts. */
struct maybe_u64 output_bytes(const struct output *o, uint32_t rank, enum output_fd fd);

/* Whether no more should be read from workers for now. */
bool output_is_full(const struct output *o);

/* Forgets what waits for a reader that does not read. Returns the number of bytes lost. */
size_t output_drop(struct output *o);

#endif

#include "launcher/io/remote_output.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/io/output_style.h"
#include "launcher/io/say.h"

struct remote_output {
    struct output *output;
    struct output_stream *(*streams)[OUTPUT_FD_COUNT]; /* by rank; NULL = not open */
    size_t nranks;
};

static void on_log(void *ctx, enum log_level level, const char *line)
{
    (void)level;
    output_note(ctx, line, strlen(line));
}

struct remote_output *remote_output_new(uv_loop_t *loop, const struct options *opt,
                                        const struct facts *facts,
                                        const struct output_events *events)
{
    struct remote_output *ro = mem_alloc(1, sizeof *ro);
    const struct output_style style = output_style_of(opt, facts);
    ro->output = output_new(loop, &style, events);
    if (opt->metrics)
        output_count(ro->output);
    log_set_sink(on_log, ro->output);
    return ro;
}

static struct output_stream **slot(struct remote_output *ro, uint32_t rank, int stream)
{
    if (rank >= ro->nranks) {
        size_t n = (size_t)rank + 1 > 2 * ro->nranks ? (size_t)rank + 1 : 2 * ro->nranks;
        ro->streams = mem_realloc(ro->streams, n, sizeof *ro->streams);
        memset(ro->streams + ro->nranks, 0, (n - ro->nranks) * sizeof *ro->streams);
        ro->nranks = n;
    }
    return &ro->streams[rank][stream == 2 ? OUTPUT_ERR : OUTPUT_OUT];
}

void remote_output_write(struct remote_output *ro, uint32_t local_rank, const char *host,
                         const struct wire_output *output)
{
    struct output_stream **s = slot(ro, output->rank, output->stream);
    if (!output->bytes.n) {
        if (*s)
            output_stream_end(*s);
        *s = NULL;
        return;
    }
    if (!*s) {
        *s = output_stream_new(ro->output, output->stream == 2 ? OUTPUT_ERR : OUTPUT_OUT,
                               output->rank, local_rank, NULL, false);
        output_stream_set_host(*s, host);
    }
    output_stream_write(*s, output->bytes.p, output->bytes.n);
}

bool remote_output_is_full(const struct remote_output *ro)
{
    return output_is_full(ro->output);
}

struct maybe_u64 remote_output_bytes(const struct remote_output *ro, uint32_t rank,
                                     enum output_fd fd)
{
    return output_bytes(ro->output, rank, fd);
}

void remote_output_drop(struct remote_output *ro)
{
    output_drop(ro->output);
}

uint64_t remote_output_deadline(const struct remote_output *ro)
{
    return output_deadline(ro->output);
}

void remote_output_tick(struct remote_output *ro, uint64_t now_ms)
{
    output_tick(ro->output, now_ms);
}

void remote_output_close(struct remote_output *ro)
{
    for (size_t i = 0; i < ro->nranks; i++)
        for (int fd = 0; fd < OUTPUT_FD_COUNT; fd++)
            if (ro->streams[i][fd])
                output_stream_end(ro->streams[i][fd]);
    log_set_sink(say_log, NULL);
    output_close(ro->output);
    free(ro->streams);
    free(ro);
}

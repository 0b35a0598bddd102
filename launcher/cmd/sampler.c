/* muster sampler usage|gpus: a helper of a node that measures what its workers use, or what
 * their GPUs do (io/sampler.h). A process of its own: a driver that hangs, hangs here. Reads
 * lines of core/sample_ask.h until its input ends; each is answered by one of
 * core/node_sample.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/node_sample.h"
#include "launcher/core/sample_ask.h"
#include "launcher/io/gpu_samples.h"
#include "launcher/io/usage.h"

enum { SUBJECTS_MAX = 4096 /* workers of a node */, UUID_BYTES = 96 };

struct measured {
    size_t n;
    uint32_t local_ranks[SUBJECTS_MAX];
    uint32_t sessions[SUBJECTS_MAX];
    const char *uuids[SUBJECTS_MAX]; /* each in its text; NULL = no GPU */
    char texts[SUBJECTS_MAX][UUID_BYTES];
    struct rank_sample samples[SUBJECTS_MAX];
    struct gpu_sample gpus[SUBJECTS_MAX];
};

/* -1: this is no question. */
static int read_subjects(struct str line, struct measured *m)
{
    struct sample_subject subject;
    int rc;
    m->n = 0;
    while ((rc = sample_ask_next(&line, &subject)) > 0) {
        if (m->n == SUBJECTS_MAX)
            return -1;
        char *text = m->texts[m->n];
        snprintf(text, UUID_BYTES, "%.*s", STR_ARG(subject.uuid));
        m->uuids[m->n] = subject.uuid.p ? text : NULL;
        m->local_ranks[m->n] = subject.local_rank;
        m->sessions[m->n++] = subject.pid;
    }
    return rc;
}

static void measure_usage(struct measured *m)
{
    const struct maybe_u64 at = {true, now_ms()};
    usage_of_sessions(m->sessions, m->n, m->samples);
    for (size_t i = 0; i < m->n; i++)
        m->samples[i].at_ms = at;
}

static void measure_gpus(struct measured *m, const struct gpu_samples *gpus)
{
    const struct maybe_u64 at = {true, now_ms()};
    gpu_samples_take(gpus, m->uuids, m->n, m->gpus);
    for (size_t i = 0; i < m->n; i++) {
        m->samples[i].gpu = m->gpus[i];
        m->samples[i].gpu.at_ms = at;
    }
}

static void tell(const struct measured *m, const char *why)
{
    struct buf text;
    size_t left_out = 0;
    buf_init(&text, 0);
    for (size_t i = 0; i < m->n && !why; i++)
        left_out += node_sample_add_figures(m->local_ranks[i], &m->samples[i], &text);
    node_sample_add_left_out(left_out, &text);
    if (why)
        node_sample_add_why(why, &text);
    puts(buf_str(&text));
    fflush(stdout);
    buf_fini(&text);
}

static void answer(struct measured *m, bool is_of_gpus, struct gpu_samples **gpus)
{
    struct err why;
    memset(m->samples, 0, sizeof m->samples);
    if (!is_of_gpus) {
        measure_usage(m);
    } else if (*gpus || (*gpus = gpu_samples_open(&why)) != NULL) {
        measure_gpus(m, *gpus);
    } else {
        tell(m, why.text);
        return;
    }
    tell(m, NULL);
}

int cmd_sampler(char *const *args)
{
    struct gpu_samples *gpus = NULL;
    struct measured *m = mem_alloc(1, sizeof *m);
    bool is_of_gpus = args[0] && strcmp(args[0], "gpus") == 0;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    prctl(PR_SET_NAME, "muster-sampler");
    while ((n = getline(&line, &cap, stdin)) > 0
           && read_subjects((struct str){line, (size_t)n - 1}, m) == 0)
        answer(m, is_of_gpus, &gpus);
    free(line);
    free(m);
    gpu_samples_close(gpus);
    return 0;
}

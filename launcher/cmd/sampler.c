/* muster sampler: the helper of a node that measures what its workers and their GPUs do
 * (io/sampler.h). A process of its own: a driver that hangs, hangs here. Reads lines of
 * core/sample_ask.h until its input ends; each is answered by two lines of core/node_sample.h:
 * what is quick, then all.
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

enum { SUBJECTS_MAX = 4096 };

struct measured {
    size_t n;
    struct sample_subject subjects[SUBJECTS_MAX];
    uint32_t sessions[SUBJECTS_MAX];
    struct rank_sample samples[SUBJECTS_MAX];
};

static int read_subjects(struct str line, struct measured *m)
{
    int rc = 0;
    for (m->n = 0; m->n < SUBJECTS_MAX; m->n++) {
        rc = sample_ask_next(&line, &m->subjects[m->n]);
        if (rc <= 0)
            break;
        m->sessions[m->n] = m->subjects[m->n].pid;
    }
    return rc < 0 ? -1 : 0;
}

static void measure_usage(struct measured *m)
{
    const struct maybe_u64 at = {true, now_ms()};
    usage_of_sessions(m->sessions, m->n, m->samples);
    for (size_t i = 0; i < m->n; i++)
        m->samples[i].at_ms = at;
}

static bool has_gpu(const struct measured *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->subjects[i].uuid.p)
            return true;
    return false;
}

static void measure_gpus(struct measured *m, const struct gpu_samples *gpus)
{
    for (size_t i = 0; i < m->n; i++) {
        char uuid[128];
        snprintf(uuid, sizeof uuid, "%.*s", STR_ARG(m->subjects[i].uuid));
        if (m->subjects[i].uuid.p)
            gpu_samples_read(gpus, uuid, &m->samples[i].gpu);
    }
}

static void tell(const struct measured *m, const char *why)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < m->n; i++)
        node_sample_add_figures(m->subjects[i].local_rank, &m->samples[i], &text);
    if (why)
        node_sample_add_why(why, &text);
    puts(buf_str(&text));
    fflush(stdout);
    buf_fini(&text);
}

/* NVML takes a moment to open: what is compared with later samples is then measured anew. */
static void answer(struct measured *m, struct gpu_samples **gpus)
{
    struct err why = {0};
    memset(m->samples, 0, sizeof m->samples);
    measure_usage(m);
    tell(m, NULL);
    if (has_gpu(m) && !*gpus && (*gpus = gpu_samples_open(&why)) != NULL)
        measure_usage(m);
    if (*gpus)
        measure_gpus(m, *gpus);
    tell(m, why.code != ERR_OK ? why.text : NULL);
}

int cmd_sampler(void)
{
    struct gpu_samples *gpus = NULL;
    struct measured *m = mem_alloc(1, sizeof *m);
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    prctl(PR_SET_NAME, "muster-sampler");
    while ((n = getline(&line, &cap, stdin)) > 0
           && read_subjects((struct str){line, (size_t)n - 1}, m) == 0)
        answer(m, &gpus);
    free(line);
    free(m);
    gpu_samples_close(gpus);
    return 0;
}

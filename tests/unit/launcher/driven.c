#include "driven.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "launcher/core/event_text.h"

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "driven job: %s: %s\n", what, detail);
    exit(99);
}

static void watch(struct job *job, const char *text, struct effects *fx,
                  void (*fn)(void *ctx, const struct job *job, const struct event *seen,
                             const struct effects *effects),
                  void *ctx)
{
    struct event ev;
    struct event_parts parts = {0};
    struct err e;
    char *line = mem_strdup(text);
    if (event_parse(line, &ev, &parts, &e) < 0)
        die(text, e.text);
    effects_clear(fx);
    job_step(job, &ev, fx);
    if (fn)
        fn(ctx, job, &ev, fx);
    free(line);
}

static void step(struct job *job, const char *text, struct effects *fx)
{
    watch(job, text, fx, NULL, NULL);
}

struct job *driven_job(const struct options *opt, const char *const *lines)
{
    struct job *job = job_new(opt, 1, 0);
    struct effects fx = {0};
    for (const char *const *line = lines; *line; line++)
        step(job, *line, &fx);
    if (!job_done(job))
        die("not done", "the events end before the job");
    effects_fini(&fx);
    return job;
}

void driven_step(struct job *job, const char *line)
{
    struct effects fx = {0};
    step(job, line, &fx);
    effects_fini(&fx);
}

void driven_watch(struct job *job, const char *line,
                  void (*fn)(void *ctx, const struct job *job, const struct event *seen,
                             const struct effects *effects),
                  void *ctx)
{
    struct effects fx = {0};
    watch(job, line, &fx, fn, ctx);
    effects_fini(&fx);
}

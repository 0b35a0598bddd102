/* muster top: what the ranks of a running job and their GPUs are doing. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/cmd/cmd.h"
#include "launcher/cmd/job_pick.h"
#include "launcher/core/top_view.h"
#include "launcher/io/control_client.h"
#include "launcher/io/gpu_samples.h"
#include "launcher/io/screen.h"
#include "launcher/io/usage.h"

enum { LOOK_MS = 1000, ONCE_MS = 500 }; /* between two looks: rates are of that time */

struct top {
    char *path;
    struct gpu_samples *gpus; /* NULL = none, and why */
    struct err why;
    struct top_look before, now;
};

static void look_fini(struct top_look *look)
{
    control_status_fini(&look->status);
    free(look->usages);
    free(look->gpus);
    *look = (struct top_look){0};
}

/* Of the status that look has. */
static void look_closer(const struct top *t, struct top_look *look)
{
    const struct control_status *s = &look->status;
    uint32_t *sessions = mem_alloc(s->nranks, sizeof *sessions);
    look->at_ms = now_ms();
    look->usages = mem_alloc(s->nranks, sizeof *look->usages);
    for (size_t i = 0; i < s->nranks; i++)
        if (s->here.is_known && s->ranks[i].node == s->here.value
            && s->ranks[i].state == RANK_RUNNING)
            sessions[i] = s->ranks[i].pid;
    usage_of_sessions(sessions, s->nranks, look->usages);
    free(sessions);
    if (t->gpus)
        look->gpus = gpu_samples_take(t->gpus, &look->ngpus);
}

static int look_again(struct top *t, struct err *e)
{
    struct top_look next = {0};
    if (control_ask(t->path, CONTROL_STATUS, &next.status, e) < 0)
        return -1;
    look_closer(t, &next);
    look_fini(&t->before);
    t->before = t->now;
    t->now = next;
    return 0;
}

static void render(const struct top *t, bool is_json, unsigned width, unsigned height,
                   struct buf *out)
{
    struct top_view view;
    top_view_init(&view, &t->before, &t->now, t->gpus ? NULL : t->why.text);
    if (is_json)
        top_view_json(&view, out);
    else
        top_view_format(&view, width, height, out);
    top_view_fini(&view);
}

static int show_once(struct top *t, bool is_json, struct err *e)
{
    struct buf text;
    poll(NULL, 0, ONCE_MS);
    if (look_again(t, e) < 0)
        return -1;
    buf_init(&text, 0);
    render(t, is_json, 0, 0, &text);
    fwrite(buf_str(&text), 1, text.len, stdout);
    buf_fini(&text);
    return 0;
}

static void draw(const struct top *t)
{
    unsigned width, height;
    struct buf text;
    screen_size(&width, &height);
    buf_init(&text, 0);
    render(t, false, width, height, &text);
    screen_draw(buf_str(&text), text.len);
    buf_fini(&text);
}

static int show_live(struct top *t, struct err *e)
{
    struct screen screen;
    enum screen_news news = SCREEN_DUE;
    int rc = screen_begin(&screen, e);
    if (rc < 0)
        return rc;
    while (rc == 0 && news != SCREEN_QUIT) {
        if (t->before.usages)
            draw(t);
        news = screen_wait(&screen, t->before.usages ? LOOK_MS : ONCE_MS);
        if (news == SCREEN_DUE && look_again(t, e) < 0 && e->code != ERR_TIMEOUT)
            rc = -1;
    }
    screen_end(&screen);
    return rc;
}

static int show(struct top *t, const struct jobs_options *opt)
{
    struct err e;
    bool is_live =
        !opt->is_once && !opt->is_json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    t->gpus = gpu_samples_open(&t->why);
    look_closer(t, &t->now);
    int rc = is_live ? show_live(t, &e) : show_once(t, opt->is_json, &e);
    if (rc < 0 && is_live && e.code == ERR_UNAVAILABLE) {
        printf("the job has ended\n");
        return 0;
    }
    return rc < 0 ? cmd_fail(&e) : 0;
}

int cmd_top(char *const *args)
{
    struct err e;
    struct jobs_options opt;
    struct top top = {0};
    int status = job_command_begin(JOBS_TOP, COMMAND_top, args, &opt);
    if (status >= 0)
        return status;
    if (job_pick(&opt, CONTROL_STATUS, &top.path, &top.now.status, &e) < 0)
        return cmd_fail(&e);
    status = show(&top, &opt);
    look_fini(&top.before);
    look_fini(&top.now);
    gpu_samples_close(top.gpus);
    free(top.path);
    return status;
}

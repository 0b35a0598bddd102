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
#include "launcher/core/facts.h"
#include "launcher/core/top_view.h"
#include "launcher/io/control_client.h"
#include "launcher/io/screen.h"

enum { LOOK_MS = 1000, ONCE_MS = 500 }; /* between two looks: rates are of that time */

struct top {
    char *path;
    struct control_status before, now;
    bool has_two; /* looks: rates can be told */
    bool has_colour;
};

static int look_again(struct top *t, struct err *e)
{
    struct control_status next;
    if (control_ask(t->path, CONTROL_SAMPLE, &next, e) < 0)
        return -1;
    control_status_fini(&t->before);
    t->before = t->now;
    t->now = next;
    t->has_two = true;
    return 0;
}

static void render(const struct top *t, bool is_json, unsigned width, unsigned height,
                   struct buf *out)
{
    struct top_view view;
    top_view_init(&view, &t->before, &t->now);
    view.has_colour = t->has_colour;
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
        if (t->has_two)
            draw(t);
        news = screen_wait(&screen, t->has_two ? LOOK_MS : ONCE_MS);
        if (news == SCREEN_DUE && look_again(t, e) < 0 && e->code != ERR_TIMEOUT)
            rc = -1;
    }
    screen_end(&screen);
    return rc;
}

static int show(struct top *t, const struct jobs_options *opt)
{
    struct err e;
    const struct facts facts = {.environment = (const char *const *)environ};
    bool is_live = !opt->is_once && !opt->is_json && isatty(STDIN_FILENO)
                   && isatty(STDOUT_FILENO) && !facts_is_dumb_terminal(&facts);
    t->has_colour = is_live && facts_allow_colour(&facts);
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
    if (job_pick(&opt, CONTROL_SAMPLE, &top.path, &top.now, &e) < 0)
        return cmd_fail(&e);
    status = show(&top, &opt);
    control_status_fini(&top.before);
    control_status_fini(&top.now);
    free(top.path);
    return status;
}

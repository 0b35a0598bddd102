/* muster gpus: which GPUs there are, what CUDA calls them here, and which rank would get each.
 * Of a list of hosts: gpus_hosts.c. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "launcher/cmd/answer.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/gpus_render.h"
#include "launcher/io/facts_gather.h"
#include "launcher/io/gpus_json.h"
#include "launcher/io/probe_bus.h"

enum { WIDTH_ELSEWHERE = 100 }; /* into a file or a pipe */

static unsigned width(const struct facts *facts)
{
    struct winsize size;
    bool is_known = facts->is_stdout_tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return is_known && size.ws_col ? size.ws_col : WIDTH_ELSEWHERE;
}

/* Adds the GPUs to facts and makes the view of them; gpus_view_fini is for the caller. 0, or -1
 * with ERR_SYSTEM or ERR_USAGE. */
static int look(const struct options *opt, struct facts *facts, struct gpus_view *view,
                struct err *why, struct err *e)
{
    enum probe_source found;
    *why = (struct err){0};
    if (facts_gather_gpus(facts, true, &found, why, e) < 0)
        return -1;
    const struct gpus_source source = {
        .name = probe_source_name(found),
        .why = why->text,
        .nbus = found == PROBE_NO_GPU ? probe_bus_count("/sys") : -1,
    };
    gpus_view_init(view, opt, facts, &source);
    return 0;
}

int cmd_gpus_json(const struct options *opt, struct facts *facts, struct buf *out, int *status,
                  struct err *e)
{
    struct err why;
    struct gpus_view view;
    if (look(opt, facts, &view, &why, e) < 0)
        return -1;
    gpus_json(&view, out);
    *status = gpus_view_status(&view);
    gpus_view_fini(&view);
    return 0;
}

/* A refusal of what was asked for is said as run says it, behind the table. */
static int print(const struct gpus_view *v)
{
    struct buf text;
    buf_init(&text, 0);
    if (v->opt->is_json)
        gpus_json(v, &text);
    else
        gpus_render(v, width(v->facts), &text);
    fwrite(buf_str(&text), 1, text.len, stdout);
    fflush(stdout);
    buf_fini(&text);
    if (v->has_request && !v->has_choice)
        cmd_fail(&v->refusal);
    return gpus_view_status(v);
}

static int gpus_here(const struct options *opt, struct err *e)
{
    struct err why;
    struct facts facts;
    struct gpus_view view;
    if (facts_gather(FACTS_NO_GPUS, &facts, e) < 0 || look(opt, &facts, &view, &why, e) < 0)
        return cmd_fail(e);
    int status = print(&view);
    gpus_view_fini(&view);
    facts_release(&facts);
    return status;
}

int cmd_gpus(char *const *args)
{
    struct err e;
    struct options opt;
    if (options_parse_command(OPTIONS_GPUS, args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail(&e);
    if (opt.is_help)
        return cmd_help(COMMAND_gpus);
    log_set_level(opt.is_verbose ? LOG_DEBUG : LOG_INFO);
    return options_has_hosts(&opt) ? gpus_of_hosts(&opt, args) : gpus_here(&opt, &e);
}

#include "launcher/core/man_render.h" /* of which this is the part that knows the commands */

#include <stddef.h>
#include <string.h>

void man_render_command(enum command_id id, struct buf *out)
{
    const struct command_page *page = command_page(id);
    struct buf name;
    buf_init(&name, 0);
    buf_addf(&name, "muster-%s", page->name);
    struct man_title title = {
        .name = buf_str(&name),
        .program = "muster",
        .see = id == COMMAND_run       ? "muster muster-explain muster-plan muster-torchrun"
               : id == COMMAND_explain ? "muster"
                                       : "muster muster-explain muster-run",
    };
    man_render(&title, page, out);
    buf_fini(&name);
}

/* The names of the other pages, in alphabetical order. */
static void add_names(struct buf *out)
{
    const char *last = "";
    for (;;) {
        const char *next = NULL;
        for (unsigned i = 0; i < COMMAND_COUNT; i++) {
            const char *name = command_page((enum command_id)i)->name;
            if (strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0))
                next = name;
        }
        if (!next)
            break;
        buf_addf(out, "muster-%s ", next);
        last = next;
    }
    buf_adds(out, "muster-worker");
}

void man_render_overview(struct buf *out)
{
    static const struct command_page page = {
        .name = "muster",
        .summary = "launcher for groups of GPU workers",
        .usage = "[options] program [arguments]\ncommand [arguments]",
        .about = "Starts one process per GPU, gives each its rank, its device and its peers' "
                 "address, keeps them as one group until they end, and says in one screen who "
                 "failed first and why. An argument list that begins with an option is that of "
                 "the command run.",
        .status = "That of the command; of a job, that of the first worker that failed, as "
                  "described for the command run.",
        .examples = {{"muster -n 4 train.py", "four workers, and how each of them ended"},
                     {"muster run --help", "all options of a command"}},
    };
    const struct command_page *commands[COMMAND_COUNT + 1] = {NULL};
    struct buf see;
    buf_init(&see, 0);
    add_names(&see);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        commands[i] = command_page((enum command_id)i);
    const struct man_title title = {
        .name = "muster",
        .program = "muster",
        .see = buf_str(&see),
        .commands = commands,
    };
    man_render(&title, &page, out);
    buf_fini(&see);
}

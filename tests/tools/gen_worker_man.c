/* gen_worker_man.c - prints muster-worker(1) from the worker's own table of options. A program
 * of its own: launcher and worker each have a table of that name. */
#include <stdio.h>

#include "base/buf.h"
#include "launcher/core/man_render.h"
#include "worker/options.h"

static bool worker_option(size_t i, struct option_face *out)
{
    struct option_text text;
    if (!options_text(i, &text))
        return false;
    *out = (struct option_face){.name = text.name,
                                .letter = text.letter,
                                .metavar = *text.meta ? text.meta : NULL,
                                .help = text.help};
    return true;
}

int main(void)
{
    const struct command_page page = {
        .name = "muster-worker",
        .summary = "time and verify collectives between the ranks of a job",
        .usage = "[options]",
        .about = options_about,
        .notes = options_notes,
        .status = options_status,
        .option = worker_option,
        .examples = {{"muster -n 4 muster-worker", "four ranks"},
                     {"muster run muster-worker -b 8 -e 8G -f 2",
                      "one rank per visible GPU, nccl-tests' letters"}},
    };
    const struct man_title title = {
        .name = "muster-worker",
        .program = "muster-worker",
        .see = "muster muster-run",
    };
    struct buf text;
    buf_init(&text, 0);
    man_render(&title, &page, &text);
    fputs(buf_str(&text), stdout);
    buf_fini(&text);
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}

/* man_render.h - man pages in mdoc(7), made of the tables that parsing and --help read. Pure.
 *
 * The pages stand in share/man, written by the target `docs`; a lint test compares them.
 */
#ifndef MUSTER_LAUNCHER_CORE_MAN_RENDER_H
#define MUSTER_LAUNCHER_CORE_MAN_RENDER_H

#include "launcher/core/command_page.h"

/* Whose page it is. */
struct man_title {
    const char *name;    /* "muster-run" */
    const char *program; /* "muster": what the usage lines begin with */
    const char *see;     /* the names of other pages, in their order, between blanks */
    const struct command_page *const *commands; /* to be listed, NULL-terminated; NULL = none */
};

/* Appends the page of a command, or of a program that is described as one. */
void man_render(const struct man_title *title, const struct command_page *page,
                struct buf *out);

/* Appends muster-NAME(1); muster(1), which lists the commands. */
void man_render_command(enum command_id id, struct buf *out);
void man_render_overview(struct buf *out);

#endif

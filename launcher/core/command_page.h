/* command_page.h - the commands of muster, each as its readers see it: the one table behind
 * `muster --help`, the words before the options in --help, the man pages and the completions.
 *
 * A command's options stand in tables of their own; a page has the way to them. Pure data.
 */
#ifndef MUSTER_LAUNCHER_CORE_COMMAND_PAGE_H
#define MUSTER_LAUNCHER_CORE_COMMAND_PAGE_H

#include "base/buf.h"
#include "launcher/core/option_face.h"

/* X(name), in the order of `muster --help`. Each has a function cmd_NAME. */
#define COMMAND_TABLE(X)                                                                       \
    X(run)                                                                                     \
    X(check)                                                                                   \
    X(gpus)                                                                                    \
    X(plan)                                                                                    \
    X(doctor)                                                                                  \
    X(ps)                                                                                      \
    X(top)                                                                                     \
    X(logs)                                                                                    \
    X(stack)                                                                                   \
    X(stop)                                                                                    \
    X(torchrun)                                                                                \
    X(store)                                                                                   \
    X(notify)                                                                                  \
    X(explain)                                                                                 \
    X(completion)                                                                              \
    X(version)

enum command_id {
#define X(name) COMMAND_##name,
    COMMAND_TABLE(X)
#undef X
        COMMAND_COUNT
};

struct command_example {
    const char *line, *meaning; /* line NULL: past the last */
};

enum { COMMAND_EXAMPLES = 6 };

/* Text is static. Between `these` it names what is typed. */
struct command_page {
    const char *name, *summary; /* summary: one line of `muster --help` */
    const char *usage;    /* what stands behind the name of the program, one line each way;
                           * [what may be left out] is one thing */
    const char *about;    /* paragraphs, an empty line between two */
    const char *notes;    /* paragraphs behind the options; NULL = none */
    const char *status;   /* paragraphs on the exit status, for the man page; NULL = as usual */
    const char *words;    /* what it takes besides options, between blanks; NULL = nothing */
    bool has_program;     /* its options end at a program */
    bool has_job;         /* runs workers: their environment, the status of the first failure */
    option_faces *option; /* NULL = it has none */
    struct command_example examples[COMMAND_EXAMPLES];
};

const struct command_page *command_page(enum command_id id);

/* Appends the text of `muster NAME --help`: usage, what it does, options, notes. */
void command_page_help(const struct command_page *page, struct buf *out);

#endif

/* store_options.h - the command line of `muster store`: one small table for parsing, --help
 * and all else that names options.
 * As muster's other options: dashes or underscores, --opt=value. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_STORE_OPTIONS_H
#define MUSTER_LAUNCHER_CORE_STORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "launcher/core/option_face.h"

/* Text is borrowed from the arguments or the environment. */
struct store_options {
    const char *host; /* name or numeric address; "all" = every address */
    uint16_t port;    /* 0 = any */
    int ready_fd;     /* where the address is written to; -1 = standard output */
    bool is_port_only, is_open, is_verbose, is_help;
};

/* Fills opt from args (without the name of the command; NULL-terminated) and the environment.
 * 0, or -1 with ERR_USAGE: names the word and what would be right. */
int store_options_parse(char *const *args, const char *const *environment,
                        struct store_options *opt, struct err *e);

/* The i-th option; false past the last. */
bool store_options_face(size_t i, struct option_face *out);

#endif

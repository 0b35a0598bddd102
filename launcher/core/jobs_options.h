/* jobs_options.h - the command lines of the commands that speak to running jobs (ps, top, logs,
 * stack, stop): one small table for parsing, --help and all else that names options. As
 * muster's other options: dashes or underscores, --opt=value. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_JOBS_OPTIONS_H
#define MUSTER_LAUNCHER_CORE_JOBS_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"
#include "launcher/core/option_face.h"

/* Bits: an option may be of several. */
enum jobs_command { JOBS_PS = 1, JOBS_STOP = 2, JOBS_STACK = 4, JOBS_LOGS = 8, JOBS_TOP = 16 };

/* Text is borrowed from the arguments. */
struct jobs_options {
    const char *job;   /* id or pid; NULL = not given */
    const char *ranks; /* a valid rank_set; NULL = all */
    bool is_json, is_kill, is_followed, is_once, is_help;
};

/* Fills opt from args (without the name of the command; NULL-terminated). 0, or -1 with
 * ERR_USAGE: names the word and what would be right. */
int jobs_options_parse(enum jobs_command command, char *const *args, struct jobs_options *opt,
                       struct err *e);

/* The i-th option of a command; false past the last. */
bool jobs_options_face(enum jobs_command command, size_t i, struct option_face *out);

#endif

/* check_options.h - the command line of `muster check`: options of its own, options of `muster
 * run`, which pass, and those of the test, which go to muster-worker.
 *
 * One table for parsing and --help. What the worker takes is the worker's to judge; only what
 * check itself reads is looked at here. Pure.
 */
#ifndef MUSTER_LAUNCHER_CORE_CHECK_OPTIONS_H
#define MUSTER_LAUNCHER_CORE_CHECK_OPTIONS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "launcher/core/option_face.h"
#include "launcher/core/options.h"

enum check_format { CHECK_FORMAT_TABLE, CHECK_FORMAT_NCCL_TESTS };

/* A list of words that ends with NULL; the words are borrowed, the list is owned. */
struct check_words {
    char **items;
    size_t n, cap;
};

/* Appends; word is borrowed. */
void check_words_add(struct check_words *w, const char *word);

/* Text is borrowed from args or the environment. */
struct check_options {
    struct options launch;                 /* of `muster run`; its program is the worker */
    const char *worker;                    /* program; "muster-worker" unless given */
    const char *backend;                   /* NULL = the worker chooses */
    const char *json, *csv, *html, *junit; /* files, - = standard output; NULL = none */
    enum check_format format;
    double min_busbw;              /* GB/s; 0 = not given */
    double warn_below, fail_below; /* of what is expected */
    bool is_bisect, is_strict, is_help;
    struct text_list skip, only; /* ids of preflight rules */
    struct check_words test;     /* words for the worker */
    struct check_words args;     /* launch options, "--", worker, its words */
};

/* Fills opt; free with check_options_fini, after a failure too. args: without the name of the
 * command, NULL-terminated. 0, or -1 with ERR_USAGE: names the word and what would be right. */
int check_options_parse(char *const *args, const char *const *environment,
                        struct check_options *opt, struct err *e);
void check_options_fini(struct check_options *opt);

/* An option_faces: its own, then those of `muster run`. */
bool check_options_face(size_t i, struct option_face *out);

#endif

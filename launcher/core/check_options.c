#include "launcher/core/check_options.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/core/option_name.h"

enum reader { FOR_CHECK, FOR_WORKER };

/* X(id, name, whose, metavariable or NULL, help) */
#define CHECK_OPTIONS(X)                                                                       \
    X(TEST, "test", WORKER, "LIST", "which tests (default allreduce,pairs)")                   \
    X(SIZES, "sizes", WORKER, "LIST",                                                          \
      "message sizes (default 8,1M,64M,256M,1G; host backend 8,64K,1M,16M)")                   \
    X(MIN, "min", WORKER, "SIZE", "smallest size; with --max and --factor or --step")          \
    X(MAX, "max", WORKER, "SIZE", "largest size")                                              \
    X(FACTOR, "factor", WORKER, "N", "next size = size x N (default 2)")                       \
    X(STEP, "step", WORKER, "SIZE", "next size = size + SIZE")                                 \
    X(FULL, "full", WORKER, NULL, "8 to 8G, factor 2")                                         \
    X(ITERS, "iters", WORKER, "N", "timed operations a size (default 20)")                     \
    X(WARMUP, "warmup", WORKER, "N", "operations a size before the clock starts (default 1)")  \
    X(CHECK, "check", WORKER, "N",                                                             \
      "further verified rounds a size; 0 = time only (default 1)")                             \
    X(TYPE, "type", WORKER, "LIST", "element types, or all (default float)")                   \
    X(OP, "op", WORKER, "LIST", "sum, prod, max, min, avg, or all (default sum)")              \
    X(ROOT, "root", WORKER, "RANK", "root of rooted collectives (default 0)")                  \
    X(MIN_BUSBW, "min-busbw", CHECK, "GBS",                                                    \
      "fail below this many GB/s, whatever is expected of the hardware")                       \
    X(WARN_BELOW, "warn-below", CHECK, "SHARE",                                                \
      "warn below this share of what is expected "                                             \
      "(default 0.9)")                                                                         \
    X(FAIL_BELOW, "fail-below", CHECK, "SHARE", "fail below this share (default 0.8)")         \
    X(JSON, "json", CHECK, "FILE", "the whole result as one JSON object; - = standard output") \
    X(CSV, "csv", CHECK, "FILE", "a row a size and placement")                                 \
    X(HTML, "html", CHECK, "FILE", "one page to look at and to send: nothing is loaded")       \
    X(JUNIT, "junit", CHECK, "FILE", "a test case a size, for a CI")                           \
    X(FORMAT, "format", CHECK, "HOW", "of standard output: table (default) or nccl-tests")     \
    X(DEADLINE, "deadline", WORKER, "PHASE=S", "seconds a phase may take; may be repeated")    \
    X(BISECT, "bisect", CHECK, NULL,                                                           \
      "after a failure run again, each time with one NCCL feature off, and say which helped")  \
    X(INJECT, "inject", WORKER, "SPEC", "make a fault, to see it named")                       \
    X(NCCL, "nccl", WORKER, "PATH", "the libnccl to load (default libnccl.so.2)")              \
    X(BACKEND, "backend", CHECK, "NAME",                                                       \
      "nccl or host (default: nccl where a GPU and libnccl "                                   \
      "are)")                                                                                  \
    X(WORKER, "worker", CHECK, "PROGRAM", "in place of muster-worker")                         \
    X(STRICT, "strict", CHECK, NULL, "warnings of the preflight end the check, too")           \
    X(SKIP, "skip", CHECK, "ID", "leave a preflight rule out; may be repeated")                \
    X(ONLY, "only", CHECK, "ID", "only this preflight rule; may be repeated")                  \
    X(HELP, "help", CHECK, NULL, "this text")

enum check_option {
#define X(id, ...) CHECK_OPTION_##id,
    CHECK_OPTIONS(X)
#undef X
        CHECK_OPTION_COUNT
};

static const struct {
    const char *name;
    enum reader reader;
    const char *metavar, *help;
} rows[] = {
#define X(id, name, whose, metavar, help)                                                      \
    [CHECK_OPTION_##id] = {name, FOR_##whose, metavar, help},
    CHECK_OPTIONS(X)
#undef X
};
static_assert(sizeof rows / sizeof rows[0] == CHECK_OPTION_COUNT, "one row an option");

void check_words_add(struct check_words *w, const char *word)
{
    if (w->n + 1 >= w->cap) {
        w->cap = w->cap ? 2 * w->cap : 16;
        w->items = mem_realloc(w->items, w->cap, sizeof *w->items);
    }
    w->items[w->n++] = (char *)(uintptr_t)word;
    w->items[w->n] = NULL;
}

void check_options_fini(struct check_options *opt)
{
    free(opt->test.items);
    free(opt->args.items);
    opt->test = opt->args = (struct check_words){0};
}

/* ---- values ---- */

static int bad(enum check_option id, const char *text, const char *right, struct err *e)
{
    return err_set(e, ERR_USAGE, "--%s: '%.80s' is not %s", rows[id].name, text, right);
}

static int set_number(enum check_option id, const char *text, double most, const char *right,
                      double *out, struct err *e)
{
    char *end = NULL;
    *out = *text >= '0' && *text <= '9' ? strtod(text, &end) : (double)NAN;
    return isfinite(*out) && end && !*end && *out <= most ? 0 : bad(id, text, right, e);
}

static int set_format(const char *text, enum check_format *out, struct err *e)
{
    if (strcmp(text, "table") == 0)
        *out = CHECK_FORMAT_TABLE;
    else if (strcmp(text, "nccl-tests") == 0)
        *out = CHECK_FORMAT_NCCL_TESTS;
    else
        return bad(CHECK_OPTION_FORMAT, text, "table or nccl-tests", e);
    return 0;
}

static int add_text(struct text_list *list, enum check_option id, const char *text,
                    struct err *e)
{
    if (list->n == TEXT_LIST_MAX)
        return err_set(e, ERR_USAGE, "--%s: given more than %d times", rows[id].name,
                       TEXT_LIST_MAX);
    list->items[list->n++] = text;
    return 0;
}

static int set_own(struct check_options *opt, enum check_option id, const char *text,
                   struct err *e)
{
    static const char share[] = "a share from 0 to 1, as in 0.9";
    switch (id) {
    case CHECK_OPTION_MIN_BUSBW:
        return set_number(id, text, 1e9, "a number of GB/s", &opt->min_busbw, e);
    case CHECK_OPTION_WARN_BELOW:
        return set_number(id, text, 1, share, &opt->warn_below, e);
    case CHECK_OPTION_FAIL_BELOW:
        return set_number(id, text, 1, share, &opt->fail_below, e);
    case CHECK_OPTION_JSON:
        opt->json = text;
        return 0;
    case CHECK_OPTION_CSV:
        opt->csv = text;
        return 0;
    case CHECK_OPTION_HTML:
        opt->html = text;
        return 0;
    case CHECK_OPTION_JUNIT:
        opt->junit = text;
        return 0;
    case CHECK_OPTION_FORMAT:
        return set_format(text, &opt->format, e);
    case CHECK_OPTION_BACKEND:
        opt->backend = text;
        return strcmp(text, "nccl") != 0 && strcmp(text, "host") != 0
                   ? bad(id, text, "nccl or host", e)
                   : 0;
    case CHECK_OPTION_WORKER:
        opt->worker = text;
        return 0;
    case CHECK_OPTION_SKIP:
        return add_text(&opt->skip, id, text, e);
    case CHECK_OPTION_ONLY:
        return add_text(&opt->only, id, text, e);
    case CHECK_OPTION_BISECT:
        opt->is_bisect = true;
        return 0;
    case CHECK_OPTION_STRICT:
        opt->is_strict = true;
        return 0;
    case CHECK_OPTION_HELP:
        opt->is_help = true;
        return 0;
    case CHECK_OPTION_TEST:
    case CHECK_OPTION_SIZES:
    case CHECK_OPTION_MIN:
    case CHECK_OPTION_MAX:
    case CHECK_OPTION_FACTOR:
    case CHECK_OPTION_STEP:
    case CHECK_OPTION_FULL:
    case CHECK_OPTION_ITERS:
    case CHECK_OPTION_WARMUP:
    case CHECK_OPTION_CHECK:
    case CHECK_OPTION_TYPE:
    case CHECK_OPTION_OP:
    case CHECK_OPTION_ROOT:
    case CHECK_OPTION_DEADLINE:
    case CHECK_OPTION_INJECT:
    case CHECK_OPTION_NCCL:
    case CHECK_OPTION_COUNT:
        break;
    }
    return 0; /* the worker's to judge */
}

/* ---- words ---- */

static enum check_option find(struct str name)
{
    unsigned i = 0;
    while (i < CHECK_OPTION_COUNT && !option_name_is(name, rows[i].name))
        i++;
    return (enum check_option)i;
}

static void nearer(const char *word, const char *name, const char **best, unsigned *least)
{
    unsigned d = str_distance(word, name);
    if (!*best || d < *least) {
        *best = name;
        *least = d;
    }
}

static int unknown(struct str name, struct err *e)
{
    char word[65];
    const char *best = NULL;
    unsigned least = 0;
    option_name_format(name, word, sizeof word);
    for (unsigned i = 0; i < CHECK_OPTION_COUNT; i++)
        nearer(word, rows[i].name, &best, &least);
    for (unsigned i = 0; i < OPTION_ID_COUNT; i++)
        nearer(word, options_name((enum option_id)i), &best, &least);
    return err_set(e, ERR_USAGE,
                   "--%s: no such option; the nearest is --%s (see muster check --help)", word,
                   best);
}

static int parse_own(char *const **args, enum check_option id, struct check_options *opt,
                     struct err *e)
{
    const char *word = **args, *equals = strchr(word, '='), *text = equals ? equals + 1 : NULL;
    bool has_value = rows[id].metavar != NULL;
    if (!has_value && equals)
        return err_set(e, ERR_USAGE, "--%s takes no value", rows[id].name);
    if (has_value && !text && !(*args)[1])
        return err_set(e, ERR_USAGE, "--%s needs a value: %s", rows[id].name, rows[id].metavar);
    if (has_value && !text)
        text = *++*args;
    if (has_value && !*text)
        return bad(id, text, rows[id].metavar, e);
    if (rows[id].reader == FOR_WORKER || id == CHECK_OPTION_BACKEND) {
        check_words_add(&opt->test, word);
        if (has_value && !equals)
            check_words_add(&opt->test, text);
    }
    return set_own(opt, id, text ? text : "", e);
}

/* An option of `muster run`, with its value. */
static int pass_on(char *const **args, struct check_options *opt, struct err *e)
{
    const char *word = **args;
    int n = options_word_count(word);
    if (!n && word[1] == '-')
        return unknown((struct str){word + 2, strcspn(word + 2, "=")}, e);
    if (!n)
        return err_set(e, ERR_USAGE,
                       "%.20s: no such option (see muster check --help); muster-worker's "
                       "letters come after --",
                       word);
    if (n == 2 && !(*args)[1])
        return err_set(e, ERR_USAGE, "%.40s needs a value (see muster run --help)", word);
    check_words_add(&opt->args, word);
    if (n == 2)
        check_words_add(&opt->args, *++*args);
    return 0;
}

static int parse_word(char *const **args, struct check_options *opt, struct err *e)
{
    const char *word = **args;
    if (word[0] != '-' || !word[1])
        return err_set(e, ERR_USAGE,
                       "'%.80s': muster check starts muster-worker itself; words for it come "
                       "after --",
                       word);
    if (strcmp(word, "-h") == 0)
        opt->is_help = true;
    if (word[1] != '-')
        return pass_on(args, opt, e);
    enum check_option id = find((struct str){word + 2, strcspn(word + 2, "=")});
    return id == CHECK_OPTION_COUNT ? pass_on(args, opt, e) : parse_own(args, id, opt, e);
}

/* What a check cannot do with what a run can. */
static int check_launch(const struct options *launch, struct err *e)
{
    if (launch->rdzv_endpoint)
        return err_set(e, ERR_USAGE,
                       "--rdzv-endpoint: muster check starts its nodes itself; name them with "
                       "--hosts or --hostfile");
    if (launch->max_restarts)
        return err_set(e, ERR_USAGE,
                       "--max-restarts: a check that failed is an answer; it is not repeated");
    return 0;
}

/* Launch options, then what they start. */
static int parse_launch(const char *const *environment, struct check_options *opt,
                        struct err *e)
{
    check_words_add(&opt->args, "--");
    check_words_add(&opt->args, opt->worker);
    for (size_t i = 0; i < opt->test.n; i++)
        check_words_add(&opt->args, opt->test.items[i]);
    if (options_parse(opt->args.items, environment, &opt->launch, e) < 0)
        return -1;
    if (!opt->junit)
        opt->junit = opt->launch.junit; /* MUSTER_JUNIT */
    opt->launch.junit = NULL;
    return check_launch(&opt->launch, e);
}

static bool has_test(const struct check_words *test)
{
    for (size_t i = 0; i < test->n; i++)
        if (strcmp(test->items[i], "--test") == 0 || strncmp(test->items[i], "--test=", 7) == 0)
            return true;
    return false;
}

static bool is_shown(const struct check_words *args)
{
    for (size_t i = 0; i < args->n; i++)
        if (strncmp(args->items[i], "--show", 6) == 0 || strcmp(args->items[i], "-v") == 0
            || strcmp(args->items[i], "--verbose") == 0)
            return true;
    return false;
}

int check_options_parse(char *const *args, const char *const *environment,
                        struct check_options *opt, struct err *e)
{
    *opt =
        (struct check_options){.worker = "muster-worker", .warn_below = 0.9, .fail_below = 0.8};
    options_init(&opt->launch);
    for (; *args && strcmp(*args, "--") != 0; args++)
        if (parse_word(&args, opt, e) < 0)
            return -1;
    for (args += *args != NULL; *args; args++)
        check_words_add(&opt->test, *args);
    if (opt->is_help)
        return 0;
    if (opt->fail_below > opt->warn_below)
        return err_set(e, ERR_USAGE, "--fail-below %g is above --warn-below %g",
                       opt->fail_below, opt->warn_below);
    if (!has_test(&opt->test)) {
        check_words_add(&opt->test, "--test");
        check_words_add(&opt->test, "allreduce,pairs");
    }
    if (!is_shown(&opt->args)) { /* the table of check takes the place of the worker's */
        check_words_add(&opt->args, "--show");
        check_words_add(&opt->args, "2");
    }
    return parse_launch(environment, opt, e);
}

/* ---- for readers ---- */

static bool is_own(const char *name)
{
    for (size_t i = 0; i < CHECK_OPTION_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

bool check_options_face(size_t i, struct option_face *out)
{
    if (i < CHECK_OPTION_COUNT) {
        *out = (struct option_face){.name = rows[i].name,
                                    .letter = i == CHECK_OPTION_HELP ? 'h' : '\0',
                                    .metavar = rows[i].metavar,
                                    .help = rows[i].help,
                                    .offer = option_face_offer(rows[i].metavar)};
        return true;
    }
    i -= CHECK_OPTION_COUNT;
    for (size_t of_run = 0; options_face(OPTIONS_RUN, of_run, out); of_run++)
        if (!is_own(out->name) && i-- == 0)
            return true;
    return false;
}

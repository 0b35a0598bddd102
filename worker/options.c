#include "worker/options.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "worker/collective.h"
#include "worker/pattern.h"
#include "worker/size_text.h"

/* X(name, long, letter, metavariable, help); metavariable "" = a flag. */
#define OPTION_TABLE(X)                                                                        \
    X(TEST, "test", 0, "LIST", "tests, or all (allreduce); the names are below")               \
    X(BACKEND, "backend", 0, "nccl|host", "default: nccl where a GPU and libnccl are")         \
    X(SIZES, "sizes", 0, "LIST", "default 8,1M,64M,256M,1G; host backend 8,64K,1M,16M")        \
    X(MIN, "min", 'b', "SIZE", "smallest size (with --max; powers of two, K M G)")             \
    X(MAX, "max", 'e', "SIZE", "largest size; cut to what the device's memory holds")          \
    X(FACTOR, "factor", 'f', "N", "next size = size x N (default 2)")                          \
    X(STEP, "step", 'i', "SIZE", "next size = size + SIZE")                                    \
    X(FULL, "full", 0, "", "8 to 8G, factor 2 (host backend: to 64M)")                         \
    X(ITERS, "iters", 'n', "N", "timed operations a size (20)")                                \
    X(WARMUP, "warmup", 'w', "N", "operations a size before the first measurement (1)")        \
    X(CHECK, "check", 'c', "N", "further verified rounds a size; 0 = time only (1)")           \
    X(TYPE, "type", 'd', "LIST", "element types, or all (float)")                              \
    X(OP, "op", 'o', "LIST", "sum prod max min avg, or all (sum)")                             \
    X(ROOT, "root", 'r', "RANK", "root of rooted collectives (0)")                             \
    X(AVERAGE, "average", 'a', "0-3", "time of rank 0, mean, min, max of ranks (1)")           \
    X(BLOCKING, "blocking", 'z', "0|1", "wait after every operation (0)")                      \
    X(THREADS, "nthreads", 't', "1", "one process owns one GPU: only 1")                       \
    X(GPUS, "ngpus", 'g', "1", "one process owns one GPU: only 1")                             \
    X(MEMORY, "memory", 0, "nccl|cuda", "ncclMemAlloc (default) or cudaMalloc")                \
    X(VERIFY, "verify", 0, "device|host", "check with kernels (default) or in C")              \
    X(MIN_BUSBW, "min-busbw", 0, "GBS", "fail with 11 if the largest size is slower")          \
    X(EXPECT, "expect", 0, "GBS", "busbw expected of large messages, judged from 256M on")     \
    X(WARN_BELOW, "warn-below", 0, "FRACTION", "of --expect: a warning (0.9)")                 \
    X(FAIL_BELOW, "fail-below", 0, "FRACTION", "of --expect: fail with 11 (0.8)")              \
    X(FORMAT, "format", 0, "table|nccl-tests", "columns of the table")                         \
    X(DIAGNOSE, "diagnose", 0, "", "NCCL without blocking: a hang is aborted on all ranks")    \
    X(JSON, "json", 0, "FILE", "write the result as one JSON object; - = stdout")              \
    X(DEADLINE, "deadline", 0, "PHASE=S", "seconds a phase may take; may be repeated")         \
    X(INJECT, "inject", 0, "SPEC", "make a fault, to see it named (README)")                   \
    X(NCCL, "nccl", 0, "PATH", "the libnccl to load (libnccl.so.2)")                           \
    X(HELP, "help", 'h', "", "this text")                                                      \
    X(PROBE, "probe", 0, "", "print what CUDA and NCCL show here, test nothing")               \
    X(VERSION, "version", 0, "", "the version")

enum option {
#define X(name, text, letter, meta, help) OPTION_##name,
    OPTION_TABLE(X)
#undef X
        OPTION_COUNT
};

static const struct {
    const char *name;
    char letter;
    const char *meta, *help;
} table[] = {
#define X(name, text, letter, meta, help) [OPTION_##name] = {text, letter, meta, help},
    OPTION_TABLE(X)
#undef X
};
static_assert(sizeof table / sizeof table[0] == OPTION_COUNT, "one row an option");

static int bad_value(enum option id, const char *value, struct err *e)
{
    return err_set(e, ERR_USAGE, "--%s takes %s, not \"%s\"", table[id].name, table[id].meta,
                   value);
}

static int parse_number(enum option id, const char *value, uint64_t min, uint64_t max,
                        uint32_t *out, struct err *e)
{
    uint64_t v;
    if (str_parse_u64(str_from(value), min, max, &v) < 0)
        return bad_value(id, value, e);
    *out = (uint32_t)v;
    return 0;
}

static int parse_sizes(struct options *o, const char *value, struct err *e)
{
    struct str rest = str_from(value), part;
    o->nsizes = 0;
    while (str_split(&rest, ',', &part)) {
        char text[32];
        snprintf(text, sizeof text, "%.*s", STR_ARG(part));
        if (o->nsizes == OPTIONS_SIZES_MAX)
            return err_set(e, ERR_USAGE, "--sizes takes at most %d sizes", OPTIONS_SIZES_MAX);
        if (part.n >= sizeof text || size_parse(text, &o->sizes[o->nsizes]) < 0
            || o->sizes[o->nsizes] == 0)
            return err_set(e, ERR_USAGE, "--sizes: \"%.*s\" is no size", STR_ARG(part));
        o->nsizes++;
    }
    return 0;
}

/* LIST of names into a set of flags; "all" sets every one. */
static int parse_names(enum option id, const char *value, bool *set, int count,
                       const char *(*name)(int), struct err *e)
{
    struct str rest = str_from(value), part;
    memset(set, 0, (size_t)count * sizeof *set);
    while (str_split(&rest, ',', &part)) {
        bool found = false;
        for (int i = 0; i < count; i++)
            if (str_eq(part, name(i)) || str_eq(part, "all"))
                found = set[i] = true;
        if (found)
            continue;
        char known[256] = "";
        for (int i = 0; i < count; i++)
            snprintf(known + strlen(known), sizeof known - strlen(known), " %s", name(i));
        return err_set(e, ERR_USAGE, "--%s: \"%.*s\" is unknown; known:%s, all", table[id].name,
                       STR_ARG(part), known);
    }
    return 0;
}

static const char *name_of_type(int i)
{
    return type_name((enum type)i);
}

static const char *name_of_op(int i)
{
    return op_name((enum op)i);
}

/* The tests after the collectives. */
enum extra_test { TEST_PAIRS = COLLECTIVE_COUNT, TEST_LATENCY, TEST_ISOLATE, TEST_COUNT };

static const char *name_of_test(int i)
{
    static const char *const extra[] = {"pairs", "latency", "isolate"};
    return i < COLLECTIVE_COUNT ? collective_name((enum collective)i)
                                : extra[i - COLLECTIVE_COUNT];
}

static int parse_test(struct options *o, const char *value, struct err *e)
{
    bool set[TEST_COUNT];
    if (parse_names(OPTION_TEST, value, set, TEST_COUNT, name_of_test, e) < 0)
        return -1;
    memcpy(o->collectives, set, sizeof o->collectives);
    o->pairs = set[TEST_PAIRS];
    o->latency = set[TEST_LATENCY];
    o->isolate = set[TEST_ISOLATE];
    struct str rest = str_from(value), part;
    for (o->all_tests = false; str_split(&rest, ',', &part);)
        o->all_tests |= str_eq(part, "all");
    return 0;
}

static int parse_deadline(struct options *o, const char *value, struct err *e)
{
    struct str rest = str_from(value), name;
    str_split(&rest, '=', &name);
    int phase = phase_find(name);
    uint64_t ms;
    if (phase < 0 || str_parse_duration_ms(rest, &ms) < 0 || ms == 0)
        return err_set(e, ERR_USAGE,
                       "--deadline takes PHASE=S, not \"%s\"; phases: started cuda_ok uid_seen "
                       "reach init_enter init_done warm bench verify bye",
                       value);
    o->deadline_ms[phase] = ms;
    return 0;
}

static int parse_size_option(enum option id, const char *value, uint64_t *out, struct err *e)
{
    return size_parse(value, out) < 0 || *out == 0 ? bad_value(id, value, e) : 0;
}

static int parse_positive(enum option id, const char *value, double *out, struct err *e)
{
    char *end;
    *out = strtod(value, &end);
    return *end || end == value || !(*out > 0) || isinf(*out) ? bad_value(id, value, e) : 0;
}

static int parse_choice(enum option id, const char *value, const char *a, const char *b,
                        bool *is_b, struct err *e)
{
    *is_b = strcmp(value, b) == 0;
    return *is_b || strcmp(value, a) == 0 ? 0 : bad_value(id, value, e);
}

static int apply(struct options *o, enum option id, const char *value, struct err *e)
{
    uint32_t n = 0;
    bool flag;
    switch (id) {
    case OPTION_TEST:
        return parse_test(o, value, e);
    case OPTION_BACKEND:
        if (parse_choice(id, value, "nccl", "host", &flag, e) < 0)
            return -1;
        o->backend = flag ? BACKEND_HOST : BACKEND_NCCL;
        return 0;
    case OPTION_SIZES:
        return parse_sizes(o, value, e);
    case OPTION_MIN:
        return parse_size_option(id, value, &o->min_bytes, e);
    case OPTION_MAX:
        return parse_size_option(id, value, &o->max_bytes, e);
    case OPTION_STEP:
        return parse_size_option(id, value, &o->step_bytes, e);
    case OPTION_FACTOR:
        if (parse_number(id, value, 1, 1u << 20, &n, e) < 0)
            return -1;
        o->factor = n;
        return 0;
    case OPTION_FULL:
        o->full = true;
        return 0;
    case OPTION_ITERS:
        return parse_number(id, value, 1, 10000000, &o->iters, e);
    case OPTION_WARMUP:
        return parse_number(id, value, 0, 10000000, &o->warmup, e);
    case OPTION_CHECK:
        return parse_number(id, value, 0, 1000000, &o->check, e);
    case OPTION_TYPE:
        return parse_names(id, value, o->types, TYPE_COUNT, name_of_type, e);
    case OPTION_OP:
        return parse_names(id, value, o->ops, OP_COUNT, name_of_op, e);
    case OPTION_ROOT:
        return parse_number(id, value, 0, UINT32_MAX, &o->root, e);
    case OPTION_AVERAGE:
        if (parse_number(id, value, 0, 3, &n, e) < 0)
            return -1;
        o->average = (enum average)n;
        return 0;
    case OPTION_BLOCKING:
        if (parse_number(id, value, 0, 1, &n, e) < 0)
            return -1;
        o->blocking = n == 1;
        return 0;
    case OPTION_THREADS:
    case OPTION_GPUS:
        if (strcmp(value, "1") == 0)
            return 0;
        return err_set(e, ERR_USAGE,
                       "-%c %s: one process owns one GPU; for %s GPUs: muster -n %s "
                       "muster-worker",
                       table[id].letter, value, value, value);
    case OPTION_MEMORY:
        return parse_choice(id, value, "nccl", "cuda", &o->cuda_malloc, e);
    case OPTION_VERIFY:
        return parse_choice(id, value, "device", "host", &o->verify_on_host, e);
    case OPTION_MIN_BUSBW:
        return parse_positive(id, value, &o->min_busbw_gbs, e);
    case OPTION_EXPECT:
        return parse_positive(id, value, &o->expect_gbs, e);
    case OPTION_WARN_BELOW:
        return parse_positive(id, value, &o->warn_below, e);
    case OPTION_FAIL_BELOW:
        return parse_positive(id, value, &o->fail_below, e);
    case OPTION_FORMAT:
        if (parse_choice(id, value, "table", "nccl-tests", &flag, e) < 0)
            return -1;
        o->format = flag ? FORMAT_NCCL_TESTS : FORMAT_TABLE;
        return 0;
    case OPTION_DIAGNOSE:
        o->diagnose = true;
        return 0;
    case OPTION_JSON:
        o->json = value;
        return 0;
    case OPTION_DEADLINE:
        return parse_deadline(o, value, e);
    case OPTION_INJECT:
        return inject_parse(&o->inject, value, e);
    case OPTION_NCCL:
        o->nccl_path = value;
        return 0;
    case OPTION_HELP:
        o->help = true;
        return 0;
    case OPTION_PROBE:
        o->probe = true;
        return 0;
    case OPTION_VERSION:
        o->version = true;
        return 0;
    case OPTION_COUNT:
        break;
    }
    return err_set(e, ERR_INTERNAL, "no option %d", (int)id);
}

static int unknown(const char *name, struct err *e)
{
    unsigned best = 4;
    const char *nearest = NULL;
    for (int i = 0; i < OPTION_COUNT; i++) {
        unsigned d = str_distance(name, table[i].name);
        if (d < best) {
            best = d;
            nearest = table[i].name;
        }
    }
    return nearest
               ? err_set(e, ERR_USAGE, "unknown option --%s; did you mean --%s?", name, nearest)
               : err_set(e, ERR_USAGE, "unknown option --%s; see --help", name);
}

/* The long name of argv's "--name" or "--name=value", with dashes. */
static void long_name(const char *arg, char name[64])
{
    size_t n = strcspn(arg, "=");
    snprintf(name, 64, "%.*s", (int)(n < 63 ? n : 63), arg);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
}

/* Finds the option of arg; *attached = a value in the same word, or NULL. */
static int find_option(const char *arg, const char **attached, struct err *e)
{
    *attached = NULL;
    if (arg[0] == '-' && arg[1] == '-' && arg[2]) {
        char name[64];
        long_name(arg + 2, name);
        const char *equals = strchr(arg, '=');
        *attached = equals ? equals + 1 : NULL;
        for (int i = 0; i < OPTION_COUNT; i++)
            if (strcmp(name, table[i].name) == 0)
                return i;
        return unknown(name, e);
    }
    if (arg[0] == '-' && arg[1]) {
        *attached = arg[2] ? arg + 2 : NULL;
        for (int i = 0; i < OPTION_COUNT; i++)
            if (table[i].letter && arg[1] == table[i].letter)
                return i;
    }
    return err_set(e, ERR_USAGE,
                   arg[0] == '-' ? "unknown option %s; see --help"
                                 : "\"%s\" is not an option; see --help",
                   arg);
}

static int check_together(const struct options *o, struct err *e)
{
    if (o->nsizes && (o->min_bytes || o->max_bytes || o->factor || o->step_bytes || o->full))
        return err_set(e, ERR_USAGE,
                       "--sizes names every size: no --min, --max, --factor, "
                       "--step or --full beside it");
    if (o->factor > 1 && o->step_bytes)
        return err_set(e, ERR_USAGE, "either --factor or --step, not both");
    if (o->min_bytes && o->max_bytes && o->min_bytes > o->max_bytes)
        return err_set(e, ERR_USAGE, "--min is larger than --max");
    if (o->fail_below > o->warn_below)
        return err_set(e, ERR_USAGE, "--fail-below is larger than --warn-below");
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct err *e)
{
    *o = (struct options){
        .iters = 20,
        .warmup = 1,
        .check = 1,
        .average = AVERAGE_MEAN,
        .warn_below = 0.9,
        .fail_below = 0.8,
    };
    o->collectives[COLLECTIVE_ALLREDUCE] = true;
    o->types[TYPE_FLOAT] = true;
    o->ops[OP_SUM] = true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            continue;
        const char *value;
        int id = find_option(argv[i], &value, e);
        if (id < 0)
            return -1;
        bool wants = table[id].meta[0] != '\0';
        if (!wants && value)
            return err_set(e, ERR_USAGE, "--%s takes no value", table[id].name);
        if (wants && !value && i + 1 == argc)
            return err_set(e, ERR_USAGE, "%s needs a value: %s", argv[i], table[id].meta);
        if (wants && !value)
            value = argv[++i];
        if (apply(o, (enum option)id, value ? value : "", e) < 0)
            return -1;
    }
    return check_together(o, e);
}

const char options_about[] = "Times and verifies collectives between all ranks of the job.";

const char options_notes[] =
    "pairs: bandwidth and latency between every two ranks; isolate: all_reduce without each "
    "rank.\n"
    "The host backend (memory and TCP, no GPU) has every test, type and operation.";

const char options_status[] =
    "0 pass, 2 usage, 10 wrong data, 11 too slow, 12 a rank missed a deadline, 13 NCCL,\n14 "
    "CUDA, 15 a collective did not end, 16 not the planned GPU, 17 backend not available.";

bool options_text(size_t i, struct option_text *out)
{
    if (i >= OPTION_COUNT)
        return false;
    *out = (struct option_text){table[i].name, table[i].meta, table[i].help, table[i].letter};
    return true;
}

void options_help(struct buf *out)
{
    buf_addf(out, "usage: muster -n N [launch options] muster-worker [options]\n%s\n\n",
             options_about);
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[64], letter[8] = "    ";
        if (table[i].letter)
            snprintf(letter, sizeof letter, "-%c, ", table[i].letter);
        snprintf(left, sizeof left, "%s--%s %s", letter, table[i].name, table[i].meta);
        buf_addf(out, "  %-26s %s\n", left, table[i].help);
    }
    buf_adds(out, "\nTests:");
    for (int i = 0; i < TEST_COUNT; i++)
        buf_addf(out, " %s", name_of_test(i));
    buf_addf(out, "\n%s\nExit status: %s\n", options_notes, options_status);
}

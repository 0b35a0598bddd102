#include "launcher/core/options.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/compat.h"
#include "launcher/core/notice.h"
#include "launcher/core/placement.h"
#include "launcher/core/prefix.h"
#include "launcher/core/rank_set.h"
#include "launcher/core/restart.h"
#include "launcher/core/wrap.h"

struct row {
    const char *name;
    char letter;
    bool has_env;
    const char *pet;
    enum option_type type;
    size_t offset;
    const char *metavar, *help;
};

static const struct row rows[] = {
#define X(id, name, letter, has_env, pet, type, member, metavar, help)                         \
    [OPTION_##id] = {name,    letter,       has_env,                                           \
                     pet,     VALUE_##type, offsetof(struct options, member),                  \
                     metavar, help},
    OPTION_TABLE(X)
#undef X
};
static_assert(sizeof rows / sizeof rows[0] == OPTION_ID_COUNT, "one row an option");

enum { WORKERS_MAX = 4096, NODES_MAX = 65536 };

static int bad_value(struct err *e, const char *where, const char *text, const char *right)
{
    return err_set(e, ERR_USAGE, "%s: '%s' is not %s", where, text, right);
}

static int set_number(struct options *opt, const struct row *row, const char *where,
                      const char *text, struct err *e)
{
    void *at = (char *)opt + row->offset;
    uint64_t v;
    if (row->type == VALUE_PORT) {
        if (str_parse_u64(str_from(text), 1, UINT16_MAX, &v) < 0)
            return bad_value(e, where, text, "a port from 1 to 65535");
        *(uint16_t *)at = (uint16_t)v;
        return 0;
    }
    uint64_t min = row->type == VALUE_COUNT,
             max = row->type == VALUE_COUNT ? WORKERS_MAX : 1000000;
    if (str_parse_u64(str_from(text), min, max, &v) < 0)
        return bad_value(e, where, text,
                         row->type == VALUE_COUNT ? "a number from 1 to 4096"
                                                  : "a number from 0 to 1000000");
    *(uint32_t *)at = (uint32_t)v;
    return 0;
}

static const char *const nproc_sources[] = {
    [NPROC_GPUS] = "gpu", [NPROC_CPUS] = "cpu", [NPROC_AUTO] = "auto"};

static int set_nproc(struct options *opt, const char *where, const char *text, struct err *e)
{
    uint64_t n = 0;
    for (int i = 0; i <= NPROC_AUTO; i++) {
        if (strcmp(text, nproc_sources[i]) != 0)
            continue;
        opt->nproc = 0;
        opt->nproc_source = (enum nproc_source)i;
        return 0;
    }
    if (str_parse_u64(str_from(text), 1, WORKERS_MAX, &n) < 0)
        return bad_value(e, where, text, "a number from 1 to 4096, gpu, cpu or auto");
    opt->nproc = (uint32_t)n;
    return 0;
}

static const char *const scheduler_envs[] = {[SCHEDULER_ENV_AUTO] = "auto",
                                             [SCHEDULER_ENV_KEEP] = "keep",
                                             [SCHEDULER_ENV_HIDE] = "hide"};

static int set_scheduler_env(enum scheduler_env *at, const char *where, const char *text,
                             struct err *e)
{
    for (int i = 0; i <= SCHEDULER_ENV_HIDE; i++)
        if (strcmp(text, scheduler_envs[i]) == 0) {
            *at = (enum scheduler_env)i;
            return 0;
        }
    return bad_value(e, where, text, "auto, keep or hide");
}

static int set_text(const char **at, const struct row *row, const char *where, const char *text,
                    struct err *e)
{
    if (!*text)
        return err_set(e, ERR_USAGE, "%s: the value is empty; it should be %s", where,
                       row->metavar);
    struct str unknown = prefix_unknown(text);
    if (row->type == VALUE_TEMPLATE && unknown.n)
        return err_set(e, ERR_USAGE, "%s: '%.*s' is not known; known are " PREFIX_NAMES, where,
                       STR_ARG(unknown));
    *at = text;
    return 0;
}

static const char units[] = "KMGT"; /* powers of 1024 */

static int parse_size(struct str s, uint64_t *out)
{
    const char *unit = s.n ? memchr(units, s.p[s.n - 1], sizeof units - 1) : NULL;
    s.n -= unit != NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (str_parse_u64(s, 1, UINT64_MAX >> (shift + 1), out) < 0)
        return -1;
    *out <<= shift;
    return 0;
}

static void size_format(uint64_t size, struct buf *out)
{
    size_t i = 0;
    for (; size && size % 1024 == 0 && i < sizeof units - 1; i++)
        size /= 1024;
    if (size)
        buf_addf(out, "%llu", (unsigned long long)size);
    if (size && i)
        buf_addc(out, units[i - 1]);
}

static bool is_rank(const char *text)
{
    uint64_t rank;
    return strcmp(text, "none") == 0
           || str_parse_u64(str_from(text), 0, UINT32_MAX, &rank) == 0;
}

static int set_wrap(const char **at, const char *where, const char *text, struct err *e)
{
    *at = text;
    if (wrap_check(text, e) == 0)
        return 0;
    return strncmp(where, "--", 2) == 0 ? -1 : err_wrap(e, "%s", where);
}

static bool is_stack_tool(const char *text)
{
    static const char *const names[] = {"auto", "none", "py-spy", "eu-stack", "gdb"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], text) == 0)
            return true;
    return false;
}

static int set_if(bool is_right, const char **at, const char *where, const char *text,
                  const char *right, struct err *e)
{
    if (!is_right)
        return bad_value(e, where, text, right);
    *at = text;
    return 0;
}

static int set_nnodes(uint32_t range[2], const char *where, const char *text, struct err *e)
{
    struct str rest = str_from(text), min, max;
    uint64_t least, most;
    str_split(&rest, ':', &min);
    if (!str_split(&rest, ':', &max))
        max = min;
    if (str_parse_u64(min, 1, NODES_MAX, &least) < 0
        || str_parse_u64(max, 1, NODES_MAX, &most) < 0 || rest.p || least > most)
        return bad_value(e, where, text, "a number of nodes, N or MIN:MAX");
    range[0] = (uint32_t)least;
    range[1] = (uint32_t)most;
    return 0;
}

static int add_text(struct text_list *list, const char *where, const char *text, struct err *e)
{
    if (!*text)
        return err_set(e, ERR_USAGE, "%s: the value is empty", where);
    if (list->n == TEXT_LIST_MAX)
        return err_set(e, ERR_USAGE, "%s may be given %d times, not more", where,
                       TEXT_LIST_MAX);
    list->items[list->n++] = text;
    return 0;
}

static int set_node_rank(int32_t *at, const char *where, const char *text, struct err *e)
{
    uint64_t v;
    if (str_parse_u64(str_from(text), 0, NODES_MAX - 1, &v) < 0)
        return bad_value(e, where, text, "the place of a node: 0, 1, ...");
    *at = (int32_t)v;
    return 0;
}

/* where: how the user spelled it, for messages. */
static int set_value(struct options *opt, const struct row *row, const char *where,
                     const char *text, struct err *e)
{
    void *at = (char *)opt + row->offset;
    switch (row->type) {
    case VALUE_FLAG:
        return str_parse_bool(str_from(text), at) < 0 ? bad_value(e, where, text, "yes or no")
                                                      : 0;
    case VALUE_NPROC:
        return set_nproc(opt, where, text, e);
    case VALUE_COUNT:
    case VALUE_NUMBER:
    case VALUE_PORT:
        return set_number(opt, row, where, text, e);
    case VALUE_DURATION:
        return str_parse_duration_ms(str_from(text), at) < 0
                   ? bad_value(e, where, text, "a time such as 30, 500ms, 2m or 1h")
                   : 0;
    case VALUE_TEXT:
    case VALUE_TEMPLATE:
        return set_text(at, row, where, text, e);
    case VALUE_SIZE:
        return parse_size(str_from(text), at) < 0
                   ? bad_value(e, where, text, "a size such as 4096, 64K, 100M or 2G")
                   : 0;
    case VALUE_RANKS:
        return set_if(rank_set_is_valid(text), at, where, text, "a list of ranks such as 0,2-5",
                      e);
    case VALUE_STREAMS:
        return set_if(stream_map_is_valid(text), at, where, text,
                      "0, 1 (stdout), 2 (stderr) or 3 (both), nor that by local rank, as in "
                      "0:3,12:1",
                      e);
    case VALUE_CODES:
        return set_if(restart_codes_are_valid(text), at, where, text,
                      "a list of exit codes from 1 to 255 such as 2,64-78", e);
    case VALUE_WRAP:
        return set_wrap(at, where, text, e);
    case VALUE_RANK:
        return set_if(is_rank(text), at, where, text, "a rank or none", e);
    case VALUE_INPUT:
        return set_if(is_rank(text) || strcmp(text, "all") == 0, at, where, text,
                      "a rank, all or none", e);
    case VALUE_BINDING:
        if (binding_parse(str_from(text), at) == 0)
            return 0;
        return bad_value(e, where, text,
                         "one of shared, isolated, isolated-virtual, rotated, none");
    case VALUE_DIST:
        return dist_parse(str_from(text), at) < 0 ? bad_value(e, where, text, "block or cyclic")
                                                  : 0;
    case VALUE_FORMAT:
        return gpu_format_parse(str_from(text), at) < 0
                   ? bad_value(e, where, text, "auto, index or uuid")
                   : 0;
    case VALUE_NOTICE: {
        struct notice notice;
        return set_if(notice_parse(text, &notice) == 0, at, where, text,
                      "a signal that can be caught and a time, as in USR1 or USR1:30s", e);
    }
    case VALUE_STACK_TOOL:
        return set_if(is_stack_tool(text), at, where, text,
                      "one of auto, py-spy, eu-stack, gdb, none", e);
    case VALUE_SCHEDULER_ENV:
        return set_scheduler_env(at, where, text, e);
    case VALUE_MPI:
        return mpi_mode_parse(str_from(text), at) < 0
                   ? bad_value(e, where, text, "auto, pmix, pmi or none")
                   : 0;
    case VALUE_COMPAT: {
        unsigned set = 0;
        *(const char **)at = text;
        return compat_parse(where, text, &set, e);
    }
    case VALUE_CPU_BIND: {
        struct cpu_request request;
        if (cpu_request_parse(str_from(text), &request) < 0)
            return bad_value(e, where, text,
                             "one of none, node, socket, exclusive, llc, or list: with CPUs by "
                             "local rank, as in list:0-3;4-7");
        *(const char **)at = text;
        return 0;
    }
    case VALUE_NNODES:
        return set_nnodes(at, where, text, e);
    case VALUE_NODE_RANK:
        return set_node_rank(at, where, text, e);
    case VALUE_LIST:
        return add_text(at, where, text, e);
    }
    return 0;
}

/* "max_restarts" and "max-restarts" are one name. */
static bool name_eq(struct str given, const char *name)
{
    if (given.n != strlen(name))
        return false;
    for (size_t i = 0; i < given.n; i++)
        if (given.p[i] != name[i] && !(given.p[i] == '_' && name[i] == '-'))
            return false;
    return true;
}

static const struct row *find_long(struct str name)
{
    for (size_t i = 0; i < OPTION_ID_COUNT; i++)
        if (name_eq(name, rows[i].name))
            return &rows[i];
    return NULL;
}

static const struct row *find_letter(char letter)
{
    for (size_t i = 0; i < OPTION_ID_COUNT; i++)
        if (rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

static int unknown(struct str name, struct err *e)
{
    char word[65] = "";
    size_t n = name.n < sizeof word - 1 ? name.n : sizeof word - 1;
    for (size_t i = 0; i < n; i++)
        word[i] = name.p[i] == '_' ? '-' : name.p[i];
    const char *best = NULL;
    unsigned least = 0;
    for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
        bool is_prefix = n >= 2 && strncmp(rows[i].name, word, n) == 0;
        unsigned d = is_prefix ? 0 : str_distance(word, rows[i].name);
        if (!best || d < least) {
            best = rows[i].name;
            least = d;
        }
    }
    return err_set(e, ERR_USAGE,
                   "--%.*s%s: no such option; the nearest is --%s (see muster run --help)",
                   (int)n, name.p, n < name.n ? "..." : "", best);
}

static void set_origin(struct options *opt, const struct row *row, enum option_origin origin)
{
    opt->origin[row - rows] = origin;
}

static int parse_long(char *const **args, struct options *opt, struct err *e)
{
    const char *word = **args, *equals = strchr(word, '=');
    struct str name = {word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2)};
    const struct row *row = find_long(name);
    if (!row)
        return unknown(name, e);
    char where[48] = "--";
    strncat(where, row->name, sizeof where - 3);
    set_origin(opt, row, ORIGIN_COMMAND_LINE);
    if (row->type == VALUE_FLAG)
        return set_value(opt, row, where, equals ? equals + 1 : "yes", e);
    if (!equals && !(*args)[1])
        return err_set(e, ERR_USAGE, "%s needs a value: %s", where, row->metavar);
    if (!equals)
        ++*args;
    return set_value(opt, row, where, equals ? equals + 1 : **args, e);
}

/* "-v", "-n4", "-n 4", "-vn 4" */
static int parse_letters(char *const **args, struct options *opt, struct err *e)
{
    for (const char *p = **args + 1; *p; p++) {
        const struct row *row = find_letter(*p);
        char where[3] = {'-', *p, '\0'};
        if (!row)
            return err_set(e, ERR_USAGE, "-%c: no such option (see muster run --help)", *p);
        set_origin(opt, row, ORIGIN_COMMAND_LINE);
        if (row->type == VALUE_FLAG) {
            if (set_value(opt, row, where, "yes", e) < 0)
                return -1;
            continue;
        }
        if (!p[1] && !(*args)[1])
            return err_set(e, ERR_USAGE, "%s needs a value: %s", where, row->metavar);
        if (p[1])
            return set_value(opt, row, where, p + 1, e);
        ++*args;
        return set_value(opt, row, where, **args, e);
    }
    return 0;
}

bool options_env_name(enum option_id id, struct buf *out)
{
    if (!rows[id].has_env)
        return false;
    buf_adds(out, "MUSTER_");
    for (const char *p = rows[id].name; *p; p++)
        buf_addc(out, (char)(*p == '-' ? '_' : *p - 'a' + 'A'));
    return true;
}

static bool is_env_name(const struct row *row, const char *entry, size_t n)
{
    static const char prefix[] = "MUSTER_";
    size_t skip = sizeof prefix - 1;
    if (!row->has_env || n != skip + strlen(row->name) || strncmp(entry, prefix, skip) != 0)
        return false;
    for (size_t i = skip; i < n; i++) {
        char c = row->name[i - skip];
        if (entry[i] != (c == '-' ? '_' : c - 'a' + 'A'))
            return false;
    }
    return true;
}

bool options_is_fallback(const char *entry)
{
    size_t n = strcspn(entry, "=");
    for (size_t i = 0; i < OPTION_ID_COUNT; i++)
        if (is_env_name(&rows[i], entry, n)
            || (rows[i].pet && strlen(rows[i].pet) == n && strncmp(rows[i].pet, entry, n) == 0))
            return true;
    return false;
}

static const char *env_find(const char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *v = environment; v && *v; v++)
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
            return *v + n + 1;
    return NULL;
}

/* For an option that nothing stronger has set: a value that does not count may be anything. */
static int from_variable(struct options *opt, const struct row *row,
                         const char *const *environment, const char *variable,
                         enum option_origin origin, struct err *e)
{
    const char *text = env_find(environment, variable);
    if (opt->origin[row - rows] != ORIGIN_DEFAULT || !text || !*text) /* empty means unset */
        return 0;
    set_origin(opt, row, origin);
    return set_value(opt, row, variable, text, e);
}

int options_set(struct options *opt, enum option_id id, enum option_origin origin,
                const char *where, const char *text, struct err *e)
{
    opt->origin[id] = origin;
    return set_value(opt, &rows[id], where, text, e);
}

int options_parse_environment(const char *const *environment, bool has_pet, struct options *opt,
                              struct err *e)
{
    struct buf name;
    buf_init(&name, 0);
    int rc = 0;
    for (size_t i = 0; i < OPTION_ID_COUNT && rc == 0; i++) {
        buf_reset(&name);
        if (options_env_name((enum option_id)i, &name))
            rc = from_variable(opt, &rows[i], environment, buf_str(&name), ORIGIN_ENVIRONMENT,
                               e);
        if (rc == 0 && has_pet && rows[i].pet)
            rc = from_variable(opt, &rows[i], environment, rows[i].pet, ORIGIN_PET, e);
    }
    buf_fini(&name);
    return rc;
}

static int check_logs(const struct options *opt, struct err *e)
{
    const char *name = opt->redirects ? "redirects" : opt->tee ? "tee" : "log-size";
    if (opt->log_dir || (!opt->tee && !opt->redirects && !opt->log_size))
        return 0;
    return err_set(e, ERR_USAGE, "--%s needs a folder for the files: --log-dir DIR", name);
}

/* Muster starts the nodes itself, or others start them one by one. */
static int check_hosts(const struct options *opt, struct err *e)
{
    const char *only = opt->include ? "include" : opt->exclude ? "exclude" : NULL;
    if (opt->hostfile && opt->hosts)
        return err_set(e, ERR_USAGE,
                       "--hosts and --hostfile name the hosts; one of them is enough");
    if (only && !options_has_hosts(opt))
        return err_set(e, ERR_USAGE, "--%s chooses from a list of hosts: --hosts or --hostfile",
                       only);
    if (options_has_hosts(opt) && opt->rdzv_endpoint)
        return err_set(e, ERR_USAGE,
                       "--rdzv-endpoint is for nodes that are started one by one; those of "
                       "--%s muster starts itself",
                       opt->hosts ? "hosts" : "hostfile");
    return 0;
}

/* Nodes have to find each other. */
static int check_nodes(const struct options *opt, struct err *e)
{
    if (opt->nnodes_max > 1 && !opt->rdzv_endpoint && !options_has_hosts(opt))
        return err_set(e, ERR_USAGE,
                       "--nnodes %u: the nodes meet at --rdzv-endpoint HOST:PORT, the same on "
                       "each of them; or muster starts them: --hostfile FILE",
                       opt->nnodes_max);
    if (opt->node_rank >= 0 && (uint32_t)opt->node_rank >= opt->nnodes_max)
        return err_set(e, ERR_USAGE, "--node-rank %d: of %u node%s the last is %u",
                       opt->node_rank, opt->nnodes_max, opt->nnodes_max == 1 ? "" : "s",
                       opt->nnodes_max - 1);
    return 0;
}

static int check_wrap(const struct options *opt, struct err *e)
{
    if (!opt->wrap_ranks || opt->wrap)
        return 0;
    return err_set(e, ERR_USAGE, "--wrap-ranks needs the words to put first: --wrap TEXT");
}

static int check_command(enum option_command command, const struct options *opt, struct err *e)
{
    switch (command) {
    case OPTIONS_RUN:
        if (opt->is_json)
            return err_set(
                e, ERR_USAGE,
                "--json is for muster plan and muster gpus; a run has no such report");
        break;
    case OPTIONS_PLAN:
        break;
    case OPTIONS_GPUS:
        if (opt->program)
            return err_set(e, ERR_USAGE,
                           "'%s': muster gpus starts nothing and takes options only; who would "
                           "run where says: muster plan [options] %s",
                           opt->program[0], opt->program[0]);
        return 0;
    }
    if (!opt->program)
        return err_set(e, ERR_USAGE, "no program to run; as in: muster %s -n 4 train.py",
                       command == OPTIONS_PLAN ? "plan" : "run");
    return check_hosts(opt, e) < 0 || check_nodes(opt, e) < 0 || check_logs(opt, e) < 0
               ? -1
               : check_wrap(opt, e);
}

int options_parse(char *const *args, const char *const *environment, struct options *opt,
                  struct err *e)
{
    return options_parse_command(OPTIONS_RUN, args, environment, opt, e);
}

void options_init(struct options *opt)
{
    *opt = (struct options){
        .grace_ms = 25000,
        .prefix = "auto",
        .restart_delay_ms = RESTART_DELAY_MS,
        .restart_delay_max_ms = RESTART_DELAY_MAX_MS,
        .nnodes_min = 1,
        .nnodes_max = 1,
        .node_rank = -1,
        .join_timeout_ms = 600000,
        .last_call_ms = 30000,
        .beat_ms = 2000,
        .beats_missed = 5,
    };
}

int options_parse_command(enum option_command command, char *const *args,
                          const char *const *environment, struct options *opt, struct err *e)
{
    options_init(opt);
    opt->is_plan = command == OPTIONS_PLAN;
    for (; *args && **args == '-' && (*args)[1]; args++) {
        if (strcmp(*args, "--") == 0) {
            args++;
            break;
        }
        int rc = (*args)[1] == '-' ? parse_long(&args, opt, e) : parse_letters(&args, opt, e);
        if (rc < 0)
            return -1;
    }
    opt->program = *args ? args : NULL;
    if (!opt->is_help && options_parse_environment(environment, true, opt, e) < 0)
        return -1;
    return opt->is_help ? 0 : check_command(command, opt, e);
}

bool options_has_endpoint(const struct options *opt)
{
    return opt->nnodes_max > 1;
}

bool options_has_hosts(const struct options *opt)
{
    return opt->hosts || opt->hostfile;
}

const char *options_name(enum option_id id)
{
    return rows[id].name;
}

static void duration_format(uint64_t ms, struct buf *out)
{
    if (ms % 1000)
        buf_addf(out, "%llums", (unsigned long long)ms);
    else if (ms)
        buf_addf(out, "%llus", (unsigned long long)(ms / 1000));
}

static void number_format(uint64_t v, bool is_zero_a_value, struct buf *out)
{
    if (v || is_zero_a_value)
        buf_addf(out, "%llu", (unsigned long long)v);
}

void options_value_format(const struct options *opt, enum option_id id, struct buf *out)
{
    const void *at = (const char *)opt + rows[id].offset;
    switch (rows[id].type) {
    case VALUE_FLAG:
        buf_adds(out, *(const bool *)at ? "yes" : "no");
        return;
    case VALUE_NPROC:
        if (!opt->nproc && opt->origin[id] != ORIGIN_DEFAULT)
            buf_adds(out, nproc_sources[opt->nproc_source]);
        number_format(opt->nproc, false, out);
        return;
    case VALUE_COUNT:
        number_format(*(const uint32_t *)at, false, out);
        return;
    case VALUE_NUMBER:
        number_format(*(const uint32_t *)at, true, out);
        return;
    case VALUE_PORT:
        number_format(*(const uint16_t *)at, false, out);
        return;
    case VALUE_DURATION:
        duration_format(*(const uint64_t *)at, out);
        return;
    case VALUE_SIZE:
        size_format(*(const uint64_t *)at, out);
        return;
    case VALUE_COMPAT:
    case VALUE_CPU_BIND:
    case VALUE_NOTICE:
    case VALUE_STACK_TOOL:
    case VALUE_TEXT:
    case VALUE_TEMPLATE:
    case VALUE_RANKS:
    case VALUE_STREAMS:
    case VALUE_CODES:
    case VALUE_WRAP:
    case VALUE_RANK:
    case VALUE_INPUT:
        buf_adds(out, *(const char *const *)at ? *(const char *const *)at : "");
        return;
    case VALUE_SCHEDULER_ENV:
        buf_adds(out, scheduler_envs[*(const enum scheduler_env *)at]);
        return;
    case VALUE_BINDING:
        buf_adds(out, binding_name(*(const enum binding *)at));
        return;
    case VALUE_DIST:
        buf_adds(out, dist_name(*(const enum dist *)at));
        return;
    case VALUE_FORMAT:
        buf_adds(out, gpu_format_name(*(const enum gpu_format *)at));
        return;
    case VALUE_NNODES: {
        const uint32_t *range = at;
        buf_addf(out, range[0] == range[1] ? "%u" : "%u:%u", range[0], range[1]);
        return;
    }
    case VALUE_LIST: {
        const struct text_list *list = at;
        for (uint32_t i = 0; i < list->n; i++)
            buf_addf(out, "%s%s", i ? " " : "", list->items[i]);
        return;
    }
    case VALUE_NODE_RANK:
        if (*(const int32_t *)at >= 0)
            number_format((uint64_t) * (const int32_t *)at, true, out);
        return;
    case VALUE_MPI:
        buf_adds(out, mpi_mode_name(*(const enum mpi_mode *)at));
        return;
    }
}

void options_origin_format(const struct options *opt, enum option_id id, struct buf *out)
{
    switch (opt->origin[id]) {
    case ORIGIN_DEFAULT:
        buf_adds(out, "default");
        return;
    case ORIGIN_PET:
        buf_adds(out, rows[id].pet ? rows[id].pet : "a PET_ variable");
        return;
    case ORIGIN_ENVIRONMENT:
        options_env_name(id, out);
        return;
    case ORIGIN_COMMAND_LINE:
        buf_adds(out, "command line");
        return;
    }
}

static void wrap(struct buf *out, const char *text, size_t indent, size_t width)
{
    size_t column = indent;
    struct str rest = str_from(text), word;
    bool is_first = true;
    while (str_split(&rest, ' ', &word)) {
        if (!is_first && column + 1 + word.n > width) {
            buf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            buf_addc(out, ' ');
            column++;
        }
        buf_add(out, word.p, word.n);
        column += word.n;
        is_first = false;
    }
    buf_addc(out, '\n');
}

static const char *const usages[] = {
    [OPTIONS_RUN] =
        "usage: muster run [options] program [arguments]\n"
        "       muster [options] program [arguments]\n\n"
        "Starts one worker per GPU, serves their rendezvous and ends with the status of the "
        "first\n"
        "worker that failed. A program that ends in .py runs under ${PYTHON:-python3} -u.\n\n",
    [OPTIONS_PLAN] =
        "usage: muster plan [options] program [arguments]\n\n"
        "What `muster run` with the same words would do: each rank's device, CPUs, environment "
        "and files,\n"
        "and where every value came from (-v: also what is passed on unchanged). Starts and "
        "changes nothing;\n"
        "what run would refuse is refused in the same words, with the same status.\n\n",
    [OPTIONS_GPUS] =
        "usage: muster gpus [options]\n\n"
        "The GPUs of this machine, what CUDA calls them under the present environment, and the "
        "rank that\n"
        "each would get from `muster run` with the same options. Status 0; 2 if run would "
        "refuse "
        "the\n"
        "options; 78 if there is no way to know the GPUs.\n\n",
};

/* Which GPUs, for whom, and how it is said. */
static bool is_about_gpus(enum option_id id)
{
    return id <= OPTION_SKIP_UNHEALTHY || id == OPTION_JSON || id == OPTION_HELP;
}
static_assert(OPTION_NPROC == 0, "the options of GPU selection come first in the table");

void options_help(struct buf *out)
{
    options_help_command(OPTIONS_RUN, out);
}

void options_help_command(enum option_command command, struct buf *out)
{
    enum { INDENT = 28, WIDTH = 96 };
    buf_adds(out, usages[command]);
    for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
        const struct row *row = &rows[i];
        if ((command == OPTIONS_GPUS && !is_about_gpus((enum option_id)i))
            || (command == OPTIONS_RUN && i == OPTION_JSON))
            continue;
        struct buf left;
        buf_init(&left, 0);
        if (row->letter)
            buf_addf(&left, "  -%c, ", row->letter);
        else
            buf_adds(&left, "      ");
        buf_addf(&left, "--%s%s%s", row->name, row->metavar ? " " : "",
                 row->metavar ? row->metavar : "");
        buf_addf(out, "%-*s", INDENT, buf_str(&left));
        if (left.len + 1 > INDENT)
            buf_addf(out, "\n%*s", INDENT, "");
        wrap(out, row->help, INDENT, WIDTH);
        buf_fini(&left);
    }
    buf_adds(out,
             "\nEach long option but --binding, --module, --json and --help can also be set in "
             "the environment:\n"
             "MUSTER_MAX_RESTARTS for --max-restarts. The command line wins.\n");
}

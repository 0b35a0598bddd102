#include "launcher/core/option_value.h"

#include <string.h>

#include "base/str.h"
#include "launcher/core/compat.h"
#include "launcher/core/engine_detect.h"
#include "launcher/core/listen_addr.h"
#include "launcher/core/notice.h"
#include "launcher/core/placement.h"
#include "launcher/core/prefix.h"
#include "launcher/core/rank_set.h"
#include "launcher/core/restart.h"
#include "launcher/core/wrap.h"

enum { WORKERS_MAX = 4096, NODES_MAX = 65536 };

static int bad_value(struct err *e, const char *where, const char *text, const char *right)
{
    return err_set(e, ERR_USAGE, "%s: '%s' is not %s", where, text, right);
}

static int set_number(struct options *opt, const struct option_row *row, const char *where,
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

static int set_text(const char **at, const struct option_row *row, const char *where,
                    const char *text, struct err *e)
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
    uint64_t v = 0;
    bool is_auto = strcmp(text, "auto") == 0;
    if (!is_auto && str_parse_u64(str_from(text), 0, NODES_MAX - 1, &v) < 0)
        return bad_value(e, where, text, "the place of a node, 0, 1, ..., or auto");
    *at = is_auto ? NODE_RANK_AUTO : (int32_t)v;
    return 0;
}

int option_value_set(struct options *opt, const struct option_row *row, const char *where,
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
    case VALUE_EVIDENCE:
        *(enum evidence_how *)at =
            strcmp(text, "reach") == 0 ? EVIDENCE_REACHED : EVIDENCE_LOOK;
        return strcmp(text, "reach") == 0 || strcmp(text, "look") == 0
                   ? 0
                   : bad_value(e, where, text, "look or reach");
    case VALUE_MPI:
        return mpi_mode_parse(str_from(text), at) < 0
                   ? bad_value(e, where, text, "auto, pmix, pmi or none")
                   : 0;
    case VALUE_COMPAT: {
        unsigned set = 0;
        *(const char **)at = text;
        return compat_parse(where, text, &set, e);
    }
    case VALUE_LISTEN: {
        struct addr addr;
        if (listen_addr_parse(str_from(text), &addr, e) < 0)
            return err_wrap(e, "%s", where);
        *(const char **)at = text;
        return 0;
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
    case VALUE_ENGINE:
        return engine_start_parse(str_from(text), at) < 0
                   ? bad_value(e, where, text, "auto, ssh, slurm, mpi or manual")
                   : 0;
    case VALUE_LIST:
        return add_text(at, where, text, e);
    }
    return 0;
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

void option_value_format(const struct options *opt, const struct option_row *row, bool is_given,
                         struct buf *out)
{
    const void *at = (const char *)opt + row->offset;
    switch (row->type) {
    case VALUE_FLAG:
        buf_adds(out, *(const bool *)at ? "yes" : "no");
        return;
    case VALUE_NPROC:
        if (!opt->nproc && is_given)
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
    case VALUE_LISTEN:
        buf_adds(out, *(const char *const *)at ? *(const char *const *)at : "");
        return;
    case VALUE_EVIDENCE:
        return; /* never with a job */
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
        else if (*(const int32_t *)at == NODE_RANK_AUTO)
            buf_adds(out, "auto");
        return;
    case VALUE_ENGINE:
        buf_adds(out, engine_start_name(*(const enum engine_start *)at));
        return;
    case VALUE_MPI:
        buf_adds(out, mpi_mode_name(*(const enum mpi_mode *)at));
        return;
    }
}

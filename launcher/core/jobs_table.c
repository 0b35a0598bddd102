#include "launcher/core/jobs_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- the list ---- */

void job_list_add(struct job_list *list, const struct job_row *row)
{
    array_grow(list->rows, list->n, list->cap);
    list->rows[list->n++] = *row;
}

static int order(const void *pa, const void *pb)
{
    const struct job_row *a = pa, *b = pb;
    if (!a->why != !b->why)
        return a->why ? 1 : -1;
    if (a->status.uptime_ms != b->status.uptime_ms)
        return a->status.uptime_ms > b->status.uptime_ms ? -1 : 1;
    return a->status.pid < b->status.pid ? -1 : a->status.pid > b->status.pid;
}

void job_list_sort(struct job_list *list)
{
    if (list->n)
        qsort(list->rows, list->n, sizeof *list->rows, order);
}

void job_list_fini(struct job_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->rows[i].path);
        free(list->rows[i].why);
        control_status_fini(&list->rows[i].status);
    }
    free(list->rows);
    *list = (struct job_list){0};
}

static bool is_meant(const struct job_row *row, const char *word)
{
    uint64_t pid;
    return !word || strcmp(row->status.job_id, word) == 0
           || (str_parse_u64(str_from(word), 1, UINT32_MAX, &pid) == 0
               && pid == row->status.pid);
}

static void add_names(const struct job_list *list, const char *word, struct buf *out)
{
    const char *mark = "";
    for (size_t i = 0; i < list->n; i++)
        if (is_meant(&list->rows[i], word)) {
            buf_addf(out, "%s%s (pid %u)", mark, list->rows[i].status.job_id,
                     (unsigned)list->rows[i].status.pid);
            mark = ", ";
        }
}

const struct job_row *job_list_pick(const struct job_list *list, const char *word,
                                    struct err *e)
{
    const struct job_row *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (is_meant(&list->rows[i], word)) {
            found = &list->rows[i];
            n++;
        }
    if (n == 1)
        return found;
    struct buf names;
    buf_init(&names, 150);
    add_names(list, n ? word : NULL, &names);
    if (!list->n)
        err_set(e, ERR_USAGE, "no job of yours runs on this host");
    else if (n)
        err_set(e, ERR_USAGE, "%zu jobs run%s%s; name one by its id or pid: %s%s", n,
                word ? " under the id " : "", word ? word : "", buf_str(&names),
                names.overflowed ? " ..." : "");
    else
        err_set(e, ERR_USAGE, "no job '%.80s' runs; there is %s%s", word, buf_str(&names),
                names.overflowed ? " ..." : "");
    buf_fini(&names);
    return NULL;
}

/* ---- the table ---- */

void uptime_format(uint64_t ms, struct buf *out)
{
    unsigned long long s = ms / 1000;
    if (s < 60)
        buf_addf(out, "%llu s", s);
    else if (s < 3600)
        buf_addf(out, "%llu min %llu s", s / 60, s % 60);
    else if (s < 86400)
        buf_addf(out, "%llu h %llu min", s / 3600, s / 60 % 60);
    else
        buf_addf(out, "%llu d %llu h", s / 86400, s / 3600 % 24);
}

enum { COLUMNS = 8 };

static void add_cells(const struct job_row *row, struct buf cells[COLUMNS])
{
    const struct control_status *s = &row->status;
    buf_adds(&cells[0], s->job_id);
    buf_addf(&cells[1], "%u", (unsigned)s->pid);
    buf_adds(&cells[2], row->why ? "silent" : s->state);
    if (row->why) {
        for (int i = 3; i < COLUMNS - 1; i++)
            buf_addc(&cells[i], '-');
        buf_adds(&cells[COLUMNS - 1], row->why);
        return;
    }
    buf_addf(&cells[3], "%u", (unsigned)s->nnodes);
    buf_addf(&cells[4], "%u/%zu", (unsigned)control_running(s), s->nranks);
    buf_addf(&cells[5], "%u", (unsigned)s->generation);
    uptime_format(s->uptime_ms, &cells[6]);
    buf_adds(&cells[7], s->program);
}

static void add_row(struct buf cells[COLUMNS], const size_t widths[COLUMNS], unsigned width,
                    struct buf *out)
{
    struct buf line;
    buf_init(&line, 0);
    for (int i = 0; i < COLUMNS - 1; i++)
        buf_addf(&line, "%-*s  ", (int)widths[i], buf_str(&cells[i]));
    buf_adds(&line, buf_str(&cells[COLUMNS - 1]));
    size_t n = line.len;
    if (width && n > width)
        for (n = width; n && ((unsigned char)line.data[n] & 0xc0) == 0x80;)
            n--; /* not within a character */
    buf_add(out, line.data, n);
    buf_addc(out, '\n');
    buf_fini(&line);
}

void jobs_table_format(const struct job_list *list, unsigned width, struct buf *out)
{
    static const char *const heads[COLUMNS] = {"JOB",   "PID",        "STATE",  "NODES",
                                               "RANKS", "GENERATION", "UPTIME", "PROGRAM"};
    size_t widths[COLUMNS] = {0};
    if (!list->n) {
        buf_adds(out, "no job of yours runs on this host\n");
        return;
    }
    struct buf(*rows)[COLUMNS] = mem_alloc(list->n + 1, sizeof *rows);
    for (size_t i = 0; i <= list->n; i++) {
        for (int c = 0; c < COLUMNS; c++)
            buf_init(&rows[i][c], 0);
        if (i)
            add_cells(&list->rows[i - 1], rows[i]);
        for (int c = 0; c < COLUMNS; c++) {
            if (!i)
                buf_adds(&rows[0][c], heads[c]);
            widths[c] = rows[i][c].len > widths[c] ? rows[i][c].len : widths[c];
        }
    }
    for (size_t i = 0; i <= list->n; i++) {
        add_row(rows[i], widths, width, out);
        for (int c = 0; c < COLUMNS; c++)
            buf_fini(&rows[i][c]);
    }
    free(rows);
}

/* ---- JSON ---- */

static void add_string(const char *key, const char *text, struct buf *out)
{
    buf_addf(out, "\"%s\": ", key);
    if (text)
        buf_add_json(out, text, strlen(text));
    else
        buf_adds(out, "null");
}

static void add_rank(size_t i, const struct control_rank *r, struct buf *out)
{
    buf_addf(out,
             "%s\n      {\"rank\": %zu, \"node\": %u, \"local_rank\": %u, \"pid\": %u, "
             "\"starts\": %u, ",
             i ? "," : "", i, (unsigned)r->node, (unsigned)r->local_rank, (unsigned)r->pid,
             (unsigned)r->starts);
    add_string("host", r->host, out);
    buf_adds(out, ", ");
    add_string("state", rank_state_word(r->state), out);
    buf_adds(out, ", ");
    add_string("gpu_index", r->gpu_index, out);
    buf_adds(out, ", ");
    add_string("gpu_uuid", r->gpu_uuid, out);
    buf_adds(out, ", \"step\": ");
    if (r->step.is_known)
        buf_addf(out, "%llu", (unsigned long long)r->step.value);
    else
        buf_adds(out, "null");
    buf_addc(out, '}');
}

static void add_job(const struct job_row *row, struct buf *out)
{
    const struct control_status *s = &row->status;
    buf_adds(out, "\n    {");
    add_string("id", s->job_id, out);
    buf_addf(out, ", \"pid\": %u, ", (unsigned)s->pid);
    if (row->why) {
        add_string("unanswered", row->why, out);
        buf_addc(out, '}');
        return;
    }
    add_string("state", s->state, out);
    buf_adds(out, ", ");
    add_string("program", s->program, out);
    buf_addf(out,
             ", \"nodes\": %u, \"running\": %u, \"total\": %zu, \"generation\": %u, "
             "\"max_restarts\": %u, \"uptime_ms\": %llu, ",
             (unsigned)s->nnodes, (unsigned)control_running(s), s->nranks,
             (unsigned)s->generation, (unsigned)s->max_restarts,
             (unsigned long long)s->uptime_ms);
    add_string("log_dir", s->log_dir, out);
    buf_adds(out, ", ");
    add_string("metrics", s->metrics, out);
    buf_adds(out, ", \"ranks\": [");
    for (size_t i = 0; i < s->nranks; i++)
        add_rank(i, &s->ranks[i], out);
    buf_adds(out, s->nranks ? "\n    ]}" : "]}");
}

void jobs_json_format(const struct job_list *list, struct buf *out)
{
    buf_adds(out, "{\"schema\": \"muster.ps/1\", \"jobs\": [");
    for (size_t i = 0; i < list->n; i++) {
        buf_adds(out, i ? "," : "");
        add_job(&list->rows[i], out);
    }
    buf_adds(out, list->n ? "\n]}\n" : "]}\n");
}

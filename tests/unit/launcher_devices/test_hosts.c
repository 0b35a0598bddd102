/* Every row of hostfile.tsv, as far as it concerns devices: each host resolves its own request
 * with its own environment and inventory.
 *
 * Reading the hostfile, precedence and rank numbers are the launcher's (core/hostfile, plan);
 * here a few lines stand in for them, so that the device part can be held to the rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/device_select.h"
#include "vector.h"

enum { MAX_HOSTS = 8 };

struct host {
    const char *name, *inventory;
    bool listed;
    char gpus[256]; /* joined gpus= of its lines; empty = none */
    int slots;
    const char *cvd, *procid, *localid, *ntasks, *tasks;
};

struct job {
    struct host hosts[MAX_HOSTS];
    int nhosts;
    const char *gpus; /* command line */
    int procs_per_gpu;
    enum gpu_error error;
    char where[64], text[512], warnings[128];
    int world_size;
    struct buf ranks;
};

static struct host *host_of(struct job *j, struct str name)
{
    for (int i = 0; i < j->nhosts; i++)
        if (str_eq(name, j->hosts[i].name))
            return &j->hosts[i];
    fail_msg("no host %.*s", STR_ARG(name));
    return NULL;
}

static char *copy(struct str s)
{
    static char pool[1 << 14];
    static size_t used;
    char *at = pool + used;
    used += s.n + 1;
    assert_true(used < sizeof pool);
    memcpy(at, s.p, s.n);
    at[s.n] = '\0';
    return at;
}

static void read_hosts(struct job *j, const char *hosts, const char *env)
{
    struct str rest = str_from(hosts), part, name, key;
    while (str_split(&rest, ';', &part)) {
        str_split(&part, '=', &name);
        j->hosts[j->nhosts++] = (struct host){.name = copy(name), .inventory = copy(part)};
    }
    rest = str_from(env);
    while (str_split(&rest, ';', &part)) {
        str_split(&part, ':', &name);
        str_split(&part, '=', &key);
        struct host *h = host_of(j, name);
        const char *value = copy(part);
        if (str_eq(key, "CUDA_VISIBLE_DEVICES"))
            h->cvd = value;
        else if (str_eq(key, "SLURM_PROCID"))
            h->procid = value;
        else if (str_eq(key, "SLURM_LOCALID"))
            h->localid = value;
        else if (str_eq(key, "SLURM_NTASKS"))
            h->ntasks = value;
        else if (str_eq(key, "SLURM_STEP_TASKS_PER_NODE"))
            h->tasks = value;
        else
            fail_msg("unknown %.*s", STR_ARG(key));
    }
}

static int fail_job(struct job *j, enum gpu_error class, const char *where, const char *text)
{
    j->error = class;
    snprintf(j->where, sizeof j->where, "%s", where);
    snprintf(j->text, sizeof j->text, "%s: %s", where, text);
    return -1;
}

static int read_line(struct job *j, struct str line, int number)
{
    struct str word, key;
    str_split(&line, ' ', &word);
    struct host *h = host_of(j, word);
    h->listed = true;
    while (str_split(&line, ' ', &word)) {
        struct err e;
        struct gpu_spec spec;
        str_split(&word, '=', &key);
        if (str_eq(key, "slots")) {
            h->slots = atoi(copy(word));
            continue;
        }
        const char *gpus = copy(word);
        char where[64];
        snprintf(where, sizeof where, "hostfile:%d", number);
        if (gpu_spec_parse(gpus, &spec, &e) != 0)
            return fail_job(j, GPU_E_SYNTAX, where, e.text);
        gpu_spec_fini(&spec);
        size_t n = strlen(h->gpus);
        snprintf(h->gpus + n, sizeof h->gpus - n, "%s%s", n ? "," : "", gpus);
    }
    return 0;
}

static int read_hostfile(struct job *j, const char *text)
{
    struct str rest = str_from(text), line;
    for (int number = 1; str_split(&rest, '\n', &line); number++)
        if (line.n && line.p[0] != '#' && read_line(j, line, number) != 0)
            return -1;
    for (int i = 0; !text && i < j->nhosts; i++)
        j->hosts[i].listed = true;
    return 0;
}

static void read_args(struct job *j, const char *args)
{
    struct str rest = str_from(args), word, value;
    while (str_split(&rest, ' ', &word)) {
        assert_true(str_split(&rest, ' ', &value));
        if (str_eq(word, "--gpus"))
            j->gpus = copy(value);
        else if (str_eq(word, "--procs-per-gpu"))
            j->procs_per_gpu = atoi(copy(value));
        else
            fail_msg("unknown %.*s", STR_ARG(word));
    }
}

static void add_warnings(struct job *j, const struct gpu_note *notes, int n)
{
    for (int i = 0; i < n; i++) {
        const char *name = gpu_warning_name(notes[i].kind);
        size_t at = strlen(j->warnings);
        if (!strstr(j->warnings, name))
            snprintf(j->warnings + at, sizeof j->warnings - at, "%s%s", at ? "," : "", name);
        snprintf(j->text, sizeof j->text, "%s", notes[i].text);
    }
}

static void add_ranks(struct job *j, const struct host *h, const struct device_choice *c)
{
    for (int r = 0; r < c->nranks; r++) {
        const struct rank_device *rd = &c->ranks[r];
        int rank = h->procid ? atoi(h->procid) : j->world_size + r;
        int local = h->localid ? atoi(h->localid) : rd->local_rank;
        int local_size = h->tasks ? atoi(h->tasks) : c->nranks;
        buf_addf(&j->ranks, "%s%s/%d/%d/%d/%s/%d", j->ranks.len ? "|" : "", h->name, rank,
                 local, local_size, rd->cvd, rd->dev);
    }
    j->world_size = h->ntasks ? atoi(h->ntasks) : j->world_size + c->nranks;
}

static int resolve_host(struct job *j, const struct host *h)
{
    struct inventory inv = vector_inventory(h->inventory);
    struct gpu_spec spec = {0};
    struct device_choice c;
    struct gpu_note note;
    struct err e;
    const char *gpus = j->gpus ? j->gpus : h->gpus[0] ? h->gpus : NULL;
    struct request req = {.n = h->slots,
                          .procs_per_gpu = j->procs_per_gpu,
                          .slots = h->slots > 0 && h->gpus[0] && !j->gpus};
    struct ambient amb = {.cvd = h->cvd};
    if (gpus) {
        assert_int_equal(gpu_spec_parse(gpus, &spec, &e), 0);
        req.spec = &spec;
    }
    int rc = device_resolve(&req, &amb, &inv, &c, &e);
    if (rc != 0)
        fail_job(j, c.error, h->name, e.text);
    if (rc == 0) {
        add_warnings(j, c.notes, c.nnotes);
        if (h->tasks && device_task_is_fenced(inv.ndevices, atoi(h->tasks), &note))
            add_warnings(j, &note, 1);
        add_ranks(j, h, &c);
        device_choice_fini(&c);
    }
    gpu_spec_fini(&spec);
    inventory_fini(&inv);
    return rc;
}

static void run(struct job *j, const struct vector *v, int row)
{
    *j = (struct job){0};
    buf_init(&j->ranks, 0);
    read_hosts(j, vector_get(v, row, "hosts"), vector_get(v, row, "env"));
    read_args(j, vector_get(v, row, "args"));
    if (read_hostfile(j, vector_get(v, row, "hostfile")) != 0)
        return;
    for (int i = 0; i < j->nhosts; i++)
        if (j->hosts[i].listed && resolve_host(j, &j->hosts[i]) != 0)
            return;
}

static void check_row(const struct vector *v, int row)
{
    struct job j;
    run(&j, v, row);
    const char *error = vector_get(v, row, "error"), *want[VECTOR_LIST];
    assert_string_equal(gpu_error_name(j.error), error ? error : "OK");
    int n = vector_list(v, row, "text", '|', false, want);
    for (int i = 0; i < n; i++)
        assert_non_null(strstr(j.text, want[i]));
    if (error) {
        print_message("    %s\n", j.text);
        assert_string_equal(j.where, vector_get(v, row, "where"));
    } else {
        assert_int_equal(j.world_size, vector_int(v, row, "world_size", -1));
        assert_string_equal(buf_str(&j.ranks), vector_get(v, row, "ranks"));
        assert_string_equal(j.warnings, vector_get(v, row, "warnings"));
    }
    buf_fini(&j.ranks);
}

static void agrees_with_every_row(void **state)
{
    (void)state;
    struct vector *v = vector_open("hostfile.tsv");
    assert_int_equal(v->nrows, 10);
    for (int row = 0; row < v->nrows; row++) {
        print_message("%s (%d of %d)\n", vector_get(v, row, "id"), row + 1, v->nrows);
        check_row(v, row);
    }
    vector_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

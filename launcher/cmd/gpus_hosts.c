/* muster gpus over the hosts of a list: asks each one's own muster, by ssh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/cmd/answer.h"
#include "launcher/cmd/cmd.h"
#include "launcher/cmd/engines.h"
#include "launcher/core/plan_text.h"
#include "launcher/core/start_faults.h"
#include "launcher/io/ask_hosts.h"
#include "launcher/io/hosts_gpus_json.h"

/* What the hosts have said, one each. */
struct heard {
    struct hosts_gpus_entry *entries;
    struct host_answer *answers;
    uint32_t n;
};

/* An answer that is none is as good as no answer. */
static void hear(struct heard *h, const struct spread *spread)
{
    struct err e;
    h->entries = mem_alloc(h->n, sizeof *h->entries);
    for (uint32_t i = 0; i < h->n; i++) {
        struct host_answer *answer = &h->answers[i];
        h->entries[i] =
            (struct hosts_gpus_entry){.host = spread_host(spread, i), .why = answer->why};
        if (answer->is_whole
            && !(h->entries[i].answer = hosts_gpus_parse(buf_str(&answer->text), &e)))
            snprintf(answer->why, sizeof answer->why, "%s", e.text);
    }
}

static void forget(struct heard *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        hosts_gpus_release(h->entries[i].answer);
        host_answer_fini(&h->answers[i]);
    }
    free(h->entries);
    free(h->answers);
}

/* Hosts in the order of the list; those without an answer are named beside it. */
static void print(const struct heard *h, bool is_json)
{
    struct hosts_gpus *list = mem_alloc(h->n, sizeof *list);
    size_t n = 0;
    struct buf text;
    buf_init(&text, 0);
    for (uint32_t i = 0; i < h->n && !is_json; i++) {
        if (!h->entries[i].answer)
            continue;
        list[n].host = h->entries[i].host;
        hosts_gpus_read(h->entries[i].answer, &list[n++]);
    }
    if (is_json)
        hosts_gpus_json(h->entries, h->n, &text);
    else
        hosts_gpus_render(list, n, &text);
    fwrite(buf_str(&text), 1, text.len, stdout);
    fflush(stdout);
    buf_fini(&text);
    for (size_t i = 0; i < n; i++)
        hosts_gpus_fini(&list[i]);
    free(list);
}

/* Equal reasons once: "n2-n9: ...". */
static void say_reasons(const struct heard *h)
{
    struct start_faults faults = {0};
    struct buf line;
    uint32_t node;
    enum err_code code;
    struct err e;
    buf_init(&line, 0);
    for (uint32_t i = 0; i < h->n; i++) {
        const struct hosts_gpus_entry *entry = &h->entries[i];
        buf_reset(&line);
        if (entry->answer)
            hosts_gpus_remark(entry->answer, h->answers[i].status, &line);
        else
            plan_text_value(entry->why, &line);
        if (!line.len)
            continue;
        err_set(&e, ERR_UNAVAILABLE, "%s", buf_str(&line));
        start_faults_add(&faults, i, entry->host, &e, 0);
    }
    buf_reset(&line);
    while (start_faults_next(&faults, &node, &code, &line)) {
        log_error("gpus", "%s", buf_str(&line));
        buf_reset(&line);
    }
    buf_fini(&line);
    start_faults_fini(&faults);
}

/* A host that has not answered weighs most, then the first one that has something to say. */
static int status_of(const struct heard *h)
{
    int status = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        if (!h->entries[i].answer)
            return err_exit_status(ERR_UNAVAILABLE);
        if (!status)
            status = h->answers[i].status;
    }
    return status;
}

static int ask(const struct options *opt, struct spread *spread, struct err *e)
{
    struct heard h = {.n = spread_nodes(spread)};
    h.answers = mem_alloc(h.n, sizeof *h.answers);
    if (ask_hosts(spread, opt->join_timeout_ms, h.answers, e) < 0) {
        free(h.answers);
        return cmd_fail(e);
    }
    hear(&h, spread);
    print(&h, opt->is_json);
    say_reasons(&h);
    int status = status_of(&h);
    forget(&h);
    return status;
}

int gpus_of_hosts(struct options *opt, char *const *args)
{
    struct err e;
    struct engine_found found;
    struct buf text;
    if (!opt->job_id)
        opt->job_id = "none"; /* there is no job */
    if (engines_find(opt, &found, &e) < 0)
        return cmd_fail(&e);
    if (found.launch != START_SSH) {
        err_set(&e, ERR_USAGE,
                "muster gpus asks hosts by ssh, and here --engine is %s: --engine ssh, or the "
                "engine's own command with `muster gpus` on each host",
                engine_start_name(found.launch));
        return cmd_fail(&e);
    }
    buf_init(&text, 0);
    struct spread *spread = spread_new(opt, &found, args, &text, &e);
    if (text.len) /* the whole message, with the place */
        fprintf(stderr, "muster: %s", buf_str(&text));
    int status = spread     ? ask(opt, spread, &e)
                 : text.len ? err_exit_status(e.code)
                            : cmd_fail(&e);
    buf_fini(&text);
    if (spread)
        spread_free(spread);
    return status;
}

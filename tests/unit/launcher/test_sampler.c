/* The sampler and its helpers, of which this program is each: questions and answers that are
 * longer than a pipe, and helpers that do not behave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/core/node_sample.h"
#include "launcher/io/sampler.h"

enum { MANY = 4096, PIPE_BYTES = 4096 };

static const char behaviour_name[] = "TEST_SAMPLER";
static const char uuid[] = "GPU-11111111-2222-3333-4444-555555555555";

/* ---- the helper ---- */

static void answer(struct str line)
{
    struct sample_subject subject;
    struct buf text;
    buf_init(&text, 0);
    while (sample_ask_next(&line, &subject) > 0) {
        const struct rank_sample figures = {.rss = {true, subject.pid}};
        node_sample_add_figures(subject.local_rank, &figures, &text);
    }
    puts(buf_str(&text));
    fflush(stdout);
    buf_fini(&text);
}

static void say_too_much(void)
{
    static char bytes[PIPE_BYTES];
    memset(bytes, 'x', sizeof bytes);
    while (fwrite(bytes, sizeof bytes, 1, stdout) == 1)
        ;
}

/* By behaviour it answers through the smallest pipes that there are, is deaf, leaves, or does
 * not stop talking. */
static int be_helper(void)
{
    const char *behaviour = getenv(behaviour_name);
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    if (strcmp(behaviour, "deaf") == 0)
        for (;;)
            pause();
    if (strcmp(behaviour, "leaves") == 0)
        return getchar() < 0;
    if (strcmp(behaviour, "talks") == 0)
        say_too_much();
    fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_BYTES); /* refused once there is more in it */
    if (fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES) < 0)
        return 1;
    while ((n = getline(&line, &cap, stdin)) > 0)
        answer((struct str){line, (size_t)n - 1});
    free(line);
    return 0;
}

/* ---- its node ---- */

struct side {
    uv_loop_t loop;
    struct watch_set *watches;
    struct spawn spawn;
    struct facts facts;
    const char *environment[2];
    char *variable;
    struct sampler *sampler;
    pid_t pids[2];
    int npids, nanswers;
    struct buf items;
};

static void on_started(void *ctx, pid_t pid)
{
    struct side *s = ctx;
    assert_true(s->npids < 2);
    s->pids[s->npids++] = pid;
}

static void on_sample(void *ctx, struct str items)
{
    struct side *s = ctx;
    buf_reset(&s->items);
    buf_add(&s->items, items.p, items.n);
    s->nanswers++;
}

static void open_side(struct side *s, const char *behaviour)
{
    struct err e;
    *s = (struct side){.variable = mem_printf("%s=%s", behaviour_name, behaviour)};
    buf_init(&s->items, 0);
    s->environment[0] = s->variable;
    s->facts.environment = s->environment;
    uv_loop_init(&s->loop);
    s->watches = watch_set_new(&s->loop, &e);
    assert_non_null(s->watches);
    spawn_init(&s->spawn);
    getrlimit(RLIMIT_NOFILE, &s->spawn.nofile);
    const struct helper_host host = {
        .watches = s->watches,
        .spawn = &s->spawn,
        .facts = &s->facts,
        .dev_null = open("/dev/null", O_RDWR | O_CLOEXEC),
        .ctx = s,
        .on_started = on_started,
    };
    s->sampler = sampler_new(&host, on_sample);
}

/* Every helper ends with the sampler at the latest. */
static void close_side(struct side *s)
{
    sampler_free(s->sampler);
    for (int i = 0; i < s->npids; i++)
        waitpid(s->pids[i], NULL, 0);
    watch_set_close(s->watches);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    buf_fini(&s->items);
    free(s->variable);
}

static void take(struct side *s, uint32_t n, const char *gpu, uint64_t at_ms)
{
    struct sample_subject *subjects = mem_alloc(n, sizeof *subjects);
    for (uint32_t i = 0; i < n; i++)
        subjects[i] = (struct sample_subject){i, 1000000 + i, str_from(gpu)};
    sampler_take(s->sampler, subjects, n, at_ms);
    free(subjects);
}

/* Without a tick: the sampler's own limit does not come. */
static void wait_for_answer(struct side *s, int nanswers)
{
    while (s->nanswers < nanswers)
        uv_run(&s->loop, UV_RUN_ONCE);
}

static void expect_figures(const struct side *s, size_t wanted)
{
    struct node_sample_item item;
    struct str rest = {buf_str(&s->items), s->items.len};
    size_t n = 0;
    for (; node_sample_next(&rest, &item) > 0; n++) {
        assert_int_equal(item.kind, NODE_SAMPLE_FIGURES);
        assert_int_equal(item.figures.rss.value, 1000000 + item.local_rank);
    }
    assert_int_equal(rest.n, 0);
    assert_int_equal(n, wanted);
}

/* ---- tests ---- */

/* 4,096 workers with GPUs: a question of 220 KB, an answer of 200 KB. */
static void both_ways_are_longer_than_their_pipes(void **state)
{
    struct side s;
    (void)state;
    open_side(&s, "answers");
    for (int round = 1; round <= 2; round++) {
        take(&s, MANY, uuid, now_ms());
        wait_for_answer(&s, round);
        expect_figures(&s, 2 * MANY); /* of both helpers */
    }
    assert_int_equal(s.npids, 2); /* the same ones */
    take(&s, 1, NULL, now_ms());
    wait_for_answer(&s, 3);
    expect_figures(&s, 1);
    close_side(&s);
}

/* Both have a part of the first question, the rest of which is never sent. */
static void who_reads_no_question_is_not_waited_for(void **state)
{
    struct side s;
    (void)state;
    open_side(&s, "deaf");
    take(&s, MANY, uuid, 1000);
    assert_int_equal(sampler_deadline(s.sampler), 1000 + SAMPLER_LIMIT_MS);
    sampler_tick(s.sampler, 1000 + SAMPLER_LIMIT_MS);
    assert_int_equal(s.nanswers, 1);
    assert_string_equal(buf_str(&s.items),
                        "why,/proc was not read in time;why,NVML did not answer in time;");
    take(&s, MANY, uuid, 2000);
    assert_int_equal(s.nanswers, 2);
    assert_string_equal(buf_str(&s.items),
                        "why,/proc is still being read;why,NVML has not answered yet;");
    assert_int_equal(sampler_deadline(s.sampler), 1000 + SAMPLER_END_MS);
    sampler_tick(s.sampler, 1000 + SAMPLER_END_MS);
    assert_int_equal(sampler_deadline(s.sampler), UINT64_MAX); /* they were ended */
    close_side(&s);
}

static void who_leaves_amid_the_question_is_not_waited_for(void **state)
{
    struct side s;
    (void)state;
    open_side(&s, "leaves");
    take(&s, MANY, NULL, 1000);
    wait_for_answer(&s, 1);
    struct str rest = {buf_str(&s.items), s.items.len};
    struct node_sample_item item;
    assert_int_equal(node_sample_next(&rest, &item), 1);
    assert_int_equal(item.kind, NODE_SAMPLE_WHY);
    assert_int_equal(rest.n, 0);
    close_side(&s);
}

static void who_says_too_much_is_ended(void **state)
{
    struct side s;
    (void)state;
    open_side(&s, "talks");
    take(&s, 1, NULL, 1000);
    wait_for_answer(&s, 1);
    assert_string_equal(buf_str(&s.items), "why,the helper that measures says too much;");
    close_side(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_are_longer_than_their_pipes),
        cmocka_unit_test(who_reads_no_question_is_not_waited_for),
        cmocka_unit_test(who_leaves_amid_the_question_is_not_waited_for),
        cmocka_unit_test(who_says_too_much_is_ended),
    };
    if (argc > 1 && strcmp(argv[1], "sampler") == 0)
        return be_helper();
    signal(SIGPIPE, SIG_IGN); /* as in muster */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

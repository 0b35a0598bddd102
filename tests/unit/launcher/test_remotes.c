/* remotes: how many commands run at a time, also of those that are tried once more, and how
 * deep the stack gets when all of them fail at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/io/remotes.h"

enum {
    NHOSTS = 3 * REMOTES_WINDOW,
    PAUSES_OVER_MS = 2000, /* the first ones: at most 750 ms after each refusal */
};

struct seen {
    uv_loop_t loop;
    struct remotes *remotes;
    uint32_t nrunning, most, nstarted, nfailed;
    int depth, deepest;
};

static int boot(void *ctx, uint32_t node, struct buf *out, struct err *e)
{
    (void)ctx;
    (void)node;
    (void)out;
    return err_set(e, ERR_INTERNAL, "nobody asks for it");
}

static void on_state(void *ctx, uint32_t node, const char *host, const char *state)
{
    (void)ctx;
    (void)node;
    (void)host;
    (void)state;
}

static void on_words(const char *line)
{
    (void)line;
}

static void on_process(void *ctx, pid_t pid, bool is_running)
{
    struct seen *s = ctx;
    (void)pid;
    s->nstarted += is_running;
    s->nrunning += is_running ? 1 : UINT32_MAX;
    s->most = s->nrunning > s->most ? s->nrunning : s->most;
}

/* Asks for more, as the head does. */
static void on_failed(void *ctx, uint32_t node, const char *host, bool is_way,
                      const struct err *why)
{
    struct seen *s = ctx;
    (void)node;
    (void)host;
    (void)is_way;
    (void)why;
    s->nfailed++;
    s->depth++;
    s->deepest = s->depth > s->deepest ? s->depth : s->deepest;
    remotes_start(s->remotes);
    s->depth--;
}

static void begin(struct seen *s, const char *script, const char *folder)
{
    const struct remotes_events events = {.ctx = s,
                                          .boot = boot,
                                          .on_failed = on_failed,
                                          .on_state = on_state,
                                          .on_words = on_words,
                                          .on_process = on_process};
    struct rlimit nofile;
    getrlimit(RLIMIT_NOFILE, &nofile);
    assert_int_equal(uv_loop_init(&s->loop), 0);
    s->remotes = remotes_new(&s->loop, &nofile, NHOSTS, &events);
    for (uint32_t i = 0; i < NHOSTS; i++) {
        char *words[] = {"/bin/sh", "-c",
                         mem_printf("mark=%s/%u; %s", folder, (unsigned)i, script)};
        struct argv argv = {.n = 3, .cap = 4, .words = mem_alloc(4, sizeof(char *))};
        for (size_t k = 0; k < 3; k++)
            argv.words[k] = mem_strdup(words[k]);
        free(words[2]);
        const struct remote_command command = {.host = "host",
                                               .node = i,
                                               .nnodes = 1,
                                               .argv = &argv,
                                               .token = "0123456789abcdef",
                                               .is_again = true};
        remotes_add(s->remotes, &command);
    }
}

static void end(struct seen *s)
{
    remotes_close(s->remotes);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

/* The first try is refused; the second logs in until it is ended. */
static void test_window(void **state)
{
    (void)state;
    struct seen s = {.nrunning = 0};
    char folder[] = "/tmp/test_remotes.XXXXXX";
    assert_non_null(mkdtemp(folder));
    begin(&s,
          "if mkdir $mark 2>/dev/null; then "
          "echo 'ssh: connect to host x port 22: Connection refused' >&2; exit 255; "
          "else rmdir $mark; exec cat >/dev/null; fi",
          folder);
    remotes_start(s.remotes);
    uv_timer_t tick; /* so that the loop looks at the clock */
    uv_timer_init(&s.loop, &tick);
    uv_timer_start(&tick, on_tick, 20, 20);
    uint64_t end_ms = now_ms() + PAUSES_OVER_MS;
    while (now_ms() < end_ms)
        uv_run(&s.loop, UV_RUN_ONCE);
    assert_int_equal(s.most, REMOTES_WINDOW);
    assert_int_equal(s.nfailed, 0);
    uv_close((uv_handle_t *)&tick, NULL);
    end(&s);
    char *command = mem_printf("rm -r %s", folder);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
    free(command);
}

static void test_all_fail_at_once(void **state)
{
    (void)state;
    struct seen s = {.nrunning = 0};
    struct rlimit before, few;
    begin(&s, "exit 0", "/tmp");
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = 3; /* no pipe can be made */
    setrlimit(RLIMIT_NOFILE, &few);
    remotes_start(s.remotes);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(s.nfailed, NHOSTS);
    assert_int_equal(s.deepest, 1);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_all_fail_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* child: exit and pipes of a live worker, in every order; say: words that wait for no reader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/io/child.h"
#include "launcher/io/say.h"
#include "launcher/io/spawn.h"

/* A loop with one worker whose output goes to a pipe that nobody reads until the end. */
struct stage {
    uv_loop_t loop;
    struct child_host host;
    struct child *child;
    int real, reader;
    bool has_exited, have_streams_ended, streams_before_exit;
    int nfull;
    struct worker_end end;
    char *tail;
    const char *told; /* the same where it was told */
};

static void on_exit_seen(void *ctx, uint32_t local_rank, const struct worker_end *end,
                         const char *tail)
{
    struct stage *s = ctx;
    s->has_exited = local_rank == 7;
    s->end = *end;
    s->tail = mem_strdup(tail);
    s->told = tail;
}

static void on_streams_ended(void *ctx, uint32_t local_rank)
{
    struct stage *s = ctx;
    s->have_streams_ended = local_rank == 7;
    s->streams_before_exit = !s->has_exited;
}

static void on_full(void *ctx)
{
    struct stage *s = ctx;
    s->nfull++;
    child_pause(s->child, true);
}

static void on_blocked(void *ctx, bool is_blocked)
{
    struct stage *s = ctx;
    if (!is_blocked && s->child)
        child_pause(s->child, false);
}

static void on_reader_gone(void *ctx)
{
    (void)ctx;
}

static void start(struct stage *s, const char *script)
{
    int fds[2], out[2], err[2], exec_pipe[2];
    *s = (struct stage){0};
    uv_loop_init(&s->loop);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    s->reader = fds[0];
    fcntl(s->reader, F_SETFL, O_NONBLOCK);
    s->real = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(fds[1], STDOUT_FILENO);
    close(fds[1]);
    const struct output_style style = {NULL, "box", false, false};
    const struct output_events events = {
        .ctx = s, .on_blocked = on_blocked, .on_reader_gone = on_reader_gone};
    struct err e;
    s->host = (struct child_host){
        .watches = watch_set_new(&s->loop, &e),
        .output = output_new(&s->loop, &style, &events),
        .slab = mem_alloc(65536, 1),
        .slab_size = 65536,
        .ctx = s,
        .on_exit = on_exit_seen,
        .on_streams_ended = on_streams_ended,
        .on_full = on_full,
    };
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    assert_int_equal(pipe2(exec_pipe, O_CLOEXEC), 0);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    struct spawn spawn;
    spawn_init(&spawn);
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                          (char *)(uintptr_t)script, NULL};
    spawn.path = "/bin/sh";
    spawn.argv = argv;
    spawn.envp = environ;
    spawn.in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    spawn.out = out[1];
    spawn.err = err[1];
    spawn.exec_pipe = exec_pipe[1];
    getrlimit(RLIMIT_NOFILE, &spawn.nofile);
    struct child_start child = {.shown = STREAM_BOTH,
                                .local_rank = 7,
                                .rank = 7,
                                .out = out[0],
                                .err = err[0],
                                .log_out = NULL,
                                .log_err = NULL};
    assert_int_equal(spawn_start(&spawn, &child.pid, &child.pidfd, &e), 0);
    close(spawn.in);
    close(out[1]);
    close(err[1]);
    close(exec_pipe[0]);
    close(exec_pipe[1]);
    s->child = child_new(&s->host, &child, &e);
    assert_non_null(s->child);
}

static void finish(struct stage *s)
{
    if (s->child)
        child_reap(s->child);
    s->child = NULL;
    watch_set_close(s->host.watches);
    output_close(s->host.output);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    dup2(s->real, STDOUT_FILENO);
    close(s->real);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    free(s->host.slab);
    free(s->tail);
    close(s->reader);
}

static void run_until(struct stage *s, const bool *flag)
{
    while (!*flag)
        uv_run(&s->loop, UV_RUN_ONCE);
}

/* Its child has standard error, and the last word, before anybody has used the tail. */
static void the_tail_of_an_exit_stays(void **state)
{
    (void)state;
    struct stage s;
    char folder[] = "/tmp/test_child.XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *fifo = mem_printf("%s/go", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    char *script = mem_printf(
        "echo trouble >&2; { read -r go; echo more words than those before >&2; } <%s & exit 7",
        fifo);
    start(&s, script);
    run_until(&s, &s.has_exited);
    bool was_held = !s.have_streams_ended;
    close(open(fifo, O_WRONLY | O_CLOEXEC));
    run_until(&s, &s.have_streams_ended);
    char *tail = mem_strdup(s.told);
    finish(&s);
    unlink(fifo);
    rmdir(folder);
    assert_true(was_held);
    assert_string_equal(tail, "trouble\n");
    free(tail);
    free(script);
    free(fifo);
}

static void an_exit_comes_with_what_was_said_before(void **state)
{
    (void)state;
    struct stage s;
    start(&s, "echo words; echo trouble >&2; exit 7");
    run_until(&s, &s.has_exited);
    run_until(&s, &s.have_streams_ended);
    char text[64] = "";
    ssize_t n = read(s.reader, text, sizeof text - 1);
    char *tail = mem_strdup(s.tail);
    struct worker_end end = s.end;
    bool is_running = child_is_running(s.child);
    finish(&s);
    assert_int_equal(n, 6);
    assert_string_equal(text, "words\n");
    assert_string_equal(tail, "trouble\n");
    assert_int_equal(end.kind, END_EXIT);
    assert_int_equal(end.code, 7);
    assert_false(is_running);
    free(tail);
}

static void a_signal_reaches_the_whole_group(void **state)
{
    (void)state;
    struct stage s;
    start(&s, "sleep 300 & echo ready; wait");
    char text[16];
    while (read(s.reader, text, sizeof text) < 6)
        uv_run(&s.loop, UV_RUN_ONCE);
    pid_t pid = child_pid(s.child);
    child_kill(s.child, SIGTERM);
    run_until(&s, &s.has_exited);
    run_until(&s, &s.have_streams_ended); /* sleep held them, too */
    struct worker_end end = s.end;
    bool is_zombie = kill(pid, 0) == 0; /* its number is kept until it is reaped */
    finish(&s);
    assert_int_equal(end.kind, END_SIGNAL);
    assert_int_equal(end.code, SIGTERM);
    assert_true(is_zombie);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
}

static void streams_may_end_long_before(void **state)
{
    (void)state;
    struct stage s;
    siginfo_t info;
    start(&s, "exec >&- 2>&-; kill -STOP $$; exit 3");
    run_until(&s, &s.have_streams_ended);
    pid_t pid = child_pid(s.child);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
    kill(pid, SIGCONT);
    run_until(&s, &s.has_exited);
    bool was_before = s.streams_before_exit;
    int code = s.end.code;
    finish(&s);
    assert_true(was_before);
    assert_int_equal(code, 3);
}

static void a_grandchild_may_hold_the_streams(void **state)
{
    (void)state;
    struct stage s;
    start(&s, "sleep 300 & exit 0");
    run_until(&s, &s.has_exited);
    bool had_ended = s.have_streams_ended;
    child_close_streams(s.child);
    child_kill(s.child, SIGKILL); /* of a group whose leader is dead */
    finish(&s);
    assert_false(had_ended);
}

static void a_full_output_pauses_and_nothing_is_lost(void **state)
{
    (void)state;
    struct stage s;
    start(&s, "yes 0123456789 | head -c 2200000");
    while (!s.nfull)
        uv_run(&s.loop, UV_RUN_ONCE);
    size_t got = 0;
    char bytes[65536];
    while (!s.have_streams_ended || got < 2200000) {
        uv_run(&s.loop, UV_RUN_NOWAIT);
        ssize_t n = read(s.reader, bytes, sizeof bytes);
        got += n > 0 ? (size_t)n : 0;
    }
    finish(&s);
    assert_int_equal(got, 2200000);
}

static void one_that_runs_can_be_left_behind(void **state)
{
    (void)state;
    struct stage s;
    start(&s, "exec sleep 300");
    pid_t pid = child_pid(s.child);
    finish(&s);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- say ---- */

static void words_wait_for_no_reader(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    int real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(fds[1], STDERR_FILENO);
    char text[8000];
    memset(text, 'w', sizeof text);
    size_t taken = 0;
    while (say(text, sizeof text, 0))
        taken += sizeof text;
    say_log(NULL, LOG_WARN, "also lost\n");
    char bytes[65536];
    ssize_t n = read(fds[0], bytes, sizeof bytes);
    bool is_taken = say("more\n", 5, 0);
    close(fds[0]);
    signal(SIGPIPE, SIG_IGN);
    bool is_gone = !say("more\n", 5, 0);
    signal(SIGPIPE, SIG_DFL);
    dup2(real, STDERR_FILENO);
    close(real);
    close(fds[1]);
    assert_true(taken > 0 && n > 0);
    assert_true(is_taken);
    assert_true(is_gone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exit_comes_with_what_was_said_before),
        cmocka_unit_test(the_tail_of_an_exit_stays),
        cmocka_unit_test(a_signal_reaches_the_whole_group),
        cmocka_unit_test(streams_may_end_long_before),
        cmocka_unit_test(a_grandchild_may_hold_the_streams),
        cmocka_unit_test(a_full_output_pauses_and_nothing_is_lost),
        cmocka_unit_test(one_that_runs_can_be_left_behind),
        cmocka_unit_test(words_wait_for_no_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* stacks: how long tools may take that look at a worker. The tools are scripts of the test,
 * which wait to be told to end. */
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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launcher/io/stacks.h"

struct stage {
    uv_loop_t loop;
    struct helper_host host;
    struct stacks *stacks;
    char folder[64], *path, *python;
    const char *environment[2];
    struct facts facts;
    struct spawn spawn;
    pid_t worker;
    uint32_t nstarted; /* tools */
    char *said;
};

static char *in_folder(const struct stage *s, const char *name)
{
    return mem_printf("%s/%s", s->folder, name);
}

/* Reads a line from a pipe beside it, then does this. Returns the pipe. */
static int make_tool(const struct stage *s, const char *name, const char *then)
{
    char *path = in_folder(s, name), *fifo = mem_printf("%s.fifo", path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\nread -r go <\"$0.fifo\"\n%s\n", then);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    free(path);
    free(fifo);
    return fd;
}

/* It stays open: the tool may not have opened it yet. */
static void let_end(int fifo)
{
    assert_int_equal(write(fifo, "\n", 1), 1);
}

/* By its name, for that is how one is known. */
static void start_python(struct stage *s)
{
    struct stat st;
    int ready[2];
    char byte;
    s->python = in_folder(s, "python-toy");
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(s->python, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(fstat(from, &st), 0);
    while (st.st_size > 0) {
        ssize_t n = sendfile(to, from, NULL, (size_t)st.st_size);
        assert_true(n > 0);
        st.st_size -= n;
    }
    close(from);
    close(to);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0); /* ends with the exec */
    s->worker = fork();
    if (s->worker == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(s->python, "python-toy", "rest", (char *)NULL);
        _exit(127);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
}

static void on_started(void *ctx, pid_t pid)
{
    struct stage *s = ctx;
    (void)pid;
    s->nstarted++;
}

static void on_rank(void *ctx, uint32_t local_rank, const char *where)
{
    (void)ctx;
    (void)local_rank;
    (void)where;
}

static void on_end(void *ctx, const char *screen, const char *file)
{
    struct stage *s = ctx;
    (void)file;
    s->said = mem_strdup(screen);
}

static int set_up(void **state)
{
    struct stage *s = mem_alloc(1, sizeof *s);
    struct err e;
    const char *tmp = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%.40s/stacks-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(s->folder));
    s->path = mem_printf("PATH=%s", s->folder);
    s->environment[0] = s->path;
    s->facts.environment = s->environment;
    uv_loop_init(&s->loop);
    spawn_init(&s->spawn);
    getrlimit(RLIMIT_NOFILE, &s->spawn.nofile);
    s->host = (struct helper_host){.watches = watch_set_new(&s->loop, &e),
                                   .spawn = &s->spawn,
                                   .facts = &s->facts,
                                   .dev_null = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                   .ctx = s,
                                   .on_started = on_started};
    assert_non_null(s->host.watches);
    start_python(s);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;
    stacks_free(s->stacks);
    kill(s->worker, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    watch_set_close(s->host.watches);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    close(s->host.dev_null);
    char *const argv[] = {(char[]){"rm"}, (char[]){"-rf"}, s->folder, NULL};
    pid_t rm = fork();
    if (rm == 0) {
        execv("/bin/rm", argv);
        _exit(127);
    }
    waitpid(rm, NULL, 0);
    free(s->path);
    free(s->python);
    free(s->said);
    free(s);
    return 0;
}

static void begin(struct stage *s, uint64_t now)
{
    const struct stacks_events events = {.ctx = s, .on_rank = on_rank, .on_end = on_end};
    const struct stacks_subject who = {.pid = s->worker};
    s->stacks = stacks_new(&s->host, "auto", &events);
    stacks_begin(s->stacks, &who, 1, false, now);
}

/* The second starts late, and has as long as the first had. */
static void each_tool_has_its_own_time(void **state)
{
    struct stage *s = *state;
    int first = make_tool(s, "py-spy", "echo 'Permission denied'; exit 1");
    int second =
        make_tool(s, "eu-stack", "echo 'TID 1:'; echo '#0  0x0000000000000001 in_here'");
    begin(s, now_ms());
    assert_int_equal(s->nstarted, 1);
    uint64_t end_of_first = stacks_deadline(s->stacks), now = now_ms();
    while (now_ms() == now)
        ;
    let_end(first);
    while (s->nstarted == 1)
        uv_run(&s->loop, UV_RUN_ONCE);
    assert_true(stacks_deadline(s->stacks) > end_of_first);
    stacks_tick(s->stacks, end_of_first);
    let_end(second);
    while (!s->said)
        uv_run(&s->loop, UV_RUN_ONCE);
    assert_non_null(strstr(s->said, "in_here"));
    close(first);
    close(second);
}

/* Whatever the second could still have. */
static void all_tools_together_are_bounded(void **state)
{
    struct stage *s = *state;
    int first = make_tool(s, "py-spy", "exit 1");
    int second = make_tool(s, "eu-stack", "exit 1");
    const uint64_t all_ms = 10000, spent_ms = 8000, now = now_ms();
    begin(s, now - spent_ms);
    let_end(first);
    while (s->nstarted == 1)
        uv_run(&s->loop, UV_RUN_ONCE);
    assert_int_equal(stacks_deadline(s->stacks), now - spent_ms + all_ms);
    stacks_tick(s->stacks, now - spent_ms + all_ms);
    assert_non_null(strstr(s->said, "the tool took too long"));
    close(first);
    close(second);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) /* the worker */
        for (;;)
            pause();
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_tool_has_its_own_time),
        TEST(all_tools_together_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

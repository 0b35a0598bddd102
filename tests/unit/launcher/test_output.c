/* output: every kind of sink, slow and absent readers, prefixes, tails, log files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/io/output.h"

/* Standard output is a descriptor of the test's while an output is open; the test's own words
 * go to `real`. */
struct stage {
    uv_loop_t loop;
    struct output *output;
    int real, reader;
    struct buf got;
    int nblocked, nflowing, ngone;
};

static void on_blocked(void *ctx, bool is_blocked)
{
    struct stage *s = ctx;
    s->nblocked += is_blocked;
    s->nflowing += !is_blocked;
}

static void on_reader_gone(void *ctx)
{
    ((struct stage *)ctx)->ngone++;
}

static void open_styled(struct stage *s, int out, int reader, const struct output_style *style)
{
    *s = (struct stage){.reader = reader};
    uv_loop_init(&s->loop);
    s->real = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(out, STDOUT_FILENO);
    close(out);
    const struct output_events events = {
        .ctx = s, .on_blocked = on_blocked, .on_reader_gone = on_reader_gone};
    s->output = output_new(&s->loop, style, &events);
}

static void open_stage(struct stage *s, int out, int reader, const char *prefix)
{
    open_styled(s, out, reader, &(struct output_style){prefix, "box", true, false});
}

static void close_stage(struct stage *s)
{
    output_close(s->output);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    dup2(s->real, STDOUT_FILENO);
    close(s->real);
    int rc = uv_loop_close(&s->loop);
    assert_int_equal(rc, 0);
}

/* What the reader can have now. */
static void take(struct stage *s)
{
    char bytes[65536];
    ssize_t n;
    while ((n = read(s->reader, bytes, sizeof bytes)) > 0)
        buf_add(&s->got, bytes, (size_t)n);
}

static void nonblocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static struct output_stream *stream(struct stage *s, uint32_t rank)
{
    return output_stream_new(s->output, OUTPUT_OUT, rank, rank, NULL, false);
}

static void say(struct output_stream *to, const char *text)
{
    output_stream_write(to, text, strlen(text));
}

enum kind { KIND_PIPE, KIND_SOCKET, KIND_PTY, KIND_FILE, KIND_COUNT };

/* Opens a sink of a kind and its reader. */
static void make(enum kind kind, int *out, int *reader)
{
    int fds[2] = {-1, -1};
    if (kind == KIND_PIPE) {
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    } else if (kind == KIND_SOCKET) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    } else if (kind == KIND_PTY) {
        struct termios raw;
        assert_int_equal(openpty(&fds[0], &fds[1], NULL, NULL, NULL), 0);
        tcgetattr(fds[1], &raw);
        cfmakeraw(&raw);
        tcsetattr(fds[1], TCSANOW, &raw);
    } else {
        char path[] = "/tmp/muster-test-XXXXXX";
        fds[1] = mkstemp(path);
        fds[0] = open(path, O_RDONLY | O_CLOEXEC);
        unlink(path);
    }
    *reader = fds[0];
    *out = fds[1];
    nonblocking(*reader);
}

static void every_kind_of_sink(void **state)
{
    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct stage s;
        int out, reader;
        make((enum kind)kind, &out, &reader);
        open_stage(&s, out, reader, NULL);
        int flags = fcntl(STDOUT_FILENO, F_GETFL);
        struct output_stream *a = stream(&s, 0), *b = stream(&s, 1);
        say(a, "one of a\npart");
        say(b, "one of b\n");
        say(a, "ial\n");
        output_stream_end(b);
        output_stream_end(a);
        close_stage(&s);
        take(&s);
        assert_string_equal(buf_str(&s.got), "one of a\none of b\npartial\n");
        assert_false(flags & O_NONBLOCK); /* our flags do not stick to what we share */
        assert_int_equal(s.ngone + s.nblocked, 0);
        buf_fini(&s.got);
        close(reader);
    }
}

/* The size of a pipe after an output on it; bytes: to be tried before, 0 = none. */
static int size_after(int bytes)
{
    struct stage s;
    int out, reader;
    make(KIND_PIPE, &out, &reader);
    if (bytes && fcntl(out, F_SETPIPE_SZ, bytes) < 0)
        bytes = 0;
    open_stage(&s, out, reader, NULL);
    close_stage(&s);
    int size = fcntl(reader, F_GETPIPE_SZ);
    close(reader);
    return size;
}

/* What the system lets it have is not the test's to say, but it lets both have the same. */
static void a_pipe_grows_and_never_shrinks(void **state)
{
    (void)state;
    enum { MIB = 1 << 20 };
    int fds[2], larger = 2 * MIB;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    int usual = fcntl(fds[0], F_GETPIPE_SZ);
    int most = fcntl(fds[0], F_SETPIPE_SZ, MIB) < 0 ? usual : MIB;
    if (fcntl(fds[0], F_SETPIPE_SZ, larger) < 0)
        larger = 0;
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(size_after(0), most);
    assert_int_equal(size_after(larger), larger ? larger : most);
}

static void a_slow_reader_gets_it_all(void **state)
{
    (void)state;
    static const enum kind kinds[] = {KIND_PIPE, KIND_SOCKET, KIND_PTY};
    for (size_t k = 0; k < 3; k++) {
        struct stage s;
        int out, reader;
        make(kinds[k], &out, &reader);
        open_stage(&s, out, reader, NULL);
        struct output_stream *a = stream(&s, 0);
        char line[1000];
        memset(line, 'x', sizeof line);
        line[999] = '\n';
        size_t sent = 0;
        while (!output_is_full(s.output)) {
            output_stream_write(a, line, sizeof line);
            sent += sizeof line;
        }
        bool was_blocked = s.nblocked == 1 && s.nflowing == 0;
        while (s.got.len < sent && !s.ngone) {
            take(&s);
            uv_run(&s.loop, UV_RUN_NOWAIT);
        }
        output_stream_end(a);
        close_stage(&s);
        assert_true(was_blocked);
        assert_int_equal(s.got.len, sent);
        assert_int_equal(s.nflowing, 1);
        assert_int_equal(s.ngone, 0);
        buf_fini(&s.got);
        close(reader);
    }
}

static void a_reader_that_leaves_is_told_once(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    static const enum kind kinds[] = {KIND_PIPE, KIND_SOCKET, KIND_PTY};
    for (size_t k = 0; k < 3; k++) {
        struct stage s;
        int out, reader;
        make(kinds[k], &out, &reader);
        open_stage(&s, out, reader, NULL);
        struct output_stream *a = stream(&s, 0);
        say(a, "taken\n");
        take(&s);
        close(reader);
        for (int i = 0; i < 10; i++)
            say(a, "lost\n");
        output_stream_end(a);
        bool is_full = output_is_full(s.output);
        close_stage(&s);
        assert_int_equal(s.ngone, 1);
        assert_false(is_full);
        assert_string_equal(buf_str(&s.got), "taken\n");
        buf_fini(&s.got);
    }
    signal(SIGPIPE, SIG_DFL);
}

static void a_reader_that_leaves_while_we_wait(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    struct stage s;
    int out, reader;
    make(KIND_PIPE, &out, &reader);
    open_stage(&s, out, reader, NULL);
    struct output_stream *a = stream(&s, 0);
    char bytes[4096] = "";
    memset(bytes, '\n', sizeof bytes);
    while (!output_is_full(s.output))
        output_stream_write(a, bytes, sizeof bytes);
    close(reader);
    while (!s.ngone)
        uv_run(&s.loop, UV_RUN_ONCE);
    bool is_full = output_is_full(s.output);
    output_stream_end(a);
    close_stage(&s);
    assert_int_equal(s.nflowing, 1);
    assert_false(is_full);
    signal(SIGPIPE, SIG_DFL);
}

static void what_waits_can_be_dropped(void **state)
{
    (void)state;
    struct stage s;
    int out, reader;
    make(KIND_PIPE, &out, &reader);
    open_stage(&s, out, reader, NULL);
    struct output_stream *a = stream(&s, 0);
    char bytes[4096];
    memset(bytes, '\n', sizeof bytes);
    size_t sent = 0;
    for (; !output_is_full(s.output); sent += sizeof bytes)
        output_stream_write(a, bytes, sizeof bytes);
    size_t lost = output_drop(s.output), none = output_drop(s.output);
    bool is_full = output_is_full(s.output);
    output_stream_end(a);
    close_stage(&s);
    take(&s);
    assert_int_equal(s.got.len + lost, sent);
    assert_int_equal(none, 0);
    assert_false(is_full);
    assert_int_equal(s.nflowing, 1);
    buf_fini(&s.got);
    close(reader);
}

static void a_full_disk_is_like_a_reader_that_leaves(void **state)
{
    (void)state;
    struct stage s;
    open_stage(&s, open("/dev/full", O_WRONLY | O_CLOEXEC), -1, NULL);
    struct output_stream *a = stream(&s, 0);
    say(a, "words\n");
    say(a, "words\n");
    output_stream_end(a);
    close_stage(&s);
    assert_int_equal(s.ngone, 1);
}

/* As after 2>&1: a line that waits half written is not cut by one of the other stream. */
static void two_streams_into_one_pipe(void **state)
{
    (void)state;
    struct stage s;
    int out, reader, real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    make(KIND_PIPE, &out, &reader);
    dup2(out, STDERR_FILENO);
    open_stage(&s, out, reader, NULL);
    struct output_stream *a = stream(&s, 0),
                         *b = output_stream_new(s.output, OUTPUT_ERR, 0, 0, NULL, false);
    char line[1001], other[] = "other\n", note[] = "muster: note\n";
    memset(line, 'x', sizeof line);
    line[1000] = '\n';
    size_t lines = 0;
    for (; !output_is_full(s.output); lines += 3) {
        output_stream_write(a, line, sizeof line);
        output_stream_write(b, other, sizeof other - 1);
        output_note(s.output, note, sizeof note - 1);
        char little[777]; /* makes room for less than a line */
        ssize_t n = read(reader, little, sizeof little);
        buf_add(&s.got, little, n > 0 ? (size_t)n : 0);
    }
    while (s.nflowing < s.nblocked) {
        take(&s);
        uv_run(&s.loop, UV_RUN_NOWAIT);
    }
    output_stream_end(a);
    output_stream_end(b);
    close_stage(&s);
    dup2(real, STDERR_FILENO);
    close(real);
    take(&s);
    size_t whole = 0, total = 0;
    struct str rest = {s.got.data, s.got.len}, part;
    while (str_split(&rest, '\n', &part) && part.p + part.n < s.got.data + s.got.len) {
        total++;
        whole += part.n == 1000 || part.n == 5 || part.n == 12;
    }
    assert_int_equal(total, lines);
    assert_int_equal(whole, lines);
    buf_fini(&s.got);
    close(reader);
}

static void prefixes(void **state)
{
    (void)state;
    struct stage s;
    int out, reader;
    make(KIND_PIPE, &out, &reader);
    open_stage(&s, out, reader, "{rank}.{local_rank}@{host}{x}: ");
    struct output_stream *a = stream(&s, 12);
    say(a, "one\ntwo\n\n10%\r20%\rend");
    output_stream_end(a);
    output_stream_end(stream(&s, 3));
    close_stage(&s);
    take(&s);
#define P "12.12@box{x}: "
    assert_string_equal(buf_str(&s.got),
                        P "one\n" P "two\n" P "\n" P "10%\r" P "20%\r" P "end\n");
#undef P
    buf_fini(&s.got);
    close(reader);
}

static void prefixes_have_colours_on_a_terminal(void **state)
{
    (void)state;
    struct stage s;
    int out, reader;
    make(KIND_PTY, &out, &reader);
    open_stage(&s, out, reader, "{rank}:");
    struct output_stream *a = stream(&s, 1);
    say(a, "one\n");
    output_stream_end(a);
    close_stage(&s);
    take(&s);
    assert_string_equal(buf_str(&s.got), "\033[33m1:\033[0mone\n");
    buf_fini(&s.got);
    close(reader);
}

static void a_line_in_parts_has_one_prefix(void **state)
{
    (void)state;
    struct stage s;
    int out, reader;
    make(KIND_FILE, &out, &reader);
    open_stage(&s, out, reader, "P:");
    struct output_stream *a = stream(&s, 0);
    enum { SIZE = 1000 * 1000 };
    char *line = mem_alloc(SIZE, 1);
    memset(line, 'x', SIZE);
    line[SIZE - 1] = '\n';
    for (size_t i = 0; i < SIZE; i += 1000)
        output_stream_write(a, line + i, 1000);
    say(a, "next\n");
    output_stream_end(a);
    close_stage(&s);
    take(&s);
    assert_int_equal(s.got.len, 2 + SIZE + 2 + 5);
    assert_memory_equal(s.got.data + 2, line, SIZE);
    assert_string_equal(s.got.data + 2 + SIZE, "P:next\n");
    free(line);
    buf_fini(&s.got);
    close(reader);
}

static void tails(void **state)
{
    (void)state;
    struct stage s;
    open_stage(&s, open("/dev/null", O_WRONLY | O_CLOEXEC), -1, NULL);
    struct output_stream *a = output_stream_new(s.output, OUTPUT_OUT, 0, 0, NULL, true);
    char *empty = mem_strdup(output_stream_tail(a));
    for (int i = 0; i < 1000; i++) {
        char line[32];
        snprintf(line, sizeof line, "line %d\n", i);
        say(a, line);
    }
    char *ten = mem_strdup(output_stream_tail(a));
    output_stream_write(a, "bin\0ary\n", 8);
    char *text = mem_strdup(output_stream_tail(a));
    char big[10000];
    memset(big, 'y', sizeof big);
    output_stream_write(a, big, sizeof big);
    size_t longest = strlen(output_stream_tail(a));
    output_stream_end(a);
    close_stage(&s);
    assert_string_equal(empty, "");
    assert_string_equal(ten, "line 990\nline 991\nline 992\nline 993\nline 994\nline 995\n"
                             "line 996\nline 997\nline 998\nline 999\n");
    assert_non_null(strstr(text, "line 999\nbin?ary\n"));
    assert_int_equal(longest, 2048);
    free(empty);
    free(ten);
    free(text);
}

static void a_log_file_has_the_bytes_as_they_are(void **state)
{
    (void)state;
    struct stage s;
    int out, reader;
    char path[] = "/tmp/muster-test-XXXXXX";
    int log_reader = mkstemp(path);
    struct err e;
    struct log_file *log = log_file_open(path, 0, &e);
    unlink(path);
    make(KIND_FILE, &out, &reader);
    open_stage(&s, out, reader, "P:");
    struct output_stream *a = output_stream_new(s.output, OUTPUT_OUT, 0, 0, log, false);
    say(a, "one\nta");
    say(a, "il");
    output_stream_end(a);
    close_stage(&s);
    char text[64] = "";
    assert_int_equal(read(log_reader, text, sizeof text), 8);
    assert_string_equal(text, "one\ntail");
    close(log_reader);
    close(reader);
}

/* Lets the time of every unfinished line pass. */
static void pass_time(struct stage *s)
{
    for (uint64_t at; (at = output_deadline(s->output)) != UINT64_MAX;)
        output_tick(s->output, at);
}

static void an_unfinished_line_shows(void **state)
{
    (void)state;
    static const struct {
        enum kind kind;
        const char *prefix;
        uint32_t nworkers;
        const char *early, *all;
    } rows[] = {
        {KIND_PIPE, NULL, 1, "(Pdb) ", "(Pdb) other\nn\n$ x\n"},
        {KIND_PIPE, NULL, 2, "", "other\n(Pdb) n\n$ x\n"},
        {KIND_PTY, NULL, 2, "(Pdb) ", "(Pdb) \nother\nn\n$ x\n"},
        {KIND_PIPE, "{rank}:", 2, "0:(Pdb) ", "0:(Pdb) \n1:other\n0:n\n0:$ x\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stage s;
        int out, reader;
        make(rows[i].kind, &out, &reader);
        open_stage(&s, out, reader, rows[i].prefix);
        output_expect(s.output, rows[i].nworkers);
        struct output_stream *a = stream(&s, 0), *b = stream(&s, 1);
        say(a, "(Pdb) ");
        pass_time(&s);
        take(&s);
        assert_string_equal(buf_str(&s.got), rows[i].early);
        say(b, "other\n");
        say(a, "n\n$ ");
        pass_time(&s);
        say(a, "x\n"); /* goes on in the same line: no second prefix */
        output_stream_end(a);
        output_stream_end(b);
        close_stage(&s);
        take(&s);
        assert_string_equal(buf_str(&s.got), rows[i].all);
        buf_fini(&s.got);
        close(reader);
    }
}

static void equal_lines_are_shown_once(void **state)
{
    (void)state;
    struct stage s;
    int out, reader;
    make(KIND_PIPE, &out, &reader);
    open_styled(&s, out, reader, &(struct output_style){"{rank}:", "box", false, true});
    struct output_stream *streams[3];
    for (uint32_t i = 0; i < 3; i++) {
        streams[i] = stream(&s, i);
        say(streams[i], "same\n");
    }
    say(streams[1], "own\n");
    take(&s);
    assert_int_equal(s.got.len, 0); /* held */
    pass_time(&s);
    take(&s);
    assert_string_equal(buf_str(&s.got), "x3: same\n1:own\n");
    buf_reset(&s.got);
    say(streams[0], "again\n$ ");
    pass_time(&s);
    say(streams[0], "y\n");
    output_expect(s.output, 2);
    say(streams[1], "end\n");
    output_stream_end(streams[0]);
    output_stream_end(streams[1]);
    say(streams[2], "end\n"); /* all have said it */
    take(&s);
    assert_string_equal(buf_str(&s.got), "0:again\n0:$ y\nx2: end\n");
    buf_reset(&s.got);
    say(streams[2], "last\n");
    output_stream_end(streams[2]); /* nothing can join any more */
    close_stage(&s);
    take(&s);
    assert_string_equal(buf_str(&s.got), "2:last\n");
    buf_fini(&s.got);
    close(reader);
}

static void muster_speaks_on_a_line_of_its_own(void **state)
{
    (void)state;
    struct stage s;
    int out, reader, real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    make(KIND_PIPE, &out, &reader);
    dup2(out, STDERR_FILENO);
    open_stage(&s, out, reader, "{rank}:");
    struct output_stream *a = stream(&s, 0);
    say(a, "10%\r");
    pass_time(&s);
    say(a, "\n20%");
    pass_time(&s);
    output_note(s.output, "muster: note\n", 13);
    say(a, "30%");
    pass_time(&s);
    output_stream_end(a);
    close_stage(&s);
    dup2(real, STDERR_FILENO);
    close(real);
    take(&s);
    assert_string_equal(buf_str(&s.got), "0:10%\r\n0:20%\nmuster: note\n0:30%\n");
    buf_fini(&s.got);
    close(reader);
}

/* A reader that takes nothing: what was quiet only because of that is not cut. */
static void nothing_is_shown_early_while_the_reader_waits(void **state)
{
    (void)state;
    struct stage s;
    int out, reader;
    make(KIND_PIPE, &out, &reader);
    open_stage(&s, out, reader, "{rank}:");
    struct output_stream *a = stream(&s, 0), *b = stream(&s, 1);
    while (!output_is_full(s.output))
        say(a, "a line\n");
    say(b, "par");
    assert_true(output_deadline(s.output) == UINT64_MAX);
    output_tick(s.output, UINT64_MAX - 1);
    output_tick(s.output, UINT64_MAX - 1);
    while (s.nflowing < s.nblocked) {
        take(&s);
        uv_run(&s.loop, UV_RUN_NOWAIT);
    }
    assert_true(output_deadline(s.output) != UINT64_MAX);
    say(b, "tial\n");
    output_stream_end(a);
    output_stream_end(b);
    close_stage(&s);
    take(&s);
    assert_string_equal(buf_str(&s.got) + s.got.len - 17, "a line\n1:partial\n");
    buf_fini(&s.got);
    close(reader);
}

static void torchruns_prefix_and_filters(void **state)
{
    (void)state;
    struct stage s;
    int out, reader;
    make(KIND_PIPE, &out, &reader);
    open_stage(&s, out, reader, "[${role_name}${local_rank}]:");
    output_use_dollars(s.output, "trainer");
    char path[] = "/tmp/muster-test-XXXXXX";
    close(mkstemp(path));
    struct err e;
    struct log_file *file = log_file_open(path, 0, &e);
    struct output_stream *bare = stream(&s, 0), *tee = stream(&s, 1);
    output_stream_bare(bare);
    output_stream_filter(tee, file, "apple,pear");
    say(bare, "plain apple\n");
    say(tee, "an app");
    say(tee, "le\nnothing\na pe");
    output_stream_end(bare);
    say(tee, "ar");
    output_stream_end(tee);
    take(&s);
    assert_non_null(strstr(buf_str(&s.got), "plain apple\n"));
    assert_null(strstr(buf_str(&s.got), "]:plain"));
    assert_non_null(strstr(buf_str(&s.got), "[trainer1]:an apple\n[trainer1]:nothing\n"));
    log_file_close(file);
    char text[200] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    unlink(path);
    assert_string_equal(text, "[trainer1]:an apple\n[trainer1]:a pear\n");
    close_stage(&s);
    close(s.reader);
    buf_fini(&s.got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_sink),
        cmocka_unit_test(a_pipe_grows_and_never_shrinks),
        cmocka_unit_test(a_slow_reader_gets_it_all),
        cmocka_unit_test(a_reader_that_leaves_is_told_once),
        cmocka_unit_test(a_reader_that_leaves_while_we_wait),
        cmocka_unit_test(what_waits_can_be_dropped),
        cmocka_unit_test(a_full_disk_is_like_a_reader_that_leaves),
        cmocka_unit_test(two_streams_into_one_pipe),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(prefixes_have_colours_on_a_terminal),
        cmocka_unit_test(a_line_in_parts_has_one_prefix),
        cmocka_unit_test(an_unfinished_line_shows),
        cmocka_unit_test(equal_lines_are_shown_once),
        cmocka_unit_test(muster_speaks_on_a_line_of_its_own),
        cmocka_unit_test(nothing_is_shown_early_while_the_reader_waits),
        cmocka_unit_test(tails),
        cmocka_unit_test(a_log_file_has_the_bytes_as_they_are),
        cmocka_unit_test(torchruns_prefix_and_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

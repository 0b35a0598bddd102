/* Messages to bytes and back, and everything that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "launcher/core/link_wire.h"
#include "launcher/core/event_text.h"

static const struct order order = {
    .job_id = "job-7",
    .generation = 3,
    .max_restarts = 4,
    .node_rank = 5,
    .nnodes = 6,
    .first_rank = 40,
    .nworkers = 8,
    .world_size = 48,
    .master_addr = "fd00::1",
    .master_port = 65535,
};
static const struct err refusal = {ERR_GPU_REQUEST, 13, "no GPU 9 here"};

static const uint32_t nodes[] = {0, 3, 0xfffffffe};
static const struct mpi_node layout_nodes[] = {{"a", 0, 2}, {"b.c", 2, 0}, {"d", 2, 5}};
static const struct mpi_layout layout = {layout_nodes, 3, 7};

/* One of each type, in the order of the enum, each with all its fields. */
static const struct frame frames[] = {
    {FRAME_HELLO, 1, {.hello = {"n1", 0xfffffffe, 5, 6, 77, "10.0.0.1", "10.9.0.1"}}},
    {FRAME_PLAN, 2, {.plan = {&order}}},
    {FRAME_READY, 3, {.ready = {MPI_MODE_PMI}}},
    {FRAME_REFUSED, 4, {.refused = {&refusal, "n4", 4}}},
    {FRAME_START, 5, {.start = {&layout}}},
    {FRAME_STARTED, 6, {.started = {7, 4242424242}}},
    {FRAME_SIGNAL, 7, {.signal = {64}}},
    {FRAME_STOP, 8, {.stop = {15, 0x123456789abcdef0, true, {10, 20000}}}},
    {FRAME_EXITED,
     9,
     {.exited = {7,
                 99,
                 {END_SIGNAL, 11, true},
                 "GPU 1 (GPU-1f9b10d2)",
                 {"last\nlines", NULL, "out of memory"}}}},
    {FRAME_REAPED, 0xffffffff, {{0}}},
    {FRAME_BEAT, 0, {.beat = {true}}},
    {FRAME_BYE, 1, {.bye = {137, "muster: rank 3 failed first\n"}}},
    {FRAME_INTERRUPT, 2, {.signal = {2}}},
    {FRAME_HUNG, 3, {.hung = {HANG_HEARTBEAT, 5, 60001}}},
    {FRAME_STACKS, 4, {.stacks = {true}}},
    {FRAME_STACK,
     5,
     {.stack = {3, {"spin (train.py:7)", {true, 17}, {true, 900}, "save", "ok"}}}},
    {FRAME_STACKED, 6, {.stacked = {"/logs/stacks-0.txt"}}},
    {FRAME_GATHER, 7, {.gather = {"job-1/fence", nodes, 3, {true, 12}, {"a\0b=\n", 5}}}},
    {FRAME_WANTED, 9, {.gather = {"job-1/modex", nodes, 2, {true, 4}, {NULL, 0}}}},
    {FRAME_GATHERED, 8, {.gathered = {"job-1/fence", true, {"\0", 1}}}},
    {FRAME_SAMPLE, 7, {{0}}},
    {FRAME_SAMPLED, 7, {.sampled = {{"rank,0,1,GPU-1,17,30,100;why,a, b;", 34}}}},
};

static void text_of(const struct frame *frame, struct buf *out)
{
    struct event ev = {.type = EV_FRAME, .u.frame.frame = *frame};
    buf_init(out, 0);
    event_format(&ev, out);
}

static void encode(const struct frame *frame, struct buf *out)
{
    buf_init(out, 0);
    link_wire_frame(frame, out);
}

/* In a block of its own size, so that a read past it shows. */
static int decode(const char *p, size_t n, struct wire_message *m, struct err *e)
{
    char *copy = malloc(n ? n : 1);
    if (n)
        memcpy(copy, p, n);
    int rc = link_wire_decode((struct str){copy, n}, m, e);
    if (rc == 0)
        wire_message_fini(m);
    free(copy);
    return rc;
}

static void expect_bad(const struct buf *b, const char *says)
{
    struct wire_message m;
    struct err e = {ERR_OK, 0, ""};
    assert_int_equal(decode(b->data, b->len, &m, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    if (!strstr(e.text, says))
        fail_msg("\"%s\" does not say \"%s\"", e.text, says);
}

static void expect_taken(const struct buf *b)
{
    struct wire_message m;
    struct err e = {ERR_OK, 0, ""};
    if (decode(b->data, b->len, &m, &e) < 0)
        fail_msg("%s", e.text);
}

/* event_text.c's own table of fields says whether one was forgotten. */
static void each_frame_comes_back(void **state)
{
    (void)state;
    assert_int_equal(sizeof frames / sizeof *frames, FRAME_TYPE_COUNT);
    for (int i = 0; i < FRAME_TYPE_COUNT; i++) {
        struct wire_message m;
        struct buf b, want, got;
        struct err e;
        assert_int_equal(frames[i].type, i);
        encode(&frames[i], &b);
        assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
        assert_int_equal(m.kind, WIRE_KIND_FRAME);
        assert_int_equal(m.u.frame.generation, frames[i].generation);
        text_of(&frames[i], &want);
        text_of(&m.u.frame, &got);
        assert_string_equal(buf_str(&got), buf_str(&want));
        wire_message_fini(&m);
        buf_fini(&b);
        buf_fini(&want);
        buf_fini(&got);
    }
}

static void what_texts_do_not_show(void **state)
{
    struct wire_message m;
    struct buf b;
    struct err e;
    (void)state;
    encode(&frames[FRAME_PLAN], &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    const struct order *o = m.u.frame.u.plan.order;
    assert_ptr_equal(o, &m.order);
    assert_string_equal(o->job_id, order.job_id);
    assert_string_equal(o->master_addr, order.master_addr);
    assert_true(o->generation == 3 && o->max_restarts == 4 && o->node_rank == 5);
    assert_true(o->nnodes == 6 && o->first_rank == 40 && o->nworkers == 8);
    assert_true(o->world_size == 48 && o->master_port == 65535);
    buf_fini(&b);
    encode(&frames[FRAME_REFUSED], &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_int_equal(m.u.frame.u.refused.err->code, ERR_GPU_REQUEST);
    assert_int_equal(m.u.frame.u.refused.err->sys, 13);
    buf_fini(&b);
    encode(&frames[FRAME_EXITED], &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_null(m.u.frame.u.exited.evidence.error);
    assert_string_equal(m.u.frame.u.exited.evidence.tail, "last\nlines");
    buf_fini(&b);
}

static void what_mpi_nodes_say(void **state)
{
    struct wire_message m;
    struct buf b;
    struct err e;
    (void)state;
    encode(&frames[FRAME_START], &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    const struct mpi_layout *l = m.u.frame.u.start.layout;
    assert_true(l->nnodes == 3 && l->world_size == 7 && mpi_layout_is_whole(l));
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(l->nodes[i].host, layout_nodes[i].host);
        assert_int_equal(l->nodes[i].first_rank, layout_nodes[i].first_rank);
        assert_int_equal(l->nodes[i].nranks, layout_nodes[i].nranks);
    }
    wire_message_fini(&m);
    buf_fini(&b);
    encode(&(struct frame){FRAME_START, 5, {{0}}}, &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_null(m.u.frame.u.start.layout);
    wire_message_fini(&m);
    buf_fini(&b);
    encode(&frames[FRAME_GATHER], &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_memory_equal(m.u.frame.u.gather.nodes, nodes, sizeof nodes);
    assert_int_equal(m.u.frame.u.gather.data.n, 5);
    assert_memory_equal(m.u.frame.u.gather.data.p, "a\0b=\n", 5);
    wire_message_fini(&m);
    buf_fini(&b);
}

static void what_mpi_nodes_do_not_say(void **state)
{
    static const uint32_t back[] = {3, 2};
    static const struct mpi_node many[] = {{"a", 0, INT32_MAX}, {"b", INT32_MAX, 1}};
    static const struct mpi_layout too_many = {many, 2, INT32_MAX};
    struct buf b;
    (void)state;
    encode(&(struct frame){FRAME_READY, 1, {.ready = {MPI_MODE_AUTO}}}, &b);
    expect_bad(&b, "ready.mpi");
    buf_fini(&b);
    encode(&(struct frame){FRAME_GATHER, 1, {.gather = {"f", back, 2, {false, 0}, {"", 0}}}},
           &b);
    expect_bad(&b, "gather");
    buf_fini(&b);
    encode(&(struct frame){FRAME_START, 1, {.start = {&too_many}}}, &b);
    expect_bad(&b, "start.layout");
    buf_fini(&b);
    char *data = calloc(1, (15 << 20) + 1);
    encode(&(struct frame){FRAME_GATHERED, 1, {.gathered = {"f", false, {data, 15 << 20}}}},
           &b);
    expect_taken(&b);
    buf_fini(&b);
    encode(
        &(struct frame){FRAME_GATHERED, 1, {.gathered = {"f", false, {data, (15 << 20) + 1}}}},
        &b);
    expect_bad(&b, "gathered.data");
    buf_fini(&b);
    free(data);
}

/* Two builds of one version must understand each other. */
static void the_layout_stays(void **state)
{
    static const char stop[] = "\x01\x08\x08\0\0\0\x0f\xf0\xde\xbc\x9a\x78\x56\x34\x12\x01"
                               "\x0a\x20\x4e\0\0\0\0\0\0",
                      refused[] = "\x01\x04\x04\0\0\0"
                                  "\x0b\0\0\0GPU_REQUEST\0"
                                  "\x0d\0\0\0"
                                  "\x0d\0\0\0no GPU 9 here\0"
                                  "\x01\x02\0\0\0n4\0"
                                  "\x04\0\0\0";
    struct buf b;
    (void)state;
    encode(&frames[FRAME_STOP], &b);
    assert_int_equal(b.len, sizeof stop - 1);
    assert_memory_equal(b.data, stop, b.len);
    buf_fini(&b);
    encode(&frames[FRAME_REFUSED], &b);
    assert_int_equal(b.len, sizeof refused - 1);
    assert_memory_equal(b.data, refused, b.len);
    buf_fini(&b);
    for (int i = 0; i < FRAME_TYPE_COUNT; i++) {
        encode(&frames[i], &b);
        assert_int_equal(b.data[0], 1);
        assert_int_equal(b.data[1], i + 1);
        buf_fini(&b);
    }
}

static void cut_off_or_followed(void **state)
{
    (void)state;
    for (int i = 0; i < FRAME_TYPE_COUNT; i++) {
        struct wire_message m;
        struct buf b;
        struct err e;
        encode(&frames[i], &b);
        for (size_t n = 0; n < b.len; n++) {
            assert_int_equal(decode(b.data, n, &m, &e), -1);
            assert_int_equal(e.code, ERR_PROTOCOL);
        }
        buf_addc(&b, '\0');
        expect_bad(&b, "is followed by more");
        buf_fini(&b);
    }
}

static void out_of_range(void **state)
{
    static const struct {
        enum frame_type type;
        size_t at;
        unsigned char value;
        const char *says;
    } rows[] = {
        {FRAME_STOP, 0, 2, "messages have version 2 and this muster's version 1"},
        {FRAME_STOP, 0, 0, "version 0"},
        {FRAME_STOP, 1, 0, "its kind: is unknown"},
        {FRAME_STOP, 1, 60, "its kind: is unknown"},
        {FRAME_STOP, 6, 0, "stop.signo: is out of range"},
        {FRAME_STOP, 6, 65, "stop.signo: is out of range"},
        {FRAME_STOP, 15, 2, "stop.is_final: is out of range"},
        {FRAME_SIGNAL, 6, 255, "signal.signo: is out of range"},
        {FRAME_HELLO, 7, 1, "hello.host: is too long"},
        {FRAME_HELLO, 6, 200, "hello.host: is cut off"},
        {FRAME_HELLO, 6, 1, "hello.host: is no text"},
        {FRAME_HELLO, 10, 0, "hello.host: is no text"},
        {FRAME_HELLO, 12, 'x', "hello.host: is no text"},
        {FRAME_REFUSED, 10, 'X', "refused.err: is an error that this muster does not know"},
        {FRAME_REFUSED, 23, 16, "refused.err: is out of range"},
        {FRAME_EXITED, 14, 4, "exited.end: is out of range"},
        {FRAME_EXITED, 14, END_EXIT, "exited.end: is out of range"}, /* core of an exit */
        {FRAME_EXITED, 15, 0, "exited.end: is out of range"},
        {FRAME_EXITED, 16, 1, "exited.end: is out of range"},
        {FRAME_EXITED, 19, 2, "exited.end: is out of range"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b;
        encode(&frames[rows[i].type], &b);
        b.data[rows[i].at] = (char)rows[i].value;
        expect_bad(&b, rows[i].says);
        buf_fini(&b);
    }
    struct err none = {ERR_INTERNAL, 0, ""};
    struct frame frame = {FRAME_REFUSED, 0, {.refused = {.err = &none}}};
    struct buf b;
    encode(&frame, &b);
    expect_taken(&b);
    buf_fini(&b);
    buf_init(&b, 0);
    buf_add(&b, "\1\4\0\0\0\0\2\0\0\0OK\0\0\0\0\0\0\0\0\0\0", 22);
    expect_bad(&b, "is an error that this muster does not know"); /* no refusal without one */
    buf_fini(&b);
}

static void long_texts_are_cut_at_a_character(void **state)
{
    struct frame frame = frames[FRAME_EXITED];
    struct wire_message m;
    struct buf b;
    struct err e;
    char gpu[400];
    char *tail = malloc(1 << 20);
    (void)state;
    for (size_t i = 0; i + 1 < sizeof gpu; i += 2)
        memcpy(gpu + i, "\xc3\xa4", 2);
    gpu[sizeof gpu - 2] = '\0';
    memset(tail, 't', (1 << 20) - 1);
    tail[(1 << 20) - 1] = '\0';
    frame.u.exited.gpu = gpu;
    frame.u.exited.evidence.tail = tail;
    encode(&frame, &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_int_equal(strlen(m.u.frame.u.exited.gpu), 254);
    assert_int_equal(strlen(m.u.frame.u.exited.evidence.tail), 256 * 1024);
    buf_fini(&b);
    free(tail);
    frame.u.exited.gpu = NULL;
    frame.u.exited.evidence = (struct evidence){NULL, NULL, NULL};
    encode(&frame, &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_string_equal(m.u.frame.u.exited.gpu, "");
    assert_null(m.u.frame.u.exited.evidence.tail);
    buf_fini(&b);
}

/* ---- who */

static void who_comes_back(void **state)
{
    struct wire_who in = {.node = WIRE_NONE, .task = 3, .host = "n4"};
    struct wire_message m;
    struct buf b;
    struct err e;
    (void)state;
    buf_init(&b, 0);
    link_wire_who(&in, &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_int_equal(m.kind, WIRE_KIND_WHO);
    assert_int_equal(m.u.who.node, WIRE_NONE);
    assert_int_equal(m.u.who.task, 3);
    assert_string_equal(m.u.who.host, "n4");
    for (size_t n = 0; n < b.len; n++)
        assert_int_equal(decode(b.data, n, &m, &e), -1);
    buf_fini(&b);
}

/* ---- setup */

static const char *const args[] = {"-n", "2", "", "a b\nc", NULL};
static const char *const env[] = {"PATH=/bin", "EMPTY=", "EQ=a=b", NULL};

static void setup_comes_back(void **state)
{
    struct wire_setup in = {.node = 9,
                            .host = "n9",
                            .dir = "/d",
                            .addr = "fd00::9",
                            .iface = "ib0",
                            .line = "hosts:9",
                            .args = args,
                            .nargs = 4,
                            .env = env,
                            .nenv = 3};
    struct wire_message m;
    struct buf b;
    struct err e;
    (void)state;
    buf_init(&b, 0);
    assert_int_equal(link_wire_setup(&in, &b, &e), 0);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_int_equal(m.kind, WIRE_KIND_SETUP);
    const struct wire_setup *out = &m.u.setup;
    assert_int_equal(out->node, 9);
    assert_string_equal(out->host, "n9");
    assert_string_equal(out->dir, "/d");
    assert_string_equal(out->addr, "fd00::9");
    assert_string_equal(out->iface, "ib0");
    assert_string_equal(out->line, "hosts:9");
    assert_int_equal(out->nargs, 4);
    assert_int_equal(out->nenv, 3);
    for (int i = 0; i < 4; i++)
        assert_string_equal(out->args[i], args[i]);
    for (int i = 0; i < 3; i++)
        assert_string_equal(out->env[i], env[i]);
    assert_null(out->args[4]);
    assert_null(out->env[3]);
    wire_message_fini(&m);
    for (size_t n = 0; n < b.len; n++)
        assert_int_equal(decode(b.data, n, &m, &e), -1);
    buf_addc(&b, 'x');
    expect_bad(&b, "is followed by more");
    buf_reset(&b);
    in = (struct wire_setup){.dir = "", .args = args + 4, .env = env + 3};
    assert_int_equal(link_wire_setup(&in, &b, &e), 0);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_string_equal(m.u.setup.host, "");
    assert_string_equal(m.u.setup.addr, "");
    assert_null(m.u.setup.args[0]);
    assert_null(m.u.setup.env[0]);
    wire_message_fini(&m);
    buf_fini(&b);
}

static void expect_cannot_travel(const struct wire_setup *s, const char *says)
{
    struct buf b;
    struct err e = {ERR_OK, 0, ""};
    buf_init(&b, 0);
    buf_adds(&b, "before");
    assert_int_equal(link_wire_setup(s, &b, &e), -1);
    assert_int_equal(e.code, ERR_USAGE);
    if (!strstr(e.text, says))
        fail_msg("\"%s\" does not say \"%s\"", e.text, says);
    assert_string_equal(buf_str(&b), "before");
    buf_fini(&b);
}

static void setups_that_cannot_travel(void **state)
{
    enum { MANY = 65537, LONG = 131072 };
    char *big = malloc(LONG + 1);
    const char **list = malloc(MANY * sizeof *list);
    (void)state;
    memset(big, 'x', LONG);
    big[LONG] = '\0';
    for (size_t i = 0; i < MANY; i++)
        list[i] = big;
    struct wire_setup s = {.dir = "/", .args = list, .env = env, .nargs = 1};
    expect_cannot_travel(&s, "an argument (xxxxx");
    expect_cannot_travel(&s, "has 131072 bytes; at most 131071 can travel to a node");
    s.nargs = MANY;
    expect_cannot_travel(&s, "65537 times an argument; at most 65536");
    big[LONG - 1] = '\0';
    s.nargs = 1000;
    expect_cannot_travel(&s, "more than the 16777216 bytes");
    s.nargs = 0;
    s.dir = big;
    expect_cannot_travel(&s, "the working directory (xxx");
    s.dir = "/";
    s.host = big;
    expect_cannot_travel(&s, "the host's name");
    s.host = NULL;
    static const char *const bad[] = {"NOVALUE", "=x"};
    s.env = bad;
    s.nenv = 1;
    expect_cannot_travel(&s, "a variable is NAME=value, not \"NOVALUE\"");
    s.env = bad + 1;
    expect_cannot_travel(&s, "not \"=x\"");
    free(list);
    free(big);
}

static void setups_that_are_none(void **state)
{
    struct wire_setup s = {.dir = "/", .args = args, .nargs = 1, .env = env, .nenv = 1};
    struct buf b;
    struct err e;
    (void)state;
    buf_init(&b, 0);
    assert_int_equal(link_wire_setup(&s, &b, &e), 0);
    /* version, kind, node, host "", dir "/", four texts "": then the count of arguments */
    size_t count = 2 + 4 + 5 + 6 + 4 * 5, value = b.len - 1 - strlen(env[0]);
    b.data[count + 2] = 1; /* 65537 */
    expect_bad(&b, "arguments: is out of range");
    b.data[count + 2] = 0;
    b.data[count + 1] = (char)0xff; /* more than the rest could hold */
    expect_bad(&b, "arguments: is cut off");
    b.data[count + 1] = 0;
    expect_taken(&b);
    b.data[value + 4] = '-';
    expect_bad(&b, "environment: is not NAME=value");
    b.data[value] = '=';
    expect_bad(&b, "environment: is not NAME=value");
    buf_fini(&b);
}

/* ---- output */

static void output_comes_back(void **state)
{
    static const char bytes[] = "half a line\0\xff";
    struct wire_output in = {.rank = 70000, .stream = 2, .bytes = {bytes, sizeof bytes}};
    struct wire_message m;
    struct buf b;
    struct err e;
    (void)state;
    buf_init(&b, 0);
    link_wire_output(&in, &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_int_equal(m.kind, WIRE_KIND_OUTPUT);
    assert_int_equal(m.u.output.rank, 70000);
    assert_int_equal(m.u.output.stream, 2);
    assert_int_equal(m.u.output.bytes.n, sizeof bytes);
    assert_memory_equal(m.u.output.bytes.p, bytes, sizeof bytes);
    for (size_t n = 0; n < 7; n++)
        assert_int_equal(decode(b.data, n, &m, &e), -1);
    b.data[6] = 3;
    expect_bad(&b, "stream: is out of range");
    b.data[6] = 0;
    expect_bad(&b, "stream: is out of range");
    b.data[6] = 1;
    char *much = calloc(1, LINK_WIRE_OUTPUT_MAX);
    buf_add(&b, much, LINK_WIRE_OUTPUT_MAX);
    expect_bad(&b, "output: is too long");
    free(much);
    buf_fini(&b);
}

/* ---- input */

static void input_comes_back(void **state)
{
    static const char bytes[] = "a\0b\xff";
    struct wire_message m;
    struct buf b;
    struct err e;
    (void)state;
    buf_init(&b, 0);
    link_wire_more(&b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_int_equal(m.kind, WIRE_KIND_MORE);
    buf_addc(&b, 'x');
    expect_bad(&b, "is followed by more");
    buf_reset(&b);
    link_wire_input((struct str){bytes, sizeof bytes}, &b);
    assert_int_equal(link_wire_decode((struct str){b.data, b.len}, &m, &e), 0);
    assert_int_equal(m.kind, WIRE_KIND_INPUT);
    assert_int_equal(m.u.input.n, sizeof bytes);
    assert_memory_equal(m.u.input.p, bytes, sizeof bytes);
    assert_int_equal(link_wire_decode((struct str){b.data, 2}, &m, &e), 0); /* the end */
    assert_int_equal(m.u.input.n, 0);
    char *much = calloc(1, LINK_WIRE_OUTPUT_MAX);
    buf_add(&b, much, LINK_WIRE_OUTPUT_MAX);
    expect_bad(&b, "input: is too long");
    free(much);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_frame_comes_back),
        cmocka_unit_test(what_texts_do_not_show),
        cmocka_unit_test(what_mpi_nodes_say),
        cmocka_unit_test(what_mpi_nodes_do_not_say),
        cmocka_unit_test(the_layout_stays),
        cmocka_unit_test(cut_off_or_followed),
        cmocka_unit_test(out_of_range),
        cmocka_unit_test(long_texts_are_cut_at_a_character),
        cmocka_unit_test(who_comes_back),
        cmocka_unit_test(setup_comes_back),
        cmocka_unit_test(setups_that_cannot_travel),
        cmocka_unit_test(setups_that_are_none),
        cmocka_unit_test(output_comes_back),
        cmocka_unit_test(input_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The handshake and sealed frames, byte by byte, without a socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rendezvous/link_auth.h"

enum { HELLO = 56, REPLY = 72, PROOF = 32, HEADER = 24, REFUSAL = 8 };

struct side {
    struct link_auth *auth;
    struct buf out; /* what it has to say */
    enum link_auth_result result;
    struct err e;
};

struct pair {
    struct link_key *head_key, *node_key;
    struct side head, node;
};

static const unsigned char secret_1[LINK_SECRET_SIZE] = "0123456789abcdef0123456789abcde",
                           secret_2[LINK_SECRET_SIZE] = "0123456789abcdef0123456789abcdf";

static struct link_key *key(const unsigned char *secret, const char *job)
{
    struct err e;
    struct link_key *k =
        secret ? link_key_from_secret(secret, job, &e) : link_key_from_id(job, &e);
    assert_non_null(k);
    return k;
}

static void side_begin(struct side *s, const struct link_key *k, enum link_role role)
{
    buf_init(&s->out, 0);
    s->e = (struct err){ERR_OK, 0, ""};
    s->result = LINK_AUTH_MORE;
    s->auth = link_auth_new(k, role, &s->out);
}

/* The keys now belong to the pair. */
static void begin(struct pair *p, struct link_key *head, struct link_key *node)
{
    p->head_key = head;
    p->node_key = node;
    side_begin(&p->head, head, LINK_HEAD);
    side_begin(&p->node, node, LINK_NODE);
}

static void end(struct pair *p)
{
    link_auth_free(p->head.auth);
    link_auth_free(p->node.auth);
    buf_fini(&p->head.out);
    buf_fini(&p->node.out);
    link_key_free(p->head_key);
    link_key_free(p->node_key);
}

/* Gives s these bytes; what it does not take must be nothing while it wants more. */
static void give(struct side *s, const char *p, size_t n)
{
    struct str in = {p, n};
    s->result = link_auth_take(s->auth, &in, &s->out, &s->e);
}

/* Gives what one has to say to the other. */
static void pass(struct side *from, struct side *to)
{
    struct str in = {from->out.data, from->out.len};
    to->result = link_auth_take(to->auth, &in, &to->out, &to->e);
    buf_consume(&from->out, from->out.len - in.n);
}

static void expect_refused(const struct side *s, enum err_code code, int status,
                           const char *text)
{
    assert_int_equal(s->result, LINK_AUTH_REFUSED);
    assert_string_equal(s->e.text, text);
    assert_int_equal(s->e.code, code);
    assert_int_equal(err_exit_status(s->e.code), status);
}

static void shake(struct pair *p)
{
    pass(&p->node, &p->head);
    assert_int_equal(p->head.result, LINK_AUTH_MORE);
    assert_int_equal(p->head.out.len, REPLY);
    pass(&p->head, &p->node);
    assert_int_equal(p->node.result, LINK_AUTH_OPEN);
    assert_int_equal(p->node.out.len, PROOF + HEADER);
    pass(&p->node, &p->head);
    assert_int_equal(p->head.result, LINK_AUTH_OPEN);
    assert_int_equal(p->head.out.len, HEADER);
    assert_int_equal(p->node.out.len, HEADER); /* for frames, not for the handshake */
}

static void open_pair(struct pair *p)
{
    begin(p, key(secret_1, "job"), key(secret_1, "job"));
    shake(p);
}

/* ---- who is let in */

static void same_secret(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    end(&p);
    begin(&p, key(NULL, "job"), key(NULL, "job"));
    assert_false(link_key_has_secret(p.head_key));
    shake(&p);
    end(&p);
}

static void one_byte_at_a_time(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(secret_1, "job"), key(secret_1, "job"));
    struct side *sides[] = {&p.node, &p.head};
    struct buf seen[2];
    buf_init(&seen[0], 0);
    buf_init(&seen[1], 0);
    for (int turn = 0; p.head.result != LINK_AUTH_OPEN; turn++) {
        assert_true(turn < 3);
        struct side *from = sides[turn % 2], *to = sides[(turn + 1) % 2];
        struct buf *held = &seen[turn % 2];
        for (size_t i = 0; i < from->out.len && to->result == LINK_AUTH_MORE; i++) {
            buf_addc(held, from->out.data[i]);
            struct str in = {held->data, held->len};
            to->result = link_auth_take(to->auth, &in, &to->out, &to->e);
            buf_consume(held, held->len - in.n);
        }
        buf_reset(&from->out);
    }
    assert_int_equal(p.node.result, LINK_AUTH_OPEN);
    buf_fini(&seen[0]);
    buf_fini(&seen[1]);
    end(&p);
}

static void another_secret(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(secret_1, "job"), key(secret_2, "job"));
    pass(&p.node, &p.head);
    pass(&p.head, &p.node);
    expect_refused(&p.node, ERR_AUTH, 77,
                   "the head could not prove that it has the secret of this job; use the same "
                   "on every node");
    assert_int_equal(p.node.out.len, PROOF);
    pass(&p.node, &p.head);
    expect_refused(&p.head, ERR_AUTH, 77,
                   "the node has another secret; use the same on every node");
    end(&p);
}

static void only_the_head_has_a_secret(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(secret_1, "job"), key(NULL, "job"));
    pass(&p.node, &p.head);
    expect_refused(&p.head, ERR_AUTH, 77,
                   "the node has no secret and this side has one; give the node the same "
                   "--secret-file");
    assert_int_equal(p.head.out.len, REFUSAL);
    pass(&p.head, &p.node);
    expect_refused(&p.node, ERR_AUTH, 77,
                   "the head has a secret and this side has none; give --secret-file here");
    end(&p);
}

static void only_the_node_has_a_secret(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(NULL, "job"), key(secret_1, "job"));
    pass(&p.node, &p.head);
    expect_refused(&p.head, ERR_AUTH, 77,
                   "the node has a secret and this side has none; give --secret-file here");
    pass(&p.head, &p.node);
    expect_refused(&p.node, ERR_AUTH, 77,
                   "the head has no secret and this side has one; give the head the same "
                   "--secret-file");
    end(&p);
}

/* The name is told to who proved the secret, and to nobody else. */
static void another_job_with_the_same_secret(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(secret_1, "theirs\x1b"), key(secret_1, "ours"));
    pass(&p.node, &p.head);
    assert_int_equal(p.head.out.len, REPLY);
    pass(&p.head, &p.node);
    assert_int_equal(p.node.result, LINK_AUTH_MORE);
    assert_int_equal(p.node.out.len, PROOF);
    pass(&p.node, &p.head);
    expect_refused(&p.head, ERR_UNAVAILABLE, 69,
                   "the node belongs to another job than theirs\x1b");
    assert_null(memmem(p.head.out.data, p.head.out.len, "theirs", 6)); /* sealed */
    pass(&p.head, &p.node);
    expect_refused(&p.node, ERR_UNAVAILABLE, 69,
                   "this port belongs to job theirs?, not to ours");
    end(&p);
}

static void another_job_without_a_secret(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(NULL, "theirs"), key(NULL, "ours"));
    assert_null(memmem(p.node.out.data, p.node.out.len, "ours", 4));
    pass(&p.node, &p.head);
    expect_refused(&p.head, ERR_UNAVAILABLE, 69, "the node belongs to another job than theirs");
    assert_int_equal(p.head.out.len, REFUSAL);
    pass(&p.head, &p.node);
    expect_refused(&p.node, ERR_UNAVAILABLE, 69, "this port belongs to another job than ours");
    end(&p);
}

static void another_version(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(secret_1, "job"), key(secret_1, "job"));
    p.node.out.data[4] = 2;
    p.node.out.data[5] = 3;
    pass(&p.node, &p.head);
    expect_refused(
        &p.head, ERR_UNAVAILABLE, 69,
        "the node speaks version 2 to 3 of the link protocol and this muster version "
        "1; use one muster on all nodes");
    assert_int_equal(p.head.out.data[4], 0);
    p.head.out.data[6] = p.head.out.data[7] = 9; /* as a head of that version would say */
    pass(&p.head, &p.node);
    expect_refused(&p.node, ERR_UNAVAILABLE, 69,
                   "the head speaks version 9 of the link protocol and this muster version 1; "
                   "use one muster on all nodes");
    end(&p);
}

static void a_reply_of_another_version(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(secret_1, "job"), key(secret_1, "job"));
    pass(&p.node, &p.head);
    p.head.out.data[4] = 2;
    pass(&p.head, &p.node);
    assert_int_equal(p.node.e.code, ERR_UNAVAILABLE);
    pass(&p.node, &p.head);
    assert_int_equal(p.head.result, LINK_AUTH_REFUSED);
    assert_int_equal(p.head.e.code, ERR_UNAVAILABLE);
    end(&p);
}

/* ---- who meddles */

/* Each byte of the first two messages, changed on the way, keeps the node out. */
static void each_byte_is_proved(void **state)
{
    (void)state;
    for (size_t at = 0; at < HELLO + REPLY; at++) {
        struct pair p;
        begin(&p, key(secret_1, "job"), key(secret_1, "job"));
        if (at < HELLO)
            p.node.out.data[at] ^= 1;
        pass(&p.node, &p.head);
        if (at >= HELLO)
            p.head.out.data[at - HELLO] ^= 1;
        if (p.head.out.len)
            pass(&p.head, &p.node);
        assert_int_not_equal(p.node.result, LINK_AUTH_OPEN);
        if (p.head.result == LINK_AUTH_MORE && p.node.out.len) {
            pass(&p.node, &p.head);
            assert_int_not_equal(p.head.result, LINK_AUTH_OPEN);
        }
        end(&p);
    }
}

static void a_wrong_proof(void **state)
{
    (void)state;
    for (size_t at = 0; at < PROOF; at++) {
        struct pair p;
        begin(&p, key(secret_1, "job"), key(secret_1, "job"));
        pass(&p.node, &p.head);
        pass(&p.head, &p.node);
        p.node.out.data[at] ^= (char)0x80;
        pass(&p.node, &p.head);
        expect_refused(&p.head, ERR_AUTH, 77,
                       "the node could not prove that it has the secret of this job");
        assert_int_equal(p.head.out.len, 0);
        end(&p);
    }
}

/* Who strips the mode gets a mismatch from the head, never a link by the id alone. */
static void no_downgrade(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(secret_1, "job"), key(secret_1, "job"));
    p.node.out.data[6] = 0;
    pass(&p.node, &p.head);
    assert_int_equal(p.head.result, LINK_AUTH_REFUSED);
    assert_int_equal(p.head.e.code, ERR_AUTH);
    end(&p);
    /* An impostor that knows the id answers in mode 0. */
    begin(&p, key(NULL, "job"), key(secret_1, "job"));
    p.node.out.data[6] = 0;
    struct link_key *id = key(NULL, "job");
    struct side fake;
    side_begin(&fake, id, LINK_NODE);
    memcpy(p.node.out.data + REFUSAL, fake.out.data + REFUSAL, 16); /* the id's tag */
    pass(&p.node, &p.head);
    assert_int_equal(p.head.out.len, REPLY);
    pass(&p.head, &p.node);
    expect_refused(&p.node, ERR_AUTH, 77,
                   "the head has no secret and this side has one; give the head the same "
                   "--secret-file");
    link_auth_free(fake.auth);
    buf_fini(&fake.out);
    link_key_free(id);
    end(&p);
}

static void replayed_handshake(void **state)
{
    struct pair p;
    char recorded[HELLO + PROOF];
    (void)state;
    begin(&p, key(secret_1, "job"), key(secret_1, "job"));
    memcpy(recorded, p.node.out.data, HELLO);
    pass(&p.node, &p.head);
    pass(&p.head, &p.node);
    memcpy(recorded + HELLO, p.node.out.data, PROOF);
    struct side again;
    side_begin(&again, p.head_key, LINK_HEAD);
    give(&again, recorded, sizeof recorded);
    expect_refused(&again, ERR_AUTH, 77,
                   "the node could not prove that it has the secret of this job");
    link_auth_free(again.auth);
    buf_fini(&again.out);
    end(&p);
}

/* What the head says cannot be sent back to it as a node's proof. */
static void reflected(void **state)
{
    struct pair p;
    (void)state;
    begin(&p, key(secret_1, "job"), key(secret_1, "job"));
    pass(&p.node, &p.head);
    char tag[PROOF];
    memcpy(tag, p.head.out.data + REPLY - PROOF, PROOF);
    give(&p.head, tag, PROOF);
    assert_int_equal(p.head.result, LINK_AUTH_REFUSED);
    assert_int_equal(p.head.e.code, ERR_AUTH);
    end(&p);
}

static void garbage(void **state)
{
    static const char *const texts[] = {"MGET / HTTP/1.1\r\n", "X", "MSTx"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct pair p;
        begin(&p, key(secret_1, "job"), key(secret_1, "job"));
        give(&p.head, texts[i], strlen(texts[i]));
        expect_refused(&p.head, ERR_PROTOCOL, 125,
                       "what speaks there is no node of a muster job");
        assert_int_equal(p.head.out.len, 0);
        give(&p.node, texts[i], strlen(texts[i]));
        expect_refused(&p.node, ERR_PROTOCOL, 125,
                       "what speaks there is no head of a muster job");
        end(&p);
    }
    struct pair p;
    begin(&p, key(secret_1, "job"), key(secret_1, "job"));
    give(&p.node, "MSTR\0\x77\1\1", REFUSAL);
    expect_refused(&p.node, ERR_PROTOCOL, 125, "what speaks there is no head of a muster job");
    give(&p.head, "MST", 3);
    assert_int_equal(p.head.result, LINK_AUTH_MORE);
    end(&p);
}

/* ---- frames */

static void expect_frame(struct side *s, struct str *in, enum link_tag tag, const char *text)
{
    struct buf plain;
    enum link_tag got;
    buf_init(&plain, 0);
    assert_int_equal(link_auth_unseal(s->auth, in, &plain, &got, &s->e), LINK_UNSEAL_DONE);
    assert_int_equal(got, tag);
    assert_string_equal(buf_str(&plain), text);
    buf_fini(&plain);
}

static void expect_bad(struct side *s, struct str in, enum err_code code, const char *text)
{
    struct buf plain;
    enum link_tag tag;
    buf_init(&plain, 0);
    assert_int_equal(link_auth_unseal(s->auth, &in, &plain, &tag, &s->e), LINK_UNSEAL_BAD);
    assert_int_equal(s->e.code, code);
    assert_string_equal(s->e.text, text);
    buf_fini(&plain);
}

static const char altered[] = "a frame was altered, repeated or came out of order";

/* Seals three frames; where each begins in p->head.out is in at[], the first after the header.
 */
static void seal_three(struct pair *p, size_t at[4])
{
    static const char *const texts[] = {"one", "", "three"};
    for (int i = 0; i < 3; i++) {
        at[i] = p->head.out.len;
        link_auth_seal(p->head.auth, i == 2 ? LINK_TAG_FINAL : (enum link_tag)i,
                       str_from(texts[i]), &p->head.out);
    }
    at[3] = p->head.out.len;
    assert_null(memmem(p->head.out.data, at[3], "three", 5));
}

static void frames_both_ways(void **state)
{
    struct pair p;
    size_t at[4];
    (void)state;
    open_pair(&p);
    seal_three(&p, at);
    struct str in = {p.head.out.data, p.head.out.len};
    expect_frame(&p.node, &in, LINK_TAG_FRAME, "one");
    expect_frame(&p.node, &in, LINK_TAG_CONTROL, "");
    expect_frame(&p.node, &in, LINK_TAG_FINAL, "three");
    assert_int_equal(in.n, 0);
    link_auth_seal(p.node.auth, LINK_TAG_FRAME, STR_LIT("up"), &p.node.out);
    in = (struct str){p.node.out.data, p.node.out.len};
    expect_frame(&p.head, &in, LINK_TAG_FRAME, "up");
    end(&p);
}

static void frames_in_pieces(void **state)
{
    struct pair p;
    size_t at[4];
    struct buf plain;
    enum link_tag tag;
    (void)state;
    open_pair(&p);
    seal_three(&p, at);
    buf_init(&plain, 0);
    struct buf held;
    buf_init(&held, 0);
    size_t taken = 0;
    for (size_t i = 0; i < at[3]; i++) {
        buf_addc(&held, p.head.out.data[i]);
        struct str in = {held.data, held.len};
        size_t need = link_auth_need(p.node.auth, in);
        enum link_unseal got = link_auth_unseal(p.node.auth, &in, &plain, &tag, &p.node.e);
        assert_int_not_equal(got, LINK_UNSEAL_BAD);
        assert_int_equal(got == LINK_UNSEAL_DONE, held.len >= need);
        taken += got == LINK_UNSEAL_DONE;
        buf_consume(&held, held.len - in.n);
    }
    assert_int_equal(taken, 3);
    buf_fini(&held);
    buf_fini(&plain);
    end(&p);
}

static void the_largest_frame(void **state)
{
    struct pair p;
    struct buf plain;
    enum link_tag tag;
    (void)state;
    open_pair(&p);
    char *bytes = calloc(1, LINK_FRAME_MAX);
    bytes[LINK_FRAME_MAX - 1] = 'x';
    link_auth_seal(p.head.auth, LINK_TAG_FRAME, (struct str){bytes, LINK_FRAME_MAX},
                   &p.head.out);
    struct str in = {p.head.out.data, p.head.out.len};
    buf_init(&plain, 0);
    assert_int_equal(link_auth_unseal(p.node.auth, &in, &plain, &tag, &p.node.e),
                     LINK_UNSEAL_DONE);
    assert_int_equal(plain.len, LINK_FRAME_MAX);
    assert_memory_equal(plain.data, bytes, LINK_FRAME_MAX);
    buf_fini(&plain);
    free(bytes);
    end(&p);
}

static void altered_frames(void **state)
{
    size_t at[4], n = HEADER + 4 + 17 + 3;
    (void)state;
    for (size_t i = 0; i < n; i++) {
        struct pair p;
        struct buf plain;
        enum link_tag tag;
        open_pair(&p);
        seal_three(&p, at);
        p.head.out.data[i] ^= 1;
        struct str in = {p.head.out.data, p.head.out.len};
        buf_init(&plain, 0);
        assert_int_not_equal(link_auth_unseal(p.node.auth, &in, &plain, &tag, &p.node.e),
                             LINK_UNSEAL_DONE);
        buf_fini(&plain);
        end(&p);
    }
}

static void repeated_reordered_and_left_out(void **state)
{
    struct pair p;
    size_t at[4];
    (void)state;
    open_pair(&p);
    seal_three(&p, at);
    struct str in = {p.head.out.data, p.head.out.len};
    expect_frame(&p.node, &in, LINK_TAG_FRAME, "one");
    expect_bad(&p.node, (struct str){p.head.out.data + at[0], at[1] - at[0]}, ERR_AUTH,
               altered);
    end(&p);
    open_pair(&p);
    seal_three(&p, at);
    in = (struct str){p.head.out.data, p.head.out.len};
    expect_frame(&p.node, &in, LINK_TAG_FRAME, "one");
    expect_bad(&p.node, (struct str){p.head.out.data + at[2], at[3] - at[2]}, ERR_AUTH,
               altered);
    end(&p);
}

/* A frame of one direction, or of another link of the same job, is none here. */
static void frames_of_elsewhere(void **state)
{
    struct pair p, q;
    (void)state;
    open_pair(&p);
    open_pair(&q);
    link_auth_seal(p.node.auth, LINK_TAG_FRAME, STR_LIT("x"), &p.node.out);
    link_auth_seal(q.head.auth, LINK_TAG_FRAME, STR_LIT("x"), &q.head.out);
    expect_bad(&q.node, (struct str){p.node.out.data, p.node.out.len}, ERR_AUTH, altered);
    expect_bad(&p.node, (struct str){q.head.out.data, q.head.out.len}, ERR_AUTH, altered);
    end(&p);
    end(&q);
}

static void impossible_lengths(void **state)
{
    struct pair p;
    char wire[HEADER + 4];
    static const unsigned char too_long[4] = {18, 0, 0, 1} /* 16 MiB + 18 */,
                               too_short[4] = {16, 0, 0, 0};
    (void)state;
    open_pair(&p);
    memcpy(wire, p.head.out.data, HEADER);
    memcpy(wire + HEADER, too_long, sizeof too_long);
    expect_bad(&p.node, (struct str){wire, sizeof wire}, ERR_PROTOCOL,
               "a frame of 16777234 bytes was announced; 17 to 16777233 are possible");
    memcpy(wire + HEADER, too_short, sizeof too_short);
    expect_bad(&p.node, (struct str){wire + HEADER, 4}, ERR_PROTOCOL,
               "a frame of 16 bytes was announced; 17 to 16777233 are possible");
    end(&p);
}

/* ---- keys */

static char folder[] = "/tmp/muster-link-XXXXXX";
static char path[64];

static void write_file(const char *content, size_t n, mode_t mode)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, content, n), (ssize_t)n);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void expect_no_key(const char *says)
{
    struct err e = {ERR_OK, 0, ""};
    assert_null(link_key_from_file(path, "job", &e));
    assert_int_equal(e.code, ERR_USAGE);
    if (!strstr(e.text, says) || !strstr(e.text, path))
        fail_msg("\"%s\" does not say \"%s\"", e.text, says);
}

static void secret_files_that_are_none(void **state)
{
    char much[LINK_SECRET_FILE_MAX + 2];
    (void)state;
    memset(much, 'x', sizeof much);
    unlink(path);
    expect_no_key("No such file");
    write_file("0123456789abcde\n", 16, 0600);
    expect_no_key("15 bytes; at least 16 are needed");
    write_file("", 0, 0600);
    expect_no_key("0 bytes");
    write_file(much, LINK_SECRET_FILE_MAX + 1, 0600);
    expect_no_key("more than 4096 bytes");
    write_file("0123456789abcdef", 16, 0640);
    expect_no_key("mode 0640 lets others at it; chmod 600");
    write_file("0123456789abcdef", 16, 0601);
    expect_no_key("mode 0601");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_no_key("no regular file"); /* and does not wait for a writer */
    if (geteuid() == 0) {
        write_file("0123456789abcdef", 16, 0600);
        assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
        expect_no_key("belongs to user 12345");
    }
    unlink(path);
}

/* Who writes the file with echo on one node and printf on another means the same. */
static void one_line_end_does_not_count(void **state)
{
    static const char *const same[] = {"0123456789abcdef", "0123456789abcdef\n",
                                       "0123456789abcdef\r\n"};
    struct err e;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct pair p;
        write_file(same[0], strlen(same[0]), 0600);
        struct link_key *head = link_key_from_file(path, "job", &e);
        write_file(same[i], strlen(same[i]), 0400);
        struct link_key *node = link_key_from_file(path, "job", &e);
        assert_true(head && node && link_key_has_secret(head));
        begin(&p, head, node);
        shake(&p);
        end(&p);
    }
    struct pair p;
    write_file("0123456789abcdef\n\n", 18, 0600);
    struct link_key *head = link_key_from_file(path, "job", &e);
    write_file("0123456789abcdef", 16, 0600);
    begin(&p, head, link_key_from_file(path, "job", &e));
    pass(&p.node, &p.head);
    pass(&p.head, &p.node);
    assert_int_equal(p.node.e.code, ERR_AUTH);
    end(&p);
    unlink(path);
}

static void ids_have_bounds(void **state)
{
    char id[LINK_JOB_MAX + 2];
    struct err e;
    (void)state;
    memset(id, 'j', sizeof id);
    id[LINK_JOB_MAX + 1] = '\0';
    assert_null(link_key_from_id(id, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_string_equal(e.text, "a job's id has 1 to 255 bytes, not 256");
    assert_null(link_key_from_id("", &e));
    id[LINK_JOB_MAX] = '\0';
    link_key_free(key(NULL, id));
    link_key_free(NULL);
}

static void secrets_as_text(void **state)
{
    unsigned char a[LINK_SECRET_SIZE], b[LINK_SECRET_SIZE], c[LINK_SECRET_SIZE];
    char text[LINK_SECRET_TEXT_SIZE];
    struct err e;
    (void)state;
    assert_int_equal(link_secret_new(a, &e), 0);
    assert_int_equal(link_secret_new(b, &e), 0);
    assert_memory_not_equal(a, b, sizeof a);
    link_secret_format(a, text);
    assert_int_equal(strlen(text), 64);
    assert_int_equal(link_secret_parse(str_from(text), c), 0);
    assert_memory_equal(a, c, sizeof a);
    assert_int_equal(link_secret_parse((struct str){text, 63}, c), -1);
    text[10] = 'g';
    assert_int_equal(link_secret_parse(str_from(text), c), -1);
    assert_int_equal(link_secret_parse(str_from(""), c), -1);
    link_secret_wipe(a, sizeof a);
    for (size_t i = 0; i < sizeof a; i++)
        assert_int_equal(a[i], 0);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/secret", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_secret),
        cmocka_unit_test(one_byte_at_a_time),
        cmocka_unit_test(another_secret),
        cmocka_unit_test(only_the_head_has_a_secret),
        cmocka_unit_test(only_the_node_has_a_secret),
        cmocka_unit_test(another_job_with_the_same_secret),
        cmocka_unit_test(another_job_without_a_secret),
        cmocka_unit_test(another_version),
        cmocka_unit_test(a_reply_of_another_version),
        cmocka_unit_test(each_byte_is_proved),
        cmocka_unit_test(a_wrong_proof),
        cmocka_unit_test(no_downgrade),
        cmocka_unit_test(replayed_handshake),
        cmocka_unit_test(reflected),
        cmocka_unit_test(garbage),
        cmocka_unit_test(frames_both_ways),
        cmocka_unit_test(frames_in_pieces),
        cmocka_unit_test(the_largest_frame),
        cmocka_unit_test(altered_frames),
        cmocka_unit_test(repeated_reordered_and_left_out),
        cmocka_unit_test(frames_of_elsewhere),
        cmocka_unit_test(impossible_lengths),
        cmocka_unit_test(secret_files_that_are_none),
        cmocka_unit_test(one_line_end_does_not_count),
        cmocka_unit_test(ids_have_bounds),
        cmocka_unit_test(secrets_as_text),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

#include "rendezvous/link_auth.h"

#include <assert.h>
#include <endian.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    HEAD_SIZE = 8, /* of messages 1 and 2: never changes, whatever the version */
    HELLO_SIZE = HEAD_SIZE + LINK_KEY_TAG + LINK_HASH,
    REPLY_SIZE = HEAD_SIZE + LINK_HASH + LINK_HASH,
    PROOF_SIZE = LINK_HASH,
    STREAM_HEADER = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
    OVERHEAD = crypto_secretstream_xchacha20poly1305_ABYTES,
    LENGTH_SIZE = 4,
    /* places in the first 8 bytes */
    AT_MIN = 4,  /* message 1; message 2: version, 0 in a refusal */
    AT_MAX = 5,  /* message 1; message 2: mode; refusal: reason */
    AT_MODE = 6, /* message 1; message 2: whether the job is another one; refusal: min */
    AT_LAST = 7, /* 0; refusal: max */
};
static_assert(LINK_HASH == crypto_secretstream_xchacha20poly1305_KEYBYTES, "a hash is a key");

static const char magic[4] = {'M', 'S', 'T', 'R'};

/* Numbers on the wire. */
enum refusal { REFUSAL_VERSION = 1, REFUSAL_MODE, REFUSAL_JOB, REFUSAL_SECRET };

enum state { AWAIT_HELLO, AWAIT_REPLY, AWAIT_PROOF, AWAIT_JOB, OPEN, OVER };

struct link_auth {
    const struct link_key *key;
    enum link_role role;
    enum state state;
    bool is_named, is_other_job, has_pull, has_pushed_last;
    unsigned char hello[HELLO_SIZE], reply[REPLY_SIZE];
    unsigned char pull_key[LINK_HASH];
    crypto_secretstream_xchacha20poly1305_state push, pull;
};

/* ---- the handshake: messages */

static void hello_build(struct link_auth *a)
{
    unsigned char *m = a->hello;
    memcpy(m, magic, sizeof magic);
    m[AT_MIN] = m[AT_MAX] = LINK_VERSION;
    m[AT_MODE] = link_key_has_secret(a->key);
    m[AT_LAST] = 0;
    memcpy(m + HEAD_SIZE, link_key_tag(a->key), LINK_KEY_TAG);
    randombytes_buf(m + HEAD_SIZE + LINK_KEY_TAG, LINK_HASH);
}

struct link_auth *link_auth_new(const struct link_key *key, enum link_role role,
                                struct buf *out)
{
    struct link_auth *a = mem_alloc(1, sizeof *a);
    a->key = key;
    a->role = role;
    a->state = AWAIT_HELLO;
    if (role == LINK_NODE) {
        hello_build(a);
        buf_add(out, a->hello, sizeof a->hello);
        a->state = AWAIT_REPLY;
    }
    return a;
}

void link_auth_free(struct link_auth *a)
{
    if (!a)
        return;
    sodium_memzero(a, sizeof *a);
    free(a);
}

static void tag_head(const struct link_auth *a, unsigned char out[LINK_HASH])
{
    const struct link_piece pieces[] = {{a->hello, HELLO_SIZE},
                                        {a->reply, REPLY_SIZE - LINK_HASH}};
    link_key_hash(a->key, "muster head", pieces, 2, out);
}

static void tag_node(const struct link_auth *a, unsigned char out[LINK_HASH])
{
    const struct link_piece pieces[] = {{a->hello, HELLO_SIZE}, {a->reply, REPLY_SIZE}};
    link_key_hash(a->key, "muster agent", pieces, 2, out);
}

/* A key for each direction; the own stream's header is appended to out unless NULL. */
static void streams_begin(struct link_auth *a, const unsigned char proof[PROOF_SIZE],
                          struct buf *out)
{
    const struct link_piece pieces[] = {
        {a->hello, HELLO_SIZE}, {a->reply, REPLY_SIZE}, {proof, PROOF_SIZE}};
    unsigned char up[LINK_HASH], down[LINK_HASH], header[STREAM_HEADER];
    bool is_head = a->role == LINK_HEAD;
    link_key_hash(a->key, "muster up", pieces, 3, up);
    link_key_hash(a->key, "muster down", pieces, 3, down);
    memcpy(a->pull_key, is_head ? up : down, LINK_HASH);
    if (out) {
        crypto_secretstream_xchacha20poly1305_init_push(&a->push, header, is_head ? down : up);
        buf_add(out, header, sizeof header);
    }
    sodium_memzero(up, sizeof up);
    sodium_memzero(down, sizeof down);
    a->state = OPEN;
}

/* ---- the handshake: refusals */

static enum link_auth_result refused(struct link_auth *a)
{
    a->state = OVER;
    return LINK_AUTH_REFUSED;
}

/* size: that of the message in whose place it stands. */
static void refusal_add(enum refusal reason, size_t size, struct buf *out)
{
    unsigned char m[PROOF_SIZE] = {0};
    memcpy(m, magic, sizeof magic);
    m[AT_MAX] = (unsigned char)reason;
    m[AT_MODE] = m[AT_LAST] = LINK_VERSION;
    buf_add(out, m, size);
}

static void version_text(unsigned min, unsigned max, const char *who, struct err *e)
{
    char range[16];
    snprintf(range, sizeof range, min == max ? "%u" : "%u to %u", min, max);
    err_set(e, ERR_UNAVAILABLE,
            "the %s speaks version %s of the link protocol and this muster version %d; use one "
            "muster on all nodes",
            who, range, LINK_VERSION);
}

static void mode_text(const struct link_auth *a, struct err *e)
{
    const char *other = a->role == LINK_NODE ? "head" : "node";
    if (link_key_has_secret(a->key))
        err_set(
            e, ERR_AUTH,
            "the %s has no secret and this side has one; give the %s the same --secret-file",
            other, other);
    else
        err_set(e, ERR_AUTH,
                "the %s has a secret and this side has none; give --secret-file here", other);
}

static enum link_auth_result no_muster(struct link_auth *a, struct err *e)
{
    err_set(e, ERR_PROTOCOL, "what speaks there is no %s of a muster job",
            a->role == LINK_NODE ? "head" : "node");
    return refused(a);
}

/* The other side's refusal, at m: 8 bytes. Believed, but worth no more than its word. */
static enum link_auth_result take_refusal(struct link_auth *a, const unsigned char *m,
                                          struct err *e)
{
    const char *other = a->role == LINK_NODE ? "head" : "node";
    switch (m[AT_MAX]) {
    case REFUSAL_VERSION:
        version_text(m[AT_MODE], m[AT_LAST], other, e);
        return refused(a);
    case REFUSAL_MODE:
        mode_text(a, e);
        return refused(a);
    case REFUSAL_JOB:
        err_set(e, ERR_UNAVAILABLE, "this port belongs to another job than %s",
                link_key_job(a->key));
        return refused(a);
    case REFUSAL_SECRET:
        err_set(e, ERR_AUTH, "the %s has another secret; use the same on every node", other);
        return refused(a);
    default:
        return no_muster(a, e);
    }
}

static bool is_magic(const char *p, size_t n)
{
    return memcmp(p, magic, n < sizeof magic ? n : sizeof magic) == 0;
}

static void take(struct str *in, void *to, size_t n)
{
    if (to)
        memcpy(to, in->p, n);
    in->p += n;
    in->n -= n;
}

/* ---- the handshake: the head */

static enum link_auth_result refuse(struct link_auth *a, enum refusal reason, struct buf *out)
{
    refusal_add(reason, HEAD_SIZE, out);
    return refused(a);
}

/* Without a secret the tag of the job is all there is: a wrong one is told, but no name. With
 * one, the name is told to who has proved the secret. */
static enum link_auth_result judge_hello(struct link_auth *a, struct buf *out, struct err *e)
{
    const unsigned char *m = a->hello;
    if (m[AT_MIN] > LINK_VERSION || m[AT_MAX] < LINK_VERSION) {
        version_text(m[AT_MIN], m[AT_MAX], "node", e);
        return refuse(a, REFUSAL_VERSION, out);
    }
    if (m[AT_MODE] != link_key_has_secret(a->key)) {
        mode_text(a, e);
        return refuse(a, REFUSAL_MODE, out);
    }
    a->is_other_job = sodium_memcmp(m + HEAD_SIZE, link_key_tag(a->key), LINK_KEY_TAG) != 0;
    if (a->is_other_job && !link_key_has_secret(a->key)) {
        err_set(e, ERR_UNAVAILABLE, "the node belongs to another job than %s",
                link_key_job(a->key));
        return refuse(a, REFUSAL_JOB, out);
    }
    a->is_named = !a->is_other_job;
    memcpy(a->reply, magic, sizeof magic);
    a->reply[AT_MIN] = LINK_VERSION;
    a->reply[AT_MAX] = link_key_has_secret(a->key);
    a->reply[AT_MODE] = a->is_other_job;
    a->reply[AT_LAST] = 0;
    randombytes_buf(a->reply + HEAD_SIZE, LINK_HASH);
    tag_head(a, a->reply + REPLY_SIZE - LINK_HASH);
    buf_add(out, a->reply, sizeof a->reply);
    a->state = AWAIT_PROOF;
    return LINK_AUTH_MORE;
}

static enum link_auth_result take_hello(struct link_auth *a, struct str *in, struct buf *out,
                                        struct err *e)
{
    if (!is_magic(in->p, in->n))
        return no_muster(a, e);
    if (in->n < HELLO_SIZE)
        return LINK_AUTH_MORE;
    take(in, a->hello, HELLO_SIZE);
    return judge_hello(a, out, e);
}

static enum link_auth_result take_proof(struct link_auth *a, struct str *in, struct buf *out,
                                        struct err *e)
{
    unsigned char got[PROOF_SIZE], want[PROOF_SIZE];
    if (in->n < PROOF_SIZE)
        return LINK_AUTH_MORE;
    take(in, got, PROOF_SIZE);
    tag_node(a, want);
    if (sodium_memcmp(got, want, PROOF_SIZE) != 0) {
        if (memcmp(got, magic, sizeof magic) == 0 && got[AT_MIN] == 0)
            return take_refusal(a, got, e);
        err_set(e, ERR_AUTH, "the node could not prove that it has the secret of this job");
        return refused(a);
    }
    streams_begin(a, got, out);
    if (!a->is_other_job)
        return LINK_AUTH_OPEN;
    link_auth_seal(a, LINK_TAG_FINAL, str_from(link_key_job(a->key)), out);
    err_set(e, ERR_UNAVAILABLE, "the node belongs to another job than %s",
            link_key_job(a->key));
    return refused(a);
}

bool link_auth_is_named(const struct link_auth *a)
{
    return a->is_named;
}

/* ---- the handshake: the node */

static enum link_auth_result judge_reply(struct link_auth *a, struct buf *out, struct err *e)
{
    unsigned char want[LINK_HASH], proof[PROOF_SIZE];
    const unsigned char *m = a->reply;
    if (m[AT_MIN] != LINK_VERSION) {
        version_text(m[AT_MIN], m[AT_MIN], "head", e);
        refusal_add(REFUSAL_VERSION, PROOF_SIZE, out);
        return refused(a);
    }
    if (m[AT_MAX] != link_key_has_secret(a->key)) {
        mode_text(a, e);
        refusal_add(REFUSAL_MODE, PROOF_SIZE, out);
        return refused(a);
    }
    tag_head(a, want);
    if (sodium_memcmp(m + REPLY_SIZE - LINK_HASH, want, LINK_HASH) != 0) {
        err_set(e, ERR_AUTH,
                "the head could not prove that it has the secret of this job; use the same on "
                "every node");
        refusal_add(REFUSAL_SECRET, PROOF_SIZE, out);
        return refused(a);
    }
    tag_node(a, proof);
    buf_add(out, proof, sizeof proof);
    streams_begin(a, proof, m[AT_MODE] ? NULL : out);
    if (!m[AT_MODE])
        return LINK_AUTH_OPEN;
    a->state = AWAIT_JOB;
    return LINK_AUTH_MORE;
}

static enum link_auth_result take_reply(struct link_auth *a, struct str *in, struct buf *out,
                                        struct err *e)
{
    if (!is_magic(in->p, in->n))
        return no_muster(a, e);
    if (in->n >= HEAD_SIZE && in->p[AT_MIN] == 0) {
        unsigned char m[HEAD_SIZE];
        take(in, m, HEAD_SIZE);
        return take_refusal(a, m, e);
    }
    if (in->n < REPLY_SIZE)
        return LINK_AUTH_MORE;
    take(in, a->reply, REPLY_SIZE);
    return judge_reply(a, out, e);
}

/* The head of another job, which has the same secret, says which. */
static enum link_auth_result take_job(struct link_auth *a, struct str *in, struct err *e)
{
    struct buf name;
    enum link_tag tag;
    buf_init(&name, LINK_JOB_MAX);
    enum link_unseal got = link_auth_need(a, *in) > LINK_JOB_MAX + 64
                               ? LINK_UNSEAL_BAD
                               : link_auth_unseal(a, in, &name, &tag, e);
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.data[i] < ' ' || name.data[i] == 0x7f)
            name.data[i] = '?';
    if (got == LINK_UNSEAL_DONE)
        err_set(e, ERR_UNAVAILABLE, "this port belongs to job %s, not to %s", buf_str(&name),
                link_key_job(a->key));
    if (got == LINK_UNSEAL_BAD)
        err_set(e, ERR_UNAVAILABLE, "this port belongs to another job than %s",
                link_key_job(a->key));
    buf_fini(&name);
    return got == LINK_UNSEAL_MORE ? LINK_AUTH_MORE : refused(a);
}

static enum link_auth_result step(struct link_auth *a, struct str *in, struct buf *out,
                                  struct err *e)
{
    switch (a->state) {
    case AWAIT_HELLO:
        return take_hello(a, in, out, e);
    case AWAIT_REPLY:
        return take_reply(a, in, out, e);
    case AWAIT_PROOF:
        return take_proof(a, in, out, e);
    case AWAIT_JOB:
        return take_job(a, in, e);
    case OPEN:
    case OVER:
        break;
    }
    assert(a->state < OPEN); /* the handshake is over */
    return LINK_AUTH_REFUSED;
}

enum link_auth_result link_auth_take(struct link_auth *a, struct str *in, struct buf *out,
                                     struct err *e)
{
    enum link_auth_result result = LINK_AUTH_MORE;
    size_t before;
    do {
        before = in->n;
        if (before)
            result = step(a, in, out, e);
    } while (result == LINK_AUTH_MORE && in->n < before);
    return result;
}

/* ---- frames */

static const unsigned char stream_tags[] = {
    [LINK_TAG_FRAME] = crypto_secretstream_xchacha20poly1305_TAG_MESSAGE,
    [LINK_TAG_CONTROL] = crypto_secretstream_xchacha20poly1305_TAG_PUSH,
    [LINK_TAG_FINAL] = crypto_secretstream_xchacha20poly1305_TAG_FINAL,
};
static_assert(sizeof stream_tags == LINK_TAG_FINAL + 1, "a stream's tag for each");

void link_auth_seal(struct link_auth *a, enum link_tag tag, struct str frame, struct buf *out)
{
    assert(a->state == OPEN && !a->has_pushed_last && frame.n <= LINK_FRAME_MAX);
    size_t n = frame.n + OVERHEAD;
    char *to = buf_reserve(out, LENGTH_SIZE + n);
    assert(to);
    uint32_t length = htole32((uint32_t)n);
    memcpy(to, &length, sizeof length);
    crypto_secretstream_xchacha20poly1305_push(&a->push, (unsigned char *)to + LENGTH_SIZE,
                                               NULL, (const unsigned char *)frame.p, frame.n,
                                               NULL, 0, stream_tags[tag]);
    buf_commit(out, LENGTH_SIZE + n);
    a->has_pushed_last = tag == LINK_TAG_FINAL;
}

static size_t frame_length(const char *p)
{
    uint32_t length;
    memcpy(&length, p, sizeof length);
    return le32toh(length);
}

size_t link_auth_need(const struct link_auth *a, struct str in)
{
    size_t header = a->has_pull ? 0 : STREAM_HEADER;
    if (in.n < header + LENGTH_SIZE)
        return header + LENGTH_SIZE + OVERHEAD;
    return header + LENGTH_SIZE + frame_length(in.p + header);
}

static enum link_unseal altered(struct err *e)
{
    err_set(e, ERR_AUTH, "a frame was altered, repeated or came out of order");
    return LINK_UNSEAL_BAD;
}

static enum link_unseal unseal(struct link_auth *a, const char *sealed, size_t n,
                               struct buf *plain, enum link_tag *tag, struct err *e)
{
    unsigned char stream_tag;
    buf_reset(plain);
    char *to = buf_reserve(plain, n - OVERHEAD);
    if (!to
        || crypto_secretstream_xchacha20poly1305_pull(&a->pull, (unsigned char *)to, NULL,
                                                      &stream_tag,
                                                      (const unsigned char *)sealed, n, NULL, 0)
               != 0)
        return altered(e);
    buf_commit(plain, n - OVERHEAD);
    for (size_t i = 0; i < sizeof stream_tags; i++) {
        if (stream_tags[i] != stream_tag)
            continue;
        *tag = (enum link_tag)i;
        return LINK_UNSEAL_DONE;
    }
    return altered(e);
}

enum link_unseal link_auth_unseal(struct link_auth *a, struct str *in, struct buf *plain,
                                  enum link_tag *tag, struct err *e)
{
    assert(a->state == OPEN || a->state == AWAIT_JOB);
    if (!a->has_pull) {
        unsigned char header[STREAM_HEADER];
        if (in->n < sizeof header)
            return LINK_UNSEAL_MORE;
        take(in, header, sizeof header);
        if (crypto_secretstream_xchacha20poly1305_init_pull(&a->pull, header, a->pull_key) != 0)
            return altered(e);
        sodium_memzero(a->pull_key, sizeof a->pull_key);
        a->has_pull = true;
    }
    if (in->n < LENGTH_SIZE)
        return LINK_UNSEAL_MORE;
    size_t n = frame_length(in->p);
    if (n < OVERHEAD || n > LINK_FRAME_MAX + OVERHEAD) {
        err_set(e, ERR_PROTOCOL, "a frame of %zu bytes was announced; %d to %d are possible", n,
                OVERHEAD, LINK_FRAME_MAX + OVERHEAD);
        return LINK_UNSEAL_BAD;
    }
    if (in->n - LENGTH_SIZE < n)
        return LINK_UNSEAL_MORE;
    const char *sealed = in->p + LENGTH_SIZE;
    take(in, NULL, LENGTH_SIZE + n);
    return unseal(a, sealed, n, plain, tag, e);
}

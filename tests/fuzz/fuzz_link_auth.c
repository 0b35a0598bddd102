/* link_auth: any bytes from the other side, to a head or a node, with or without a secret. The
 * same bytes in one piece and one at a time mean the same; nothing wrong is let in.
 *
 * Input: a byte (bit 0 node, bit 1 with a secret), then what the other side says. Random bytes
 * are the same in each run, so that recorded conversations get through to the frames.
 */
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rendezvous/link_auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char counter;

static const char *name(void)
{
    return "the same each time";
}

static uint32_t some(void)
{
    return counter++;
}

static void fill(void *const to, const size_t n)
{
    unsigned char *p = to;
    for (size_t i = 0; i < n; i++)
        p[i] = counter++;
}

static struct randombytes_implementation source = {
    .implementation_name = name, .random = some, .buf = fill};

/* What came of it. */
struct outcome {
    enum link_auth_result result;
    struct err e;
    struct buf said, frames;
    size_t nframes;
    bool is_bad;
};

static const struct link_key *key(bool has_secret)
{
    static struct link_key *keys[2];
    static const unsigned char secret[LINK_SECRET_SIZE] = "0123456789abcdef0123456789abcde";
    struct err e;
    if (!keys[has_secret])
        keys[has_secret] =
            has_secret ? link_key_from_secret(secret, "job", &e) : link_key_from_id("job", &e);
    assert(keys[has_secret]);
    return keys[has_secret];
}

static void take_frames(struct link_auth *a, struct str *in, struct outcome *o)
{
    struct buf plain;
    enum link_tag tag;
    enum link_unseal got;
    buf_init(&plain, 0);
    while (!o->is_bad
           && (got = link_auth_unseal(a, in, &plain, &tag, &o->e)) != LINK_UNSEAL_MORE) {
        o->is_bad = got == LINK_UNSEAL_BAD;
        if (o->is_bad)
            break;
        o->nframes++;
        buf_addc(&o->frames, (char)tag);
        buf_add(&o->frames, plain.data, plain.len);
    }
    assert(o->is_bad || link_auth_need(a, *in) > in->n);
    buf_fini(&plain);
}

static void run(bool is_node, bool has_secret, const char *p, size_t n, size_t step,
                struct outcome *o)
{
    struct buf held;
    *o = (struct outcome){.result = LINK_AUTH_MORE};
    buf_init(&o->said, 0);
    buf_init(&o->frames, 0);
    buf_init(&held, 0);
    const struct link_key *k = key(has_secret);
    counter = 0;
    struct link_auth *a = link_auth_new(k, is_node ? LINK_NODE : LINK_HEAD, &o->said);
    for (size_t at = 0; at < n && o->result != LINK_AUTH_REFUSED && !o->is_bad; at += step) {
        buf_add(&held, p + at, n - at < step ? n - at : step);
        struct str in = {held.data, held.len};
        if (o->result == LINK_AUTH_MORE)
            o->result = link_auth_take(a, &in, &o->said, &o->e);
        if (o->result == LINK_AUTH_OPEN)
            take_frames(a, &in, o);
        buf_consume(&held, held.len - in.n);
    }
    link_auth_free(a);
    buf_fini(&held);
}

static void outcome_fini(struct outcome *o)
{
    buf_fini(&o->said);
    buf_fini(&o->frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_set;
    struct outcome whole, bytes;
    if (!is_set) {
        randombytes_set_implementation(&source);
        is_set = true;
    }
    if (!size)
        return 0;
    bool is_node = data[0] & 1, has_secret = data[0] & 2;
    const char *p = (const char *)data + 1;
    run(is_node, has_secret, p, size - 1, size, &whole);
    run(is_node, has_secret, p, size - 1, 1, &bytes);
    assert(whole.result == bytes.result && whole.is_bad == bytes.is_bad);
    assert(strcmp(whole.e.text, bytes.e.text) == 0);
    assert(whole.nframes == bytes.nframes && whole.frames.len == bytes.frames.len);
    assert(!whole.frames.len
           || memcmp(whole.frames.data, bytes.frames.data, whole.frames.len) == 0);
    assert(whole.said.len == bytes.said.len);
    assert(whole.result != LINK_AUTH_REFUSED || whole.e.text[0]);
    outcome_fini(&whole);
    outcome_fini(&bytes);
    return 0;
}

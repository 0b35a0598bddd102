#include "rendezvous/tcpstore_wire.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { AT_QUERY, AT_COUNT, AT_LENGTH, AT_BYTES, AT_DONE, AT_GIVEN };

struct layout {
    const char *fields;
    bool list;
    int legacy; /* number in 1.13, or -1 */
};

static const struct layout layouts[] = {
#define X(query, number, old, is_list, items)                                                  \
    [WIRE_##query] = {.fields = (items), .list = (is_list), .legacy = (old)},
    WIRE_QUERIES(X)
#undef X
};
static_assert(sizeof layouts / sizeof *layouts == WIRE_QUERY_COUNT, "a layout for each query");

static const char *const reasons[] = {
#define X(name, text) [WIRE_BAD_##name] = text,
    WIRE_REASONS(X)
#undef X
};
static_assert(sizeof reasons / sizeof *reasons == WIRE_REASON_COUNT, "a text for each reason");

/* Query of a 1.13 number, or -1. */
static int legacy_query(unsigned char number)
{
    for (int query = 0; query < WIRE_QUERY_COUNT; query++)
        if (layouts[query].legacy == number)
            return query;
    return -1;
}

const char *wire_reason_text(enum wire_reason reason)
{
    return reasons[reason];
}

struct wire_limits wire_limits_default(void)
{
    return (struct wire_limits){
        .max_key = 8192, .max_value = 8388608, .max_keys = 131072, .max_request = 64u << 20};
}

/* The number whose first n bytes (at most 8) are at p; n < 8 gives its lower bound. */
static uint64_t lower_bound(const char *p, size_t n)
{
    unsigned char bytes[8] = {0};
    memcpy(bytes, p, n < 8 ? n : 8);
    uint64_t v;
    memcpy(&v, bytes, 8);
    return le64toh(v);
}

uint64_t wire_u64(const char *p)
{
    return lower_bound(p, 8);
}

/* ---- who is it? */

static enum wire_client refuse(enum wire_reason reason, enum wire_reason *why)
{
    *why = reason;
    return WIRE_CLIENT_REFUSED;
}

/* The first key of a 1.13 client at p, n bytes of length and key. */
static enum wire_client detect_key(const char *p, size_t n, const struct wire_limits *limits,
                                   enum wire_reason *why)
{
    static const char init[] = "init/";
    uint64_t len = lower_bound(p, n);
    if (len > limits->max_key || (n >= 8 && len == 0))
        return refuse(WIRE_BAD_NOT_C10D, why);
    if (n <= 8)
        return WIRE_CLIENT_UNDECIDED;
    const char *key = p + 8;
    size_t got = n - 8 < len ? n - 8 : (size_t)len;
    if (key[0] == '/')
        return WIRE_CLIENT_LEGACY;
    if (len != sizeof init - 1 || memcmp(key, init, got) != 0)
        return refuse(WIRE_BAD_NOT_C10D, why);
    return got == len ? WIRE_CLIENT_LEGACY : WIRE_CLIENT_UNDECIDED;
}

static enum wire_client detect_legacy(const char *p, size_t n, const struct wire_limits *limits,
                                      enum wire_reason *why)
{
    int query = legacy_query((unsigned char)p[0]);
    if (query < 0) {
        bool known = (unsigned char)p[0] < WIRE_QUERY_COUNT;
        return refuse(known ? WIRE_BAD_LEGACY_QUERY : WIRE_BAD_NOT_C10D, why);
    }
    if (query == WIRE_GETNUMKEYS)
        return WIRE_CLIENT_LEGACY;
    if (!layouts[query].list)
        return detect_key(p + 1, n - 1, limits, why);
    uint64_t count = lower_bound(p + 1, n - 1);
    if (count > limits->max_keys)
        return refuse(WIRE_BAD_NOT_C10D, why);
    if (n < 9)
        return WIRE_CLIENT_UNDECIDED;
    return count == 0 ? WIRE_CLIENT_LEGACY : detect_key(p + 9, n - 9, limits, why);
}

enum wire_client wire_detect(const char *p, size_t n, const struct wire_limits *limits,
                             bool legacy, enum wire_reason *why)
{
    static const char modern[] = "\x00\xce\xf7\x85\x3c", swapped[] = "\x00\x3c\x85\xf7\xce";
    *why = WIRE_BAD_NONE;
    if (n == 0)
        return WIRE_CLIENT_UNDECIDED;
    if (p[0] == 'M')
        return WIRE_CLIENT_LINK;
    size_t m = n < 5 ? n : 5;
    if (memcmp(p, modern, m) == 0)
        return m == 5 ? WIRE_CLIENT_MODERN : WIRE_CLIENT_UNDECIDED;
    if (memcmp(p, swapped, m) == 0)
        return m == 5 ? refuse(WIRE_BAD_BYTE_ORDER, why) : WIRE_CLIENT_UNDECIDED;
    m = n < 4 ? n : 4;
    if (memcmp(p, modern + 1, m) == 0)
        return m == 4 ? refuse(WIRE_BAD_DEV_2023, why) : WIRE_CLIENT_UNDECIDED;
    enum wire_client who = detect_legacy(p, n, limits, why);
    if (who == WIRE_CLIENT_LEGACY && !legacy)
        return refuse(WIRE_BAD_LEGACY_OFF, why);
    return who;
}

/* ---- requests */

void wire_decoder_init(struct wire_decoder *d, enum wire_dialect dialect,
                       const struct wire_limits *limits)
{
    *d = (struct wire_decoder){.limits = limits, .dialect = (unsigned char)dialect};
    d->validated = dialect == WIRE_LEGACY;
}

/* Forgets the request, complete or not. */
static void release(struct wire_decoder *d)
{
    struct wire_request *r = &d->request;
    size_t touched = d->state >= AT_DONE ? r->count : r->count + 1;
    for (size_t i = 0; r->items && i < touched; i++) {
        blob_unref(r->items[i].key.blob);
        blob_unref(r->items[i].value.blob);
        blob_unref(r->items[i].desired.blob);
    }
    if (r->items != &d->one)
        free(r->items);
    r->items = NULL;
    r->count = d->cap = d->kept = d->bytes = 0;
    d->state = AT_QUERY;
}

void wire_decoder_fini(struct wire_decoder *d)
{
    if (d->state != AT_QUERY)
        release(d);
}

static enum wire_event bad(struct wire_decoder *d, enum wire_reason reason)
{
    d->reason = (unsigned char)reason;
    return WIRE_BAD;
}

/* An empty item after the complete ones. */
static void open_item(struct wire_decoder *d)
{
    struct wire_request *r = &d->request;
    if (!r->items) {
        bool single = !layouts[r->query].list || d->left == 1;
        d->cap = single ? 1 : 8;
        r->items = single ? &d->one : mem_alloc(d->cap, sizeof *r->items);
    } else {
        array_grow(r->items, r->count, d->cap);
    }
    r->items[r->count] = (struct wire_item){0};
    d->field = 0;
    d->state = AT_LENGTH;
}

/* The query of a first byte. */
static enum wire_reason take_query(struct wire_decoder *d, unsigned char byte)
{
    int query = byte;
    if (d->dialect == WIRE_LEGACY) {
        query = legacy_query(byte);
        if (query < 0)
            return byte < WIRE_QUERY_COUNT ? WIRE_BAD_LEGACY_QUERY : WIRE_BAD_NO_QUERY;
    } else if (byte >= WIRE_QUERY_COUNT) {
        return WIRE_BAD_NO_QUERY;
    } else if ((byte == WIRE_VALIDATE) == d->validated) {
        return d->validated ? WIRE_BAD_VALIDATE_TWICE : WIRE_BAD_NOT_C10D;
    }
    d->request = (struct wire_request){.query = (enum wire_query)query};
    return WIRE_BAD_NONE;
}

/* The usual request: one item that lies whole in the input, its numbers within their limits.
 * Otherwise false, and nothing is taken. */
static bool take_whole(struct wire_decoder *d, struct str *in)
{
    const struct layout *layout = &layouts[d->request.query];
    struct wire_field *fields[] = {&d->one.key, &d->one.value, &d->one.desired}, **to = fields;
    const char *p = in->p, *end = p + in->n;
    size_t room = d->limits->max_request;
    if (layout->list && (end - p < 8 || wire_u64(p) != 1))
        return false;
    p += layout->list ? 8 : 0;
    d->one = (struct wire_item){0};
    for (const char *kind = layout->fields; *kind; kind++) {
        size_t width = *kind == 'u' ? 4 : 8;
        if ((size_t)(end - p) < width)
            return false;
        uint64_t v = width == 8 ? wire_u64(p) : lower_bound(p, 4);
        p += width;
        if (*kind == 'i' || *kind == 'u') {
            d->request.number = (int64_t)v;
            continue;
        }
        if (v > (*kind == 'k' ? d->limits->max_key : d->limits->max_value) || v > room
            || v > (size_t)(end - p))
            return false;
        *(*to++) = (struct wire_field){.p = p, .n = (size_t)v};
        room -= (size_t)v;
        p += v;
    }
    d->request.items = &d->one;
    d->request.count = *layout->fields != '\0';
    *in = (struct str){p, (size_t)(end - p)};
    return true;
}

/* What was begun goes on field by field. */
static void open_request(struct wire_decoder *d)
{
    const struct layout *layout = &layouts[d->request.query];
    d->left = 1;
    d->have = 0;
    if (layout->list)
        d->state = AT_COUNT;
    else if (*layout->fields)
        open_item(d);
    else
        d->state = AT_DONE;
}

static enum wire_event begin(struct wire_decoder *d, struct str *in,
                             const struct wire_request **request)
{
    if (!in->n)
        return WIRE_MORE;
    enum wire_reason why = take_query(d, (unsigned char)*in->p++);
    in->n--;
    if (why != WIRE_BAD_NONE)
        return bad(d, why);
    *request = &d->request;
    if (d->request.query != WIRE_VALIDATE && take_whole(d, in))
        return WIRE_REQUEST;
    open_request(d);
    return WIRE_BEGUN;
}

/* A number of width bytes; false while some are missing. */
static bool take_number(struct wire_decoder *d, struct str *in, size_t width, uint64_t *v)
{
    if (d->have == 0 && in->n >= width) {
        *v = lower_bound(in->p, width);
        in->p += width;
        in->n -= width;
        return true;
    }
    size_t m = width - d->have < in->n ? width - d->have : in->n;
    if (m)
        memcpy(d->number + d->have, in->p, m);
    d->have = (unsigned char)(d->have + m);
    in->p += m;
    in->n -= m;
    if (d->have < width)
        return false;
    *v = lower_bound((const char *)d->number, width);
    d->have = 0;
    return true;
}

static struct wire_field *current_field(const struct wire_decoder *d)
{
    struct wire_item *item = &d->request.items[d->request.count];
    return d->field == 0 ? &item->key : d->field == 1 ? &item->value : &item->desired;
}

/* The bytes of a field: in place if they are all here, else collected in a blob that grows as
 * they come, so that an announced length alone costs nothing. */
static bool take_bytes(struct wire_decoder *d, struct str *in)
{
    struct wire_field *f = current_field(d);
    if (!f->blob && in->n >= d->need) {
        f->p = in->n ? in->p : "";
        f->n = d->need;
    } else {
        size_t have = f->blob ? f->blob->len : 0;
        size_t m = d->need - have < in->n ? d->need - have : in->n;
        if (!f->blob) {
            size_t room = m * 2 < 64 ? 64 : m * 2;
            f->blob = blob_sized(d->need < room ? d->need : room);
        }
        if (in->p == f->blob->data + have) /* read to wire_room */
            f->blob->len += m;
        else
            f->blob = blob_append(f->blob, in->p, m, d->need);
        in->p += m;
        in->n -= m;
        if (f->blob->len < d->need)
            return false;
        f->p = f->blob->data;
        f->n = d->need;
        return true;
    }
    in->p += d->need;
    in->n -= d->need;
    return true;
}

/* To the next field, the next item or the end. */
static void advance(struct wire_decoder *d)
{
    struct wire_request *r = &d->request;
    d->state = AT_LENGTH;
    if (layouts[r->query].fields[++d->field])
        return;
    r->count++;
    if (--d->left)
        open_item(d);
    else
        d->state = AT_DONE;
}

static enum wire_reason take_count(struct wire_decoder *d, uint64_t v)
{
    if (v > d->limits->max_keys)
        return WIRE_BAD_LIST_LENGTH;
    d->left = v;
    if (v)
        open_item(d);
    else
        d->state = AT_DONE;
    return WIRE_BAD_NONE;
}

/* A number at the place of a field: its value, or the length of its bytes. */
static enum wire_reason take_length(struct wire_decoder *d, char kind, uint64_t v)
{
    if (kind == 'i' || kind == 'u') {
        if (d->request.query == WIRE_VALIDATE) {
            if (v != WIRE_MAGIC)
                return WIRE_BAD_MAGIC;
            d->validated = true;
        }
        d->request.number = (int64_t)v;
        advance(d);
        return WIRE_BAD_NONE;
    }
    if (kind == 'k' && v > d->limits->max_key)
        return WIRE_BAD_KEY_LENGTH;
    if (kind == 'v' && v > d->limits->max_value)
        return WIRE_BAD_VALUE_LENGTH;
    if (v > d->limits->max_request - d->bytes)
        return WIRE_BAD_REQUEST_SIZE;
    d->bytes += (size_t)v;
    d->need = (size_t)v;
    d->state = AT_BYTES;
    return WIRE_BAD_NONE;
}

static void keep_field(struct wire_field *f)
{
    if (f->blob || !f->p)
        return;
    if (f->n)
        f->blob = blob_new(f->p, f->n);
    f->p = f->n ? f->blob->data : "";
}

/* Before the input's memory is reused: what points into it moves to memory of its own, once. */
static enum wire_event keep(struct wire_decoder *d)
{
    struct wire_request *r = &d->request;
    for (size_t i = d->kept; r->items && i <= r->count; i++) {
        keep_field(&r->items[i].key);
        keep_field(&r->items[i].value);
        keep_field(&r->items[i].desired);
    }
    d->kept = r->count;
    return WIRE_MORE;
}

enum wire_event wire_decode(struct wire_decoder *d, struct str *in,
                            const struct wire_request **request)
{
    if (d->state == AT_GIVEN)
        release(d);
    if (d->state == AT_QUERY)
        return begin(d, in, request);
    while (d->state != AT_DONE) {
        char kind = d->state == AT_COUNT ? 'n' : layouts[d->request.query].fields[d->field];
        if (d->state == AT_BYTES) {
            if (!take_bytes(d, in))
                return keep(d);
            advance(d);
            continue;
        }
        uint64_t v;
        if (!take_number(d, in, kind == 'u' ? 4 : 8, &v))
            return keep(d);
        enum wire_reason why = kind == 'n' ? take_count(d, v) : take_length(d, kind, v);
        if (why != WIRE_BAD_NONE)
            return bad(d, why);
    }
    d->state = AT_GIVEN;
    *request = &d->request;
    return WIRE_REQUEST;
}

char *wire_room(const struct wire_decoder *d, size_t *n)
{
    struct blob *b = d->state == AT_BYTES ? current_field(d)->blob : NULL;
    if (!b)
        return NULL;
    *n = (b->cap < d->need ? b->cap : d->need) - b->len;
    return *n ? b->data + b->len : NULL;
}

bool wire_is_partial(const struct wire_decoder *d)
{
    return d->state != AT_QUERY && d->state != AT_GIVEN;
}

enum wire_reason wire_bad(const struct wire_decoder *d)
{
    return (enum wire_reason)d->reason;
}

/* ---- parts */

void wire_add_query(struct buf *b, enum wire_query query)
{
    buf_addc(b, (char)query);
}

void wire_add_validate(struct buf *b)
{
    wire_add_query(b, WIRE_VALIDATE);
    buf_add_u32le(b, WIRE_MAGIC);
}

void wire_add_i64(struct buf *b, int64_t v)
{
    uint64_t le = htole64((uint64_t)v);
    buf_add(b, &le, sizeof le);
}

void wire_add_bytes(struct buf *b, const void *p, size_t n)
{
    wire_add_i64(b, (int64_t)n);
    buf_add(b, p, n);
}

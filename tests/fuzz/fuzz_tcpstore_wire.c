/* Two chunkings of the same bytes must give the same requests. First byte: dialect and the size
 * of the pieces of the second reading; the rest is what a client sends. What has room in the
 * decoder is read there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rendezvous/tcpstore_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_field(struct buf *log, const struct wire_field *f)
{
    wire_add_bytes(log, f->p ? f->p : "", f->n);
}

static void add_request(struct buf *log, const struct wire_request *r)
{
    buf_addf(log, "%d %lld %zu ", (int)r->query, (long long)r->number, r->count);
    for (size_t i = 0; i < r->count; i++) {
        add_field(log, &r->items[i].key);
        add_field(log, &r->items[i].value);
        add_field(log, &r->items[i].desired);
    }
}

static void read_all(struct buf *log, enum wire_dialect dialect, const uint8_t *data,
                     size_t size, size_t piece)
{
    struct wire_limits limits = {
        .max_key = 300, .max_value = 5000, .max_keys = 64, .max_request = 20000};
    struct wire_decoder d;
    wire_decoder_init(&d, dialect, &limits);
    bool alive = true;
    for (size_t at = 0, n; alive && at < size; at += n) {
        n = size - at < piece ? size - at : piece;
        size_t space;
        char *room = wire_room(&d, &space), *copy = NULL;
        if (room) {
            n = n < space ? n : space;
            memcpy(room, data + at, n);
        } else {
            copy = mem_dup(data + at, n);
        }
        struct str in = {room ? room : copy, n};
        for (bool more = false; alive && !more;) {
            const struct wire_request *r;
            enum wire_event ev = wire_decode(&d, &in, &r);
            more = ev == WIRE_MORE;
            alive = ev != WIRE_BAD;
            if (ev == WIRE_REQUEST)
                add_request(log, r);
            else if (ev == WIRE_BAD)
                buf_addf(log, "bad %d ", (int)wire_bad(&d));
        }
        free(copy);
    }
    buf_addf(log, "partial %d", wire_is_partial(&d));
    wire_decoder_fini(&d);
}

/* A decision, once made, must not change with more bytes. */
static void check_detection(const uint8_t *data, size_t size)
{
    struct wire_limits limits = wire_limits_default();
    enum wire_client before = WIRE_CLIENT_UNDECIDED;
    for (size_t n = 0; n <= size && n <= 2 * WIRE_DETECT_MAX; n++) {
        enum wire_reason why;
        char *copy = mem_dup(data, n);
        enum wire_client who = wire_detect(copy, n, &limits, true, &why);
        free(copy);
        if (before != WIRE_CLIENT_UNDECIDED && who != before)
            abort();
        if (n >= WIRE_DETECT_MAX && who == WIRE_CLIENT_UNDECIDED)
            abort();
        before = who;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    enum wire_dialect dialect = data[0] & 1 ? WIRE_LEGACY : WIRE_MODERN;
    size_t piece = (size_t)(data[0] >> 1) % 37 + 1;
    check_detection(data + 1, size - 1);
    struct buf whole, pieces;
    buf_init(&whole, 0);
    buf_init(&pieces, 0);
    read_all(&whole, dialect, data + 1, size - 1, size);
    read_all(&pieces, dialect, data + 1, size - 1, piece);
    if (whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len) != 0)
        abort();
    buf_fini(&whole);
    buf_fini(&pieces);
    return 0;
}

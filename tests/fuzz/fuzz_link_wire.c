/* link_wire: any bytes. What is taken is written again as the very same bytes: there is one way
 * to write a message. What is not leaves an error of class PROTOCOL. */
#include <assert.h>
#include <string.h>

#include "launcher/core/link_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct wire_message *m, struct buf *out)
{
    struct err e;
    switch (m->kind) {
    case WIRE_KIND_FRAME:
        link_wire_frame(&m->u.frame, out);
        return;
    case WIRE_KIND_WHO:
        link_wire_who(&m->u.who, out);
        return;
    case WIRE_KIND_SETUP:
        assert(link_wire_setup(&m->u.setup, out, &e) == 0);
        return;
    case WIRE_KIND_OUTPUT:
        link_wire_output(&m->u.output, out);
        return;
    case WIRE_KIND_MORE:
        link_wire_more(out);
        return;
    case WIRE_KIND_INPUT:
        link_wire_input(m->u.input, out);
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_message m;
    struct err e = {ERR_OK, 0, ""};
    if (link_wire_decode((struct str){(const char *)data, size}, &m, &e) < 0) {
        assert(e.code == ERR_PROTOCOL && e.text[0] && !m.lists);
        return 0;
    }
    struct buf again;
    buf_init(&again, 0);
    encode(&m, &again);
    assert(again.len == size && memcmp(again.data, data, size) == 0);
    buf_fini(&again);
    wire_message_fini(&m);
    return 0;
}

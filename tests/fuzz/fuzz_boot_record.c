/* boot_record: any text. Beyond not crashing: an error is one line of class PROTOCOL, what is
 * accepted is written again as a text that reads the same, and its children get records that
 * can be written, with every host below them once.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/core/boot_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many hosts are started in this tree: all that are named. */
static size_t start(const struct boot_record *r)
{
    size_t n = 0;
    for (uint32_t i = 0; i < boot_record_nchildren(r); i++) {
        struct boot_record child;
        struct buf text;
        struct err e;
        boot_record_for_child(r, i, &child);
        buf_init(&text, 0);
        int rc = boot_record_encode(&child, &text, &e);
        assert(rc == 0 && child.node == boot_record_child(r, i)->node);
        assert(child.parent == r->node && child.nchildren < r->nchildren);
        n += 1 + (child.nchildren > 64 ? child.nchildren : start(&child));
        boot_record_fini(&child);
        buf_fini(&text);
    }
    return n;
}

static void check(const struct boot_record *r)
{
    struct buf first, second;
    struct boot_record again;
    struct err e;
    buf_init(&first, 0);
    buf_init(&second, 0);
    assert(r->naddresses >= 1 && r->naddresses <= BOOT_ADDRESSES_MAX);
    for (size_t i = 0; i < r->naddresses; i++)
        assert(r->addresses[i].port > 0);
    for (size_t i = 0; i < r->nchildren; i++)
        assert(r->children[i].host[0] != '-' && r->children[i].node < BOOT_NODES_MAX);
    int rc = boot_record_encode(r, &first, &e);
    assert(rc == 0);
    rc = boot_parse((struct str){first.data, first.len}, &again, &e);
    assert(rc == 0);
    rc = boot_record_encode(&again, &second, &e);
    assert(rc == 0 && strcmp(buf_str(&first), buf_str(&second)) == 0);
    assert(!boot_record_nchildren(r) || start(r) == r->nchildren);
    boot_record_fini(&again);
    buf_fini(&first);
    buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct boot_record r;
    struct err e = {ERR_OK, 0, ""};
    if (boot_parse((struct str){(const char *)data, size}, &r, &e) != 0) {
        assert(e.code == ERR_PROTOCOL && e.text[0]);
        assert(!memchr(e.text, '\n', strlen(e.text)));
        return 0;
    }
    check(&r);
    boot_record_fini(&r);
    return 0;
}

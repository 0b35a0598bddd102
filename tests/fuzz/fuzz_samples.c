/* samples: any bytes, as what a node says of its ranks and as what a helper is asked. Beyond
 * not crashing: what is understood is written again as text that means the same, and the head
 * keeps of it only what is of that node's ranks.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/node_sample.h"
#include "launcher/core/sample_ask.h"
#include "launcher/core/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(struct str s)
{
    return s.p ? mem_printf("%.*s", STR_ARG(s)) : NULL;
}

static void write_item(const struct node_sample_item *item, struct buf *out)
{
    char *index = text_of(item->index), *uuid = text_of(item->uuid), *why = text_of(item->why);
    const struct node_sample_rank rank = {
        item->local_rank, index, uuid, item->step, item->quiet_ms, item->figures.asked_ms};
    if (item->kind == NODE_SAMPLE_RANK)
        node_sample_add_rank(&rank, out);
    else if (item->kind == NODE_SAMPLE_FIGURES)
        node_sample_add_figures(item->local_rank, &item->figures, out);
    else
        node_sample_add_why(why, out);
    free(index);
    free(uuid);
    free(why);
}

static void check_items(struct str rest)
{
    struct node_sample_item item, again;
    while (node_sample_next(&rest, &item) > 0) {
        struct buf text, same;
        buf_init(&text, 0);
        buf_init(&same, 0);
        write_item(&item, &text);
        struct str one = {buf_str(&text), text.len};
        int rc = node_sample_next(&one, &again);
        assert(rc == 1 && !one.n && again.kind == item.kind);
        write_item(&again, &same);
        assert(same.len == text.len && strcmp(buf_str(&same), buf_str(&text)) == 0);
        buf_fini(&same);
        buf_fini(&text);
    }
}

static void check_subjects(struct str rest)
{
    struct sample_subject subject, again;
    while (sample_ask_next(&rest, &subject) > 0) {
        struct buf text;
        buf_init(&text, 0);
        sample_ask_format(&subject, &text);
        struct str one = {buf_str(&text), text.len};
        int rc = sample_ask_next(&one, &again);
        assert(rc == 1 && again.local_rank == subject.local_rank && again.pid == subject.pid);
        buf_fini(&text);
    }
}

/* The ranks of another node stay as they were. */
static void check_kept(struct str bytes)
{
    struct samples s = {.deadline_ms = UINT64_MAX};
    samples_reset(&s, 2, 4);
    samples_begin(&s, 0);
    samples_await(&s, 0);
    samples_await(&s, 1);
    samples_take(&s, 1, "b", 2, 2, bytes);
    assert(!s.ranks[1].gpu_uuid && !s.ranks[1].figures.asked_ms.is_known && s.nawaited == 1);
    samples_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = mem_alloc(size ? size : 1, 1); /* of its own size: ASan sees a read past it */
    if (size)
        memcpy(bytes, data, size);
    const struct str text = {bytes, size};
    struct buf items;
    buf_init(&items, 0);
    check_items(text);
    check_subjects(text);
    check_kept(text);
    node_sample_add_items(text, &items);
    assert(items.len <= NODE_SAMPLE_BYTES_MAX);
    buf_fini(&items);
    free(bytes);
    return 0;
}

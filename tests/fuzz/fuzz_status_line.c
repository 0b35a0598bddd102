/* status_line: any line. Beyond not crashing: what is understood is written again as a line
 * that means the same, without control characters.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/core/boot_record.h"
#include "launcher/core/status_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct status_line *s)
{
    struct buf text;
    struct status_line again;
    assert(s->kind < STATUS_KIND_COUNT && s->node < BOOT_NODES_MAX && s->text);
    buf_init(&text, 0);
    status_line_format(s, &text);
    assert(text.len && text.data[text.len - 1] == '\n');
    text.data[text.len - 1] = '\0';
    for (const char *p = text.data; *p; p++)
        assert((unsigned char)*p >= 0x20 && *p != 0x7f);
    bool is_one = status_line_parse(text.data, &again);
    assert(is_one && again.kind == s->kind && again.node == s->node);
    assert(strlen(again.text) == strlen(s->text));
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct status_line s;
    char *line = mem_alloc(size + 1, 1); /* of its own size: ASan sees a read past it */
    memcpy(line, data, size);
    if (status_line_parse(line, &s))
        check(&s);
    free(line);
    return 0;
}

#include "launcher/core/status_line.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "launcher/core/boot_record.h"

static const struct {
    const char *word;
    bool has_node, has_text;
} kinds[] = {
#define X(name, word, has_node, has_text) [STATUS_##name] = {word, has_node, has_text},
    STATUS_KINDS(X)
#undef X
};
static_assert(sizeof kinds / sizeof kinds[0] == STATUS_KIND_COUNT, "one row a kind");

void status_line_format(const struct status_line *s, struct buf *out)
{
    if (kinds[s->kind].has_node)
        buf_addf(out, "below %u ", s->node);
    buf_adds(out, kinds[s->kind].word);
    if (kinds[s->kind].has_text) {
        buf_addc(out, ' ');
        for (const char *p = s->text; *p; p++)
            buf_addc(out, (unsigned char)*p < 0x20 || *p == 0x7f ? ' ' : *p);
    }
    buf_addc(out, '\n');
}

bool status_line_parse(const char *line, struct status_line *out)
{
    struct str rest = str_from(line), word, number = {NULL, 0};
    uint64_t node = 0;
    bool has_node = str_split(&rest, ' ', &word) && str_eq(word, "below");
    if (has_node
        && (!str_split(&rest, ' ', &number)
            || str_parse_u64(number, 0, BOOT_NODES_MAX - 1, &node) < 0
            || !str_split(&rest, ' ', &word)))
        return false;
    for (int kind = 0; kind < STATUS_KIND_COUNT; kind++) {
        if (kinds[kind].has_node != has_node || !str_eq(word, kinds[kind].word)
            || kinds[kind].has_text != (rest.p != NULL))
            continue;
        *out = (struct status_line){.kind = (enum status_kind)kind,
                                    .node = (uint32_t)node,
                                    .text = rest.p ? rest.p : ""};
        return true;
    }
    return false;
}

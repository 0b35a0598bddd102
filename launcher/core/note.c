#include "launcher/core/note.h"

#include <assert.h>
#include <string.h>

#include "launcher/core/signal_names.h"

static const struct {
    const char *name;
    enum log_level level;
    const char *words;
} registry[] = {
#define X(name, level, words) [NOTE_##name] = {#name, LOG_##level, words},
    NOTE_REGISTRY(X)
#undef X
};
static_assert(sizeof registry / sizeof registry[0] == NOTE_COUNT, "one row a note");

const char *note_name(enum note_id id)
{
    return registry[id].name;
}

enum log_level note_level(const struct note *note)
{
    return registry[note->id].level;
}

static void add_value(const struct note *note, const char *key, size_t n, struct buf *out)
{
    if (strncmp(key, "rank", n) == 0)
        buf_addf(out, "%u", note->rank);
    else if (strncmp(key, "node", n) == 0)
        buf_addf(out, "%u", note->node);
    else if (strncmp(key, "number", n) == 0)
        buf_addf(out, "%lld", (long long)note->number);
    else if (strncmp(key, "signal", n) == 0)
        buf_adds(out, signal_name((int)note->number));
    else if (strncmp(key, "seconds", n) == 0)
        buf_addf(out, "%.1f", (double)note->number / 1000);
    else
        buf_adds(out, note->text ? note->text : "");
}

void note_format(const struct note *note, struct buf *out)
{
    const char *s = registry[note->id].words;
    while (*s) {
        const char *open = strchr(s, '{'), *close = open ? strchr(open, '}') : NULL;
        if (!close) {
            buf_adds(out, s);
            return;
        }
        buf_add(out, s, (size_t)(open - s));
        add_value(note, open + 1, (size_t)(close - open - 1), out);
        s = close + 1;
    }
}

struct note *note_add(struct effects *fx, enum note_id id)
{
    struct note *note = &effects_add(fx, FX_NOTE)->u.note;
    note->id = (int)id;
    return note;
}

#include "rendezvous/server_note.h"

#include <assert.h>
#include <string.h>

static const char *const texts[] = {
#define X(name, text) [SERVER_NOTE_##name] = text,
    SERVER_NOTES(X)
#undef X
};
static_assert(sizeof texts / sizeof *texts == SERVER_NOTE_COUNT, "a text for each note");

bool server_note_is_stranger(const struct server_note *note)
{
    return note->kind == SERVER_NOTE_STRANGER || note->kind == SERVER_NOTE_SILENT
           || note->kind == SERVER_NOTE_NO_LINK;
}

void server_note_format(const struct server_note *note, struct buf *out)
{
    if (note->peer[0])
        buf_addf(out, "%s: ", note->peer);
    buf_adds(out, texts[note->kind]);
    if (note->reason != WIRE_BAD_NONE)
        buf_addf(out, ": %s", wire_reason_text(note->reason));
    if (note->key.n) {
        buf_adds(out, ": key ");
        buf_add_json(out, note->key.p, note->key.n < 200 ? note->key.n : 200);
    }
    if (note->value)
        buf_addf(out, " (%lu)", note->value);
    if (note->sys)
        buf_addf(out, ": %s", strerror(note->sys));
}

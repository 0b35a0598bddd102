#include "launcher/io/say.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "launcher/core/event.h"
#include "launcher/core/note.h"
#include "launcher/core/event_text.h"

bool say(const char *text, size_t n, int wait_ms)
{
    while (n) {
        struct pollfd ready = {STDERR_FILENO, POLLOUT, 0};
        int rc = poll(&ready, 1, wait_ms);
        if (rc < 0 && errno == EINTR)
            continue;
        if (rc <= 0)
            return false;
        /* what poll promises to fit, although the descriptor may block */
        ssize_t k = write(STDERR_FILENO, text, n < PIPE_BUF ? n : PIPE_BUF);
        if (k < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        text += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return true;
}

void say_log(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    say(line, strlen(line), SAY_LINE_MS);
}

void say_event(const char *machine, const struct event *ev)
{
    if (!log_is_on(LOG_DEBUG))
        return;
    struct buf text;
    buf_init(&text, 0);
    event_format(ev, &text);
    log_debug(machine, "%s", buf_str(&text));
    buf_fini(&text);
}

void say_note(const char *machine, const struct note *note)
{
    struct buf words;
    buf_init(&words, 0);
    note_format(note, &words);
    log_line(note_level(note), machine, "%s", buf_str(&words));
    buf_fini(&words);
}

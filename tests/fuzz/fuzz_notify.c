/* The two texts that come from outside: a worker's datagram and what a stack tool has printed.
 * The first byte chooses; the rest is the text. Whatever it is, the answer is bounded and
 * clean.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "launcher/core/notify_parse.h"
#include "launcher/core/stack_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t room)
{
    assert(memchr(text, '\0', room));
    for (; *text; text++)
        assert((unsigned char)*text >= ' ');
}

static void notify(const char *text, size_t n)
{
    struct notify_message m;
    struct err e;
    if (notify_parse(text, n, &m, &e) < 0) {
        assert(e.code == ERR_USAGE && !m.is_alive && !m.step.is_known);
        return;
    }
    check_text(m.section, sizeof m.section);
    check_text(m.status, sizeof m.status);
    assert(!m.section[0] || m.is_alive);
    assert(!m.step.is_known || m.is_alive);
}

static void stack(enum stack_format format, const char *text, size_t n)
{
    const struct str all = {text, n};
    struct str main = stack_main_thread(format, all);
    assert(!main.n || (main.p >= text && main.p + main.n <= text + n));
    struct buf out;
    buf_init(&out, 0);
    stack_where(format, all, &out);
    check_text(buf_str(&out), out.len + 1);
    assert(out.len < 600);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const char *text = (const char *)data + 1;
    if (data[0] % 5 == 4)
        notify(text, size - 1);
    else
        stack((enum stack_format)(data[0] % 5), text, size - 1);
    return 0;
}

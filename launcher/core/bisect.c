#include "launcher/core/bisect.h"

#include <assert.h>
#include <signal.h>

static const struct {
    const char *setting, *off;
} arms[] = {
#define X(setting, off) {setting, off},
    BISECT_ARMS(X)
#undef X
};
static_assert(sizeof arms / sizeof arms[0] == BISECT_ARM_COUNT, "one row an arm");

/* muster's own end by a signal. */
static bool is_ended_by_user(int status)
{
    return status == 128 + SIGINT || status == 128 + SIGTERM || status == 128 + SIGHUP
           || status == 128 + SIGQUIT;
}

bool bisect_is_for(int status)
{
    static const int others[] = {0, 2, 11, 16, 17, 69, 77, 78, 125, 126, 127};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (status == others[i])
            return false;
    return !is_ended_by_user(status);
}

void bisect_init(struct bisect *b)
{
    *b = (struct bisect){.culprit = -1};
}

const char *bisect_next(const struct bisect *b)
{
    return b->is_over ? NULL : arms[b->next].setting;
}

void bisect_ended(struct bisect *b, int status)
{
    b->statuses[b->next] = status;
    if (status == 0)
        b->culprit = (int)b->next;
    b->next++;
    b->is_over = status == 0 || b->next == BISECT_ARM_COUNT || is_ended_by_user(status);
}

void bisect_format(const struct bisect *b, struct buf *out)
{
    if (b->culprit >= 0) {
        buf_addf(out, "bisect: it passes with %s: without %s", arms[b->culprit].setting,
                 arms[b->culprit].off);
        return;
    }
    buf_addf(out, "bisect: it fails with each of %zu settings, too:", b->next);
    for (size_t i = 0; i < b->next; i++)
        buf_addf(out, "%s %s (%d)", i ? "," : "", arms[i].setting, b->statuses[i]);
}

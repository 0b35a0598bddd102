#include "launcher/core/notice.h"

#include <signal.h>
#include <string.h>

#include "launcher/core/signal_names.h"

static int parse_signal(struct str name, int *signo)
{
    uint64_t number;
    if (str_parse_u64(name, 1, SIGNAL_NAMES_END - 1, &number) == 0) {
        *signo = (int)number;
        return 0;
    }
    for (int i = 1; i < SIGNAL_NAMES_END; i++) {
        if (str_eq(name, signal_name(i)) || str_eq(name, signal_name(i) + strlen("SIG"))) {
            *signo = i;
            return 0;
        }
    }
    return -1;
}

int notice_parse(const char *text, struct notice *out)
{
    *out = (struct notice){0};
    struct str rest = str_from(text), name;
    if (!text)
        return 0;
    uint64_t ms = NOTICE_DEFAULT_MS;
    if (!str_split(&rest, ':', &name) || parse_signal(name, &out->signo) < 0
        || out->signo == SIGKILL || out->signo == SIGSTOP
        || (rest.p && (str_parse_duration_ms(rest, &ms) < 0 || !ms))) {
        *out = (struct notice){0};
        return -1;
    }
    out->ms = ms;
    return 0;
}

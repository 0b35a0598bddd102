#include "launcher/core/remote_failure.h"

#include <assert.h>
#include <string.h>

enum {
    SSH_FAILED = 255, /* its own trouble, whatever it was */
    NOT_EXECUTABLE = 126,
    NOT_FOUND = 127,
    FIRST_PAUSE_MS = 500,
};

static const struct {
    bool may_pass, is_way;
    const char *words;
} table[] = {
#define X(name, may_pass, is_way, words) [REMOTE_FAILURE_##name] = {may_pass, is_way, words},
    REMOTE_FAILURES(X)
#undef X
};
static_assert(sizeof table / sizeof table[0] == REMOTE_FAILURE_COUNT, "one row a failure");

/* In this order: a refused host key and a refused login also close the connection. Words of
 * OpenSSH, of the C library's resolver and of strerror. */
static const struct {
    const char *words;
    enum remote_failure failure;
} said[] = {
    {"Host key verification failed", REMOTE_FAILURE_HOST_KEY},
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", REMOTE_FAILURE_HOST_KEY},
    {"host key is known for", REMOTE_FAILURE_HOST_KEY},
    {"Permission denied", REMOTE_FAILURE_AUTHENTICATION},
    {"Too many authentication failures", REMOTE_FAILURE_AUTHENTICATION},
    {"Could not resolve hostname", REMOTE_FAILURE_NAME},
    {"Connection refused", REMOTE_FAILURE_REFUSED},
    {"timed out", REMOTE_FAILURE_TIMEOUT},
    {"Connection closed by", REMOTE_FAILURE_CLOSED},
    {"Connection reset by", REMOTE_FAILURE_CLOSED},
    {"kex_exchange_identification", REMOTE_FAILURE_CLOSED},
    {"ssh_exchange_identification", REMOTE_FAILURE_CLOSED},
};

static bool contains(struct str text, const char *words)
{
    size_t n = strlen(words);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, words, n) == 0)
            return true;
    return false;
}

enum remote_failure remote_failure_of(int exit_code, struct str complaint)
{
    if (exit_code == NOT_EXECUTABLE)
        return REMOTE_FAILURE_NOT_EXECUTABLE;
    if (exit_code == NOT_FOUND)
        return REMOTE_FAILURE_NOT_FOUND;
    if (exit_code != SSH_FAILED)
        return REMOTE_FAILURE_OTHER;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (contains(complaint, said[i].words))
            return said[i].failure;
    return REMOTE_FAILURE_SSH;
}

static bool has_letter(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z')
            return true;
    return false;
}

/* ssh says most in its last line; srun and mpirun in the first, before what follows from it. */
static struct str telling_line(struct str rest, bool is_first)
{
    struct str line, found = {"", 0};
    while (str_split(&rest, '\n', &line)) {
        line.n -= line.n && line.p[line.n - 1] == '\r';
        if (!has_letter(line))
            continue;
        found = line;
        if (is_first)
            break;
    }
    return found;
}

void remote_failure_describe(const struct remote_end *end, struct err *why)
{
    struct str line = telling_line(end->complaint, end->is_group);
    if (end->signo)
        err_set(why, ERR_UNAVAILABLE, "%s ended by signal %d", end->program, end->signo);
    else if (end->exit_code == NOT_FOUND && !end->was_up && !end->is_group)
        err_set(why, ERR_UNAVAILABLE,
                "muster is not there, or not under this path (--remote-muster): %.*s",
                STR_ARG(line));
    else if (line.n)
        err_set(why, ERR_UNAVAILABLE, "%.*s", STR_ARG(line));
    else
        err_set(why, ERR_UNAVAILABLE, "%s ended with %d and said nothing", end->program,
                end->exit_code);
}

bool remote_failure_is_way(enum remote_failure failure)
{
    return table[failure].is_way;
}

const char *remote_failure_words(enum remote_failure failure)
{
    return table[failure].words;
}

uint64_t remote_failure_pause_ms(enum remote_failure failure, uint32_t tries, uint32_t random)
{
    if (!table[failure].may_pass || tries >= REMOTE_TRIES)
        return 0;
    uint64_t pause_ms = (uint64_t)FIRST_PAUSE_MS << (tries ? tries - 1 : 0);
    return pause_ms + random % (pause_ms / 2 + 1);
}

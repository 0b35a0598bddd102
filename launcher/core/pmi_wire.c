#include "launcher/core/pmi_wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define X(name, word) [PMI_##name] = word,
static const char *const command_words[] = {PMI_COMMANDS(X)};
#undef X
static_assert(sizeof command_words / sizeof *command_words == PMI_COMMAND_COUNT, "one each");

const char *pmi_command_name(enum pmi_command command)
{
    return command_words[command];
}

bool pmi_is_word(struct str s, size_t limit)
{
    if (s.n >= limit)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

/* ---- requests ---- */

/* The next NAME=VALUE of a line; words without "=" are passed over. */
static bool next_pair(struct str *line, struct str *name, struct str *value)
{
    struct str word;
    while (str_split(line, ' ', &word)) {
        const char *equals = word.n ? memchr(word.p, '=', word.n) : NULL;
        if (!equals)
            continue;
        *name = (struct str){word.p, (size_t)(equals - word.p)};
        *value = (struct str){equals + 1, word.n - name->n - 1};
        return true;
    }
    return false;
}

static int find_command(struct str word, enum pmi_command *out)
{
    for (int i = 0; i < PMI_COMMAND_COUNT; i++) {
        if (i == PMI_SPAWN || !str_eq(word, command_words[i]))
            continue;
        *out = (enum pmi_command)i;
        return 0;
    }
    return -1;
}

static int bad_line(struct str line, struct err *e)
{
    char shown[41];
    size_t n = line.n < sizeof shown - 1 ? line.n : sizeof shown - 1;
    for (size_t i = 0; i < n; i++)
        shown[i] = line.p[i] >= ' ' && line.p[i] < 0x7f ? line.p[i] : '?';
    shown[n] = '\0';
    return err_set(e, ERR_PROTOCOL, "PMI-1: '%s%s' is no request", shown,
                   n < line.n ? "..." : "");
}

/* atoi's freedom, not more: a client prints an int. */
static int to_int(struct str s)
{
    char text[16];
    if (s.n >= sizeof text)
        return 1;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return (int)strtol(text, NULL, 10);
}

static int decode_line(struct str line, struct pmi_request *out, struct err *e)
{
    struct str rest = line, name, value;
    if (!next_pair(&rest, &name, &value) || !str_eq(name, "cmd")
        || find_command(value, &out->command) < 0)
        return bad_line(line, e);
    while (next_pair(&rest, &name, &value)) {
        if (str_eq(name, "kvsname"))
            out->kvsname = value;
        else if (str_eq(name, "key"))
            out->key = value;
        else if (str_eq(name, "value"))
            out->value = value;
        else if (str_eq(name, "pmi_version"))
            out->version = value;
        else if (str_eq(name, "exitcode"))
            out->exit_code = to_int(value);
    }
    return 1;
}

static bool take_line(struct str *in, struct str *line)
{
    const char *end = in->n ? memchr(in->p, '\n', in->n) : NULL;
    if (!end)
        return false;
    *line = (struct str){in->p, (size_t)(end - in->p)};
    in->p = end + 1;
    in->n -= line->n + 1;
    return true;
}

/* From the line after "mcmd=spawn". A part without counters stands alone. */
static int decode_spawn(struct str *in, struct pmi_request *out)
{
    int total = 0, so_far = 0;
    for (struct str line; take_line(in, &line);) {
        struct str rest = line, name, value;
        if (str_eq(line, "endcmd")) {
            out->command = PMI_SPAWN;
            out->is_last = so_far >= total;
            return 1;
        }
        if (!next_pair(&rest, &name, &value))
            continue;
        if (str_eq(name, "totspawns"))
            total = to_int(value);
        else if (str_eq(name, "spawnssofar"))
            so_far = to_int(value);
    }
    return 0;
}

int pmi_request_decode(struct str *in, struct pmi_request *out, struct err *e)
{
    struct str rest = *in, line;
    *out = (struct pmi_request){.command = PMI_INIT};
    int rc = 0;
    if (take_line(&rest, &line))
        rc = str_eq(line, "mcmd=spawn") ? decode_spawn(&rest, out) : decode_line(line, out, e);
    if (rc == 0 && in->n >= PMI_REQUEST_MAX)
        return err_set(e, ERR_PROTOCOL, "PMI-1: a request of more than %d bytes",
                       PMI_REQUEST_MAX);
    if (rc == 1)
        *in = rest;
    return rc;
}

/* ---- replies ---- */

void pmi_reply_init(struct buf *out, bool is_known_version)
{
    buf_addf(out, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
             is_known_version ? 0 : -1);
}

void pmi_reply_maxes(struct buf *out)
{
    buf_addf(out, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n", PMI_NAME_MAX,
             PMI_KEY_MAX, PMI_VALUE_MAX);
}

void pmi_reply_appnum(struct buf *out, int appnum)
{
    buf_addf(out, "cmd=appnum appnum=%d\n", appnum);
}

void pmi_reply_kvsname(struct buf *out, const char *name)
{
    buf_addf(out, "cmd=my_kvsname kvsname=%s\n", name);
}

void pmi_reply_universe_size(struct buf *out, uint32_t size)
{
    buf_addf(out, "cmd=universe_size size=%u\n", size);
}

void pmi_reply_put(struct buf *out, const char *refusal)
{
    if (refusal)
        buf_addf(out, "cmd=put_result rc=-1 msg=%s\n", refusal);
    else
        buf_adds(out, "cmd=put_result rc=0 msg=success\n");
}

void pmi_reply_get(struct buf *out, const char *value, struct str key)
{
    if (value)
        buf_addf(out, "cmd=get_result rc=0 msg=success value=%s\n", value);
    else
        buf_addf(out, "cmd=get_result rc=-1 msg=key_%.*s_not_found value=unknown\n",
                 STR_ARG(key));
}

void pmi_reply_barrier(struct buf *out)
{
    buf_adds(out, "cmd=barrier_out\n");
}

void pmi_reply_finalize(struct buf *out)
{
    buf_adds(out, "cmd=finalize_ack\n");
}

void pmi_reply_refused(struct buf *out, enum pmi_command command)
{
    static const char *const results[PMI_COMMAND_COUNT] = {
        [PMI_PUBLISH_NAME] = "publish_result",
        [PMI_UNPUBLISH_NAME] = "unpublish_result",
        [PMI_LOOKUP_NAME] = "lookup_result",
        [PMI_SPAWN] = "spawn_result",
    };
    assert(results[command]);
    buf_addf(out, "cmd=%s rc=-1 info=not_supported msg=not_supported\n", results[command]);
}

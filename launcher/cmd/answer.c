#include "launcher/cmd/answer.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/ask_record.h"
#include "launcher/core/link_wire.h"
#include "launcher/io/agent_setup.h"

static int read_record(int fd, struct buf *got, struct str *setup, struct err *e)
{
    size_t length = 0;
    for (;;) {
        char part[16 * 1024];
        if (ask_record_parse((struct str){got->data, got->len}, &length, setup, e) < 0)
            return -1;
        if (got->len >= length)
            return 0;
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(e, ERR_UNAVAILABLE, "the question ended before it was complete");
        buf_add(got, part, (size_t)n);
    }
}

static void print(struct str text, int status)
{
    struct str line;
    while (str_split(&text, '\n', &line))
        printf("answer %.*s\n", STR_ARG(line));
    printf("answered %d\n", status);
    fflush(stdout);
}

static int answer_setup(const struct wire_setup *setup, struct err *e)
{
    struct agent_setup s;
    struct buf text;
    int status = 0;
    buf_init(&text, 0);
    int rc = agent_setup(&s, OPTIONS_GPUS, setup, e);
    if (rc == 0)
        rc = cmd_gpus_json(&s.options, &s.facts, &text, &status, e);
    if (rc == 0)
        print((struct str){text.data, text.len}, status);
    buf_fini(&text);
    agent_setup_fini(&s);
    return rc;
}

/* Until the asker has read the answer: an end before that would look like a failure. */
static void wait_for_end(int fd)
{
    char byte;
    ssize_t n;
    while ((n = read(fd, &byte, 1)) > 0 || (n < 0 && errno == EINTR))
        ;
}

int answer(int fd, struct buf *got)
{
    struct err e;
    struct str setup;
    struct wire_message m;
    if (read_record(fd, got, &setup, &e) < 0 || link_wire_decode(setup, &m, &e) < 0)
        return cmd_fail(&e);
    int rc = m.kind == WIRE_KIND_SETUP
                 ? answer_setup(&m.u.setup, &e)
                 : err_set(&e, ERR_PROTOCOL, "the head's question is none");
    wire_message_fini(&m);
    if (rc < 0)
        return cmd_fail(&e);
    wait_for_end(fd);
    return 0;
}

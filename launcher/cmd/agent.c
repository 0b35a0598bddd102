/* muster agent: what ssh, Slurm and MPI start on a node. Says that it is there, reads its boot
 * record, then runs the node over the link. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/cmd/answer.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/ask_record.h"
#include "launcher/core/boot_parse.h"
#include "launcher/core/engine_detect.h"
#include "launcher/core/link_wire.h"
#include "launcher/io/driver_agent.h"

enum { READ_SIZE = 4096 };

struct boot_request {
    const char *token, *file; /* one of them */
};

static int parse(char *const *args, struct boot_request *r, struct err *e)
{
    static const char boot[] = "--boot=", boot_file[] = "--boot-file=";
    *r = (struct boot_request){NULL, NULL};
    for (; *args; args++) {
        if (strncmp(*args, boot, sizeof boot - 1) == 0)
            r->token = *args + sizeof boot - 1;
        else if (strncmp(*args, boot_file, sizeof boot_file - 1) == 0)
            r->file = *args + sizeof boot_file - 1;
        else
            return err_set(e, ERR_USAGE,
                           "'%s': muster starts agents itself, with --boot=TOKEN or "
                           "--boot-file=FILE; people use muster run",
                           *args);
    }
    if (!r->token == !r->file)
        return err_set(e, ERR_USAGE, "muster starts agents itself; people use muster run");
    return 0;
}

/* Reads until the empty line is there; *length: up to and with it. */
static int read_head(int fd, struct buf *text, size_t *length, struct err *e)
{
    *length = 0;
    while (!*length) {
        char part[READ_SIZE];
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(e, ERR_UNAVAILABLE, "the boot record ended before it was complete");
        buf_add(text, part, (size_t)n);
        boot_record_wipe(part, sizeof part);
        if (boot_parse_end((struct str){text->data, text->len}, length, e) < 0)
            return -1;
    }
    return 0;
}

static void wipe(struct buf *text)
{
    if (text->data)
        boot_record_wipe(text->data, text->len);
    buf_fini(text);
}

/* To who has started us, over the same command. */
static void say_status(const struct status_line *s)
{
    struct buf text;
    buf_init(&text, 0);
    status_line_format(s, &text);
    fputs(buf_str(&text), stdout);
    fflush(stdout);
    buf_fini(&text);
}

/* One of many that a single command has started: what the engine says of us. */
static void see_engine(struct agent *agent)
{
    struct engine_view view;
    engine_detect((const char *const *)environ, getpid(), &view);
    agent->name = view.node_name;
    if (view.node != ENGINE_UNKNOWN)
        agent->task = (uint32_t)view.node;
}

static int run(const struct boot_record *boot, int lifeline)
{
    struct err e;
    struct addr heads[BOOT_ADDRESSES_MAX];
    for (size_t i = 0; i < boot->naddresses; i++) {
        heads[i].port = boot->addresses[i].port;
        snprintf(heads[i].host, sizeof heads[i].host, "%s", boot->addresses[i].host);
    }
    struct link_key *key = link_key_from_secret(boot->secret, boot->job, &e);
    if (!key)
        return cmd_fail(&e);
    struct agent agent = {.key = key,
                          .heads = heads,
                          .nheads = boot->naddresses,
                          .node = boot->node < 0 ? WIRE_NONE : (uint32_t)boot->node,
                          .task = WIRE_NONE,
                          .on_status = lifeline < 0 ? NULL : say_status,
                          .boot = boot,
                          .lifeline = lifeline,
                          .is_inner = boot->parent >= 0};
    if (boot->node < 0)
        see_engine(&agent);
    int status = driver_agent_run(&agent);
    link_key_free(key);
    return status;
}

/* What it is there for stands in the record. */
static int begin(int fd, bool is_file)
{
    struct err e;
    struct boot_record boot;
    struct buf text;
    size_t length;
    int status = 0;
    buf_init(&text, BOOT_TEXT_MAX);
    int rc = read_head(fd, &text, &length, &e);
    bool is_asked = rc == 0 && ask_record_is((struct str){text.data, length});
    if (is_asked)
        status = answer(fd, &text);
    else if (rc == 0)
        rc = boot_parse((struct str){text.data, length}, &boot, &e);
    wipe(&text);
    if (is_file)
        close(fd);
    if (rc < 0)
        return cmd_fail(&e);
    if (is_asked)
        return status;
    status = run(&boot, is_file ? -1 : STDIN_FILENO);
    boot_record_fini(&boot);
    return status;
}

int cmd_agent(char *const *args)
{
    struct err e;
    struct boot_request request;
    if (parse(args, &request, &e) < 0)
        return cmd_fail(&e);
    int fd = STDIN_FILENO;
    if (request.file && (fd = open(request.file, O_RDONLY | O_CLOEXEC)) < 0) {
        err_set(&e, ERR_UNAVAILABLE, "%s: %s", request.file, strerror(errno));
        return cmd_fail(&e);
    }
    if (request.token) {
        printf("\nmuster-agent 1 %s %s\n", request.token, MUSTER_VERSION);
        fflush(stdout);
    }
    return begin(fd, request.file != NULL);
}
